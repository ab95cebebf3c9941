"""Regular expressions that are compiled when they are first used."""

import re

import pytest

from steeltrap.text.patterns import lazy_pattern


def test_a_pattern_is_compiled_at_its_first_use_and_then_answers_as_a_compiled_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = []
    real = re.compile

    def compiled(source: str, flags: int = 0) -> re.Pattern[str]:
        sources.append(source)
        return real(source, flags)

    monkeypatch.setattr(re, "compile", compiled)
    word = lazy_pattern("[a-c]+", re.IGNORECASE)
    assert sources == []
    assert word.findall("ABx cab") == real("[a-c]+", re.IGNORECASE).findall("ABx cab") == ["AB", "cab"]
    assert word.sub("-", "ABx cab") == "-x -"
    assert word.findall("b") == ["b"]
    assert sources == ["[a-c]+", "[a-c]+"], "once for each method that is used"
