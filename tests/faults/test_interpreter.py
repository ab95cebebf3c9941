"""Nothing that one call asks for keeps the interpreter to itself for long: what is large is done in pieces."""

import gc
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from steeltrap import arguments
from steeltrap.errors import InvalidInput, MalformedBody
from steeltrap.servers import http
from steeltrap.servers.process.server import share_interpreter
from steeltrap.text.json_pieces import PIECE


@pytest.fixture
def restored() -> Iterator[None]:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class _Counting(json.JSONDecoder):
    longest = 0

    def raw_decode(self, text: str, at: int = 0) -> Any:
        value, end = super().raw_decode(text, at)
        self.longest = max(self.longest, end - at)
        return value, end


def test_a_large_body_is_parsed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    monkeypatch.setattr(arguments, "_DECODER", counting)
    body = {"records": [{"id": str(n), "tags": ["a", "\u00e9"], "n": [n, -1.5, None, True]} for n in range(20_000)]}
    assert arguments.decode(json.dumps(body).encode()) == body
    assert 0 < counting.longest <= 2 * PIECE


@pytest.mark.parametrize("unit", ["a\n", "\\", '"', "\u00e9a", "a\U0001f600", "\ud83d\n", "\ud83d\\", "\udc00"])
def test_a_long_text_is_parsed_in_pieces_and_no_escape_in_two(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    counting = _Counting()
    monkeypatch.setattr(arguments, "_DECODER", counting)
    for shift in range(12):
        body = {"content": " " * shift + unit * 2 * PIECE}
        assert arguments.decode(json.dumps(body).encode()) == body
    assert 0 < counting.longest <= 2 * PIECE


@pytest.mark.parametrize("end", ["\\q", "\\u12", "\\ud83d\\", "\n"])
def test_a_long_text_is_refused_for_what_a_small_one_is(end: str) -> None:
    for text in (end, "a\\n" * PIECE + end, "a\\n" * PIECE + end + "a\\n" * PIECE):
        with pytest.raises(MalformedBody, match="is not valid JSON"):
            arguments.decode(f'{{"content": "{text}"}}')


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1" * 5000])
def test_a_large_body_is_refused_for_what_a_small_one_is(number: str) -> None:
    for spaces in (1, 2 * PIECE):
        with pytest.raises(InvalidInput, match=r"number|not JSON"):
            arguments.decode(b'{"a": [' + b" " * spaces + number.encode() + b"]}")


@pytest.mark.parametrize("end", ["", "]", "]} 1", "]]}"])
def test_a_large_body_with_a_wrong_end_is_refused(end: str) -> None:
    with pytest.raises(MalformedBody, match="is not valid JSON"):
        arguments.decode('{"a": [' + "1," * PIECE + f"1{end}")


def test_an_answer_of_many_items_is_written_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    encode = http._encoder.encode

    class Counting:
        def encode(self, value: Any) -> str:
            text = encode(value)
            written.append(len(text))
            return text

    monkeypatch.setattr(http, "_encoder", Counting())
    http.compact({"memories": [{"content": "x" * 1000}] * 4000, "total": 4000})
    assert max(written) < 2000


@pytest.mark.parametrize(
    "body",
    [
        None,
        "\u00e9\u2028",
        [],
        {},
        {"a": []},
        {"a": {"b": [1, {"c": []}]}, "d": [[], [1.5]]},
        {1: [2], None: [3], False: []},
    ],
)
def test_an_answer_in_pieces_is_the_same_json(body: Any) -> None:
    assert http.compact(body) == json.dumps(body, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.usefixtures("restored")
def test_a_server_switches_often_and_collects_what_it_loaded_no_more() -> None:
    share_interpreter()
    assert sys.getswitchinterval() <= 0.001
    assert gc.get_freeze_count() > 10_000
