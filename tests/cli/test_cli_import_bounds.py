"""import: what a file can make it hold or repeat is bounded by the file's useful size."""

import io
import json
import struct
import zipfile

import pytest

from cli import exports
from steeltrap.importers import Filing, documents, parts, survey, tables
from steeltrap.importers.json_values import Damage, read_document, read_lines
from steeltrap.text import json_pieces

FILING = Filing(scope="user/default")


def messages(count):
    return [{"role": "user", "content": f"turn {n}"} for n in range(count)]


@pytest.fixture
def parsed_sizes(monkeypatch):
    """How many characters the parser of the standard library was handed at a time."""
    sizes = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, s, idx=0):
            sizes.append(len(s) - idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr(json_pieces.json, "JSONDecoder", Counting)
    return sizes


@pytest.mark.parametrize(
    "value",
    [
        {"a": [[], {"b": [1, 2.5, None]}] * 40_000},
        {str(n): n for n in range(60_000)},
        [["x"] * 100_000],
        [1] * 200_000,
        {"a": {"b": {"c": ["word " * 100] * 2_000}}},
    ],
)
def test_no_large_value_is_handed_to_the_parser_whole(parsed_sizes, value):
    text = json.dumps([value])
    [read_value] = read_document(io.BytesIO(text.encode()))
    assert read_value.value == value
    assert len(text) > 4 * json_pieces.PIECE
    assert max(parsed_sizes) <= 2 * json_pieces.PIECE
    assert next(read_lines(io.BytesIO(json.dumps(value).encode()))).value == value
    assert max(parsed_sizes) <= 2 * json_pieces.PIECE


@pytest.mark.parametrize(
    "large",
    [
        json.dumps({"x": [{"a": 1}] * 30_000}),
        json.dumps({"a": "[" * 20, "b": ['"}'] * 40_000}),
        json.dumps({str(n): "\\" for n in range(30_000)}),
        '{"a": "' + "\\n\\\\" * 600_000 + '"}',
    ],
)
def test_a_value_that_is_too_large_is_listed_and_costs_no_other(monkeypatch, large):
    monkeypatch.setattr(json_pieces, "MAX_MEMORY", 1_000_000)
    monkeypatch.setattr(json_pieces, "MAX_STRING", 1_000_000)
    small = {"role": "user", "content": "good"}
    text = f"[{json.dumps(small)},\n{large},\n{json.dumps(small)}]"
    before, damage, after = read_document(io.BytesIO(text.encode()))
    assert (before.value, after.value) == (small, small)
    assert isinstance(damage, Damage)
    assert damage.line == 2
    assert damage.sentence.endswith("split it.")
    lines = list(read_lines(io.BytesIO(f"{json.dumps(small)}\n{large}\n{json.dumps(small)}\n".encode())))
    assert [isinstance(value, Damage) for value in lines] == [False, True, False]
    assert lines[2].line == 3


def test_an_object_of_more_members_than_are_held_is_listed_once(monkeypatch):
    monkeypatch.setattr(json_pieces, "MAX_MEMORY", 100_000)
    [damage] = read_document(io.BytesIO(json.dumps({str(n): n for n in range(60_000)}).encode()))
    assert damage.sentence.endswith("split it.")


def test_a_long_conversation_comes_in_whole(run, tmp_path):
    chat = exports.chatgpt("long", *(f"turn {n} " + "word " * 100 for n in range(400)))
    path = exports.as_json(tmp_path / "conversations.json", [chat])
    assert path.stat().st_size > 4 * json_pieces.PIECE
    assert json.loads(run("import", path, "--json").stdout)["written"] == 400


@pytest.mark.parametrize("value", ["[" * 100 + "1," * 70_000 + "1" + "]" * 100, "[" + "1" * 100_000 + "]"])
def test_a_nesting_or_a_number_without_end_is_a_sentence(value):
    [damage] = read_document(io.BytesIO(f"[{value}]".encode()))
    assert "too long" in damage.sentence or "deeper than" in damage.sentence


def zipped(path, notes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        for n in range(notes):
            whole.writestr(f"note-{n:05}.md", f"Note {n}.")
    return path


def test_the_directory_of_an_archive_is_read_once_for_all_members(tmp_path, monkeypatch):
    opened = []

    def counted(self, path):
        opened.append(path)
        whole(self, path)

    whole = documents._Whole.__init__
    monkeypatch.setattr(documents._Whole, "__init__", counted)
    read_parts = list(parts(survey(zipped(tmp_path / "a.zip", 300), FILING), FILING))
    assert len(read_parts) == 300
    assert len(opened) == 1


class Gone(Exception):
    pass


@pytest.mark.parametrize("when", ["survey", "reading"])
def test_an_import_that_nobody_waits_for_ends_at_the_next_piece(tmp_path, when):
    asked = 0

    def going_on():
        nonlocal asked
        asked += 1
        if asked > limit:
            raise Gone

    path, limit = zipped(tmp_path / "a.zip", 200), 10**9
    surveyed = survey(path, FILING, going_on=going_on)
    of_survey, asked = asked, 0
    limit = 20
    work = {"survey": lambda: survey(path, FILING, going_on=going_on), "reading": lambda: list(parts(surveyed, FILING))}
    with pytest.raises(Gone):
        work[when]()
    assert of_survey > 200
    assert asked == 21


def test_one_large_value_is_not_read_to_its_end_when_nobody_waits(tmp_path):
    path = tmp_path / "big.json"
    path.write_text('[{"role": "user", "content": ["' + "x" * 3_000_000 + '"]}]')
    asked = 0

    def going_on():
        nonlocal asked
        asked += 1
        if asked > 12:
            raise Gone

    with pytest.raises(Gone):
        survey(path, FILING, going_on=going_on)


def flaws_of(path):
    return [(part.where, part.sentence) for part in parts(survey(path, FILING), FILING) if hasattr(part, "sentence")]


def test_members_that_share_their_bytes_are_not_read(tmp_path):
    path = zipped(tmp_path / "a.zip", 3)
    data = bytearray(path.read_bytes())
    entries = [at for at in range(len(data)) if data[at : at + 4] == b"PK\x01\x02"]
    first = struct.unpack_from("<I", data, entries[0] + 42)
    for at in entries[1:]:
        struct.pack_into("<I", data, at + 42, *first)
    path.write_bytes(data)
    assert {sentence for _, sentence in flaws_of(path)} == {
        "it shares its bytes with other files of the archive, as in a ZIP bomb."
    }


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_members_of_one_name_the_last_is_read_and_the_others_are_listed(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as whole:
        for text in ("one", "two"):
            whole.writestr("note.md", text)
    read_parts = list(parts(survey(path, FILING), FILING))
    assert [part.draft.content for part in read_parts if hasattr(part, "draft")] == ["two"]
    assert flaws_of(path)[0][1].startswith("the archive has several files of this name")


def test_a_member_of_a_method_that_unpacks_without_bounds_is_listed(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as whole:
        whole.writestr("note.md", "text")
    assert "another method than Deflate" in flaws_of(path)[0][1]


def test_many_small_bombs_are_no_way_round_the_bound(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        for n in range(5):
            whole.writestr(f"{n}.md", b" " * (12 * 1024 * 1024))
    bombs = [part for part in survey(path, FILING).others if "ZIP bomb" in getattr(part, "sentence", "")]
    assert len(bombs) >= 2


def test_a_directory_that_is_too_long_is_refused_before_it_is_read(run, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", 50)
    monkeypatch.setattr(documents, "MAX_DIRECTORY_BYTES", 1000)
    assert "has too many files" in run("import", path).stderr
    monkeypatch.setattr(documents, "MAX_DIRECTORY_BYTES", 10**6)
    monkeypatch.setattr(documents, "_MAX_ENTRIES", 20)
    assert "has too many files" in run("import", path).stderr


@pytest.mark.parametrize(
    "text",
    [
        'text\n"' + '","a\n' * 400_000,
        'text\n"' + "a\n" * 600_000,
        "text\n" + "a," * 1_500_000 + "\n",
        "text\n" + 'a","""""\n' * 60_000,
    ],
)
def test_a_row_that_never_ends_is_read_in_bounded_memory_and_linear_steps(monkeypatch, text):
    held, read_lines = [], 0
    take = tables._Lines._next

    def counted(self):
        nonlocal read_lines
        read_lines += 1
        return take(self)

    monkeypatch.setattr(tables._Lines, "_next", counted)
    for part in tables.table_parts(io.BytesIO(text.encode() + b"good\n"), "a.csv", 0, FILING):
        held.append(getattr(part, "size", 0))
    assert read_lines <= text.count("\n") + 5
    assert max(held) <= 1024 * 1024


def test_of_thousands_of_bad_rows_fifty_are_listed_and_the_others_are_one_sentence(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text('Fact\n"' + '","a\n' * 3000 + "Ana likes tea\n")
    result = run("import", path)
    listed = result.stderr.splitlines()
    assert "3,001 found: 1 written, 0 already there, 3,000 failed." in result.stdout
    assert len(listed) == 51
    assert listed[-1].startswith("facts.csv: 2,950 more rows of this file can't be read")
    shown = json.loads(run("import", path, "--dry-run", "--json").stdout)
    assert (shown["failed"], shown["found"], len(shown["errors"])) == (3000, 3001, 51)


def test_a_table_of_bad_rows_is_read_by_two_readers_however_many_they_are(monkeypatch):
    made = []
    make = tables.csv.reader
    monkeypatch.setattr(tables.csv, "reader", lambda *given, **more: made.append(1) or make(*given, **more))
    text = 'text\n"' + '","a\n' * 2000 + '"b\n' * 2000
    failed = [part.count for part in tables.table_parts(io.BytesIO(text.encode()), "a.csv", 0, FILING)]
    assert (len(failed), sum(failed), len(made)) == (51, 4000, 2)
