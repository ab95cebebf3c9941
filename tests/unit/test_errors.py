"""The tree of errors: nine kinds that callers see, and the types below them by which code decides."""

from collections.abc import Iterator

import pytest

from steeltrap.errors import (
    INDEX_FAILURES,
    AlreadyExists,
    Conflict,
    Duplicate,
    IndexUnavailable,
    SteeltrapError,
    VersionConflict,
)
from steeltrap.stores.opensearch.client import refusal
from steeltrap.stores.sqlite.connection import DiskFull


def _below(kind: type[SteeltrapError]) -> Iterator[type[SteeltrapError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


KINDS = SteeltrapError.__subclasses__()
TYPES = [(each, kind) for kind in KINDS for each in _below(kind)]


@pytest.mark.parametrize(("each", "kind"), TYPES)
def test_a_type_looks_to_callers_like_the_kind_it_is_of(each: type[SteeltrapError], kind: type[SteeltrapError]) -> None:
    assert (each.code, each.retryable, each.fixable) == (kind.code, kind.retryable, kind.fixable)


def test_each_kind_has_a_code_of_its_own() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("each", [*KINDS, *(each for each, _ in TYPES)])
def test_an_error_of_every_type_can_be_raised_again_in_other_words(each: type[SteeltrapError]) -> None:
    error = each("It went wrong", advice="try again", retryable=False, part="store", id="1")
    again = type(error)(f"1 of 2 were written, then: {error.message}", retryable=error.can_retry, **error.details)
    assert str(again) == again.message == "1 of 2 were written, then: It went wrong; try again."
    assert (again.can_retry, again.details) == (False, {"part": "store", "id": "1"})


def test_a_full_disk_is_the_stores_by_itself() -> None:
    assert DiskFull().details == {"part": "store"}


@pytest.mark.parametrize("each", [VersionConflict, AlreadyExists, Duplicate])
def test_every_refused_write_is_a_conflict(each: type[SteeltrapError]) -> None:
    assert issubclass(each, Conflict)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503])
def test_whatever_the_search_index_refuses_is_a_failure_of_the_index(status: int) -> None:
    error = refusal(status, "some_exception")
    assert isinstance(error, INDEX_FAILURES)
    assert error.details["part"] == "index"


def test_the_cause_is_the_message_without_its_advice_and_its_full_stop() -> None:
    error = IndexUnavailable("The index; or a part of it does not answer", advice="try again", part="index")
    assert error.message == "The index; or a part of it does not answer; try again."
    assert error.cause == "The index; or a part of it does not answer"
    assert IndexUnavailable("The certificate is wrong.").cause == "The certificate is wrong"
