"""A suite that several adapters earn says what it saw when one of them breaks a promise."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from contracts.counters_contract import CountersContract

TESTS = Path(__file__).parents[1]


class Forgetful:
    """Counters that count no call."""

    def count_call(self, user: object, minute: int) -> int:
        return 0


def test_a_broken_promise_shows_what_was_found_and_what_was_promised() -> None:
    with pytest.raises(AssertionError) as caught:
        CountersContract().test_calls_are_counted_by_user_and_minute(Forgetful())  # type: ignore[arg-type]
    assert "assert [0, 0, 0] == [1, 2, 3]" in str(caught.value)


def test_every_module_that_asserts_for_others_explains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = [path for path in TESTS.glob("*/*.py") if not path.name.startswith(("test_", "conftest.", "__init__."))]
    assert TESTS / "contracts" / "store_contract.py" in shared
    for path in shared:
        monkeypatch.syspath_prepend(path.parent)
        own_name = find_spec(path.stem)
        assert own_name is not None
        for found in (own_name, find_spec(f"{path.parent.name}.{path.stem}")):
            # Those of tests/infra have their own name only: their folder's is that of the product's package.
            assert found is None or isinstance(found.loader, AssertionRewritingHook), path
