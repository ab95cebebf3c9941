"""import: tables, plain texts, notes by bullets or lines, and daily notes."""

import errno
import json
import tempfile
from functools import partial
from pathlib import Path

import pytest

from steeltrap.cli.session import Exit
from steeltrap.errors import Unavailable
from steeltrap.importers import documents, source


@pytest.fixture(autouse=True)
def in_lisbon(monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "Europe/Lisbon")


def stored(run):
    return [json.loads(line) for line in run("export", "-").stdout.splitlines()]


def texts(run):
    return [record["content"] for record in stored(run)]


def test_a_table_is_read_by_the_usual_names_of_columns(run, load, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text('Date,Text,Tags\n2024-07-01 10:00,"Rain, all day\nand night",home; weather\n1719828000,Sun,\n,,x\n')
    done = load(path)
    assert (done["written"], done["left_out"]) == (2, {"rows without text": 1})
    rain, sun = stored(run)
    assert (rain["content"], rain["tags"]) == ("Rain, all day\nand night", ["home", "weather"])
    assert rain["occurred_at"] == "2024-07-01T09:00:00Z"  # the user's zone is an hour ahead in summer
    assert sun["occurred_at"] == "2024-07-01T10:00:00Z"
    assert load(path)["skipped"] == 2


def test_map_names_the_columns_by_header_or_by_number(run, load, tmp_path):
    named = tmp_path / "people.csv"
    named.write_text("Who;What;When;Where\nAna;Likes tea;1719828000000;office\n")
    load(named, "--map", "content=What", "--map", "date=When", "--map", "metadata.who=Who", "--map", "scope=Where")
    plain = tmp_path / "log.txt"
    plain.write_text("1\tBought bread\n2\tBought milk\n")
    load(plain, "--map", "content=2")
    tea, bread, milk = stored(run)
    assert (tea["content"], tea["metadata"], tea["scope"]) == ("Likes tea", {"who": "Ana"}, "office")
    assert tea["occurred_at"] == "2024-07-01T10:00:00Z"
    assert [bread["content"], milk["content"]] == ["Bought bread", "Bought milk"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "notes.csv: it has the columns Who, What. Say which one is the text: --map content=COLUMN."),
        (("--map", "content=Why"), "notes.csv: it has no column 'Why'; its columns are Who, What."),
        (("--map", "content"), "--map takes FIELD=COLUMN"),
        (("--map", "colour=Who"), "--map takes FIELD=COLUMN"),
        (("--map", "date=Who"), "--map must say which column is the text: --map content=COLUMN."),
    ],
)
def test_a_table_of_unknown_columns_says_what_to_give(run, tmp_path, options, sentence):
    path = tmp_path / "notes.csv"
    path.write_text("Who,What\nAna,tea\n")
    result = run("import", path, *options)
    assert result.exit_code in (2, 6)
    assert sentence in result.stderr
    assert stored(run) == []


def test_bad_rows_are_listed_by_line_and_cost_no_other(run, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_bytes(b"date,text\n2024-01-01,good\nyesterday,bad date\n2024-01-02,caf\xe9\n,good too\n")
    result = run("import", path)
    assert result.exit_code == 6
    lines = result.stderr.splitlines()
    assert lines[0].startswith("notes.csv:3: 'yesterday' is no time")
    assert lines[1].startswith("notes.csv:4: it is not valid UTF-8. Save the file as UTF-8")
    assert texts(run) == ["good", "good too"]


def test_a_quote_that_is_never_closed_is_listed(run, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text('text\ngood\n"never closed\n' + "x" * 2_000_000 + "\ngood too\n")
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr.startswith("notes.csv:3: ")
    assert "good" in texts(run)


def test_a_text_is_one_memory_per_line(run, load, tmp_path):
    path = tmp_path / "facts.txt"
    path.write_bytes("\ufeffOne fact\r\n\r\nAnother fact\r\n".encode() + b"caf\xe9\n")
    assert load(path, code=6)["written"] == 2
    assert texts(run) == ["One fact", "Another fact"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_where_it_says_so(run, load, tmp_path, encoding):
    (tmp_path / "facts.txt").write_bytes("\ufeffKäse\n寿司 🍵\n".encode(encoding))
    (tmp_path / "m.json").write_bytes(
        ("\ufeff" + json.dumps([{"role": "user", "content": "Käse?"}], ensure_ascii=False)).encode(encoding)
    )
    assert load(tmp_path)["written"] == 3
    assert set(texts(run)) >= {"Käse", "寿司 🍵", "Käse?"}


NOTE = """# Monday

Slept badly.

- Call Rita
  - about the boat
* Buy bread
1. Water the plants

## Later

Rain.
"""


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (
            "bullets",
            [
                "Monday\n\nSlept badly.",
                "Monday\n\nCall Rita\n  - about the boat",
                "Monday\n\nBuy bread",
                "Monday\n\nWater the plants",
                "Monday › Later\n\nRain.",
            ],
        ),
        (
            "lines",
            [
                "Monday\n\nSlept badly.",
                "Monday\n\nCall Rita",
                "Monday\n\nabout the boat",
                "Monday\n\nBuy bread",
                "Monday\n\nWater the plants",
                "Monday › Later\n\nRain.",
            ],
        ),
        ("sections", [NOTE.strip()]),
    ],
)
def test_a_note_is_split_as_asked(run, load, tmp_path, split, expected):
    (tmp_path / "n.md").write_text(NOTE)
    load(tmp_path / "n.md", "--split", split)
    assert texts(run) == expected


@pytest.mark.parametrize("name", ["2024-05-03.md", "2024_05_03.md", "20240503 Friday.md", "journal 2024.05.03.md"])
def test_a_daily_note_is_about_its_day(run, load, tmp_path, name):
    (tmp_path / name).write_text("Saw the sea.")
    load(tmp_path)
    assert stored(run)[0]["occurred_at"] == "2024-05-03"
    assert "sea" in run("recall", "what happened on 3 May 2024?").stdout


@pytest.mark.parametrize("name", ["2024-13-03.md", "12345678.md", "1202405031.md", "note.md"])
def test_a_name_that_is_no_day_tells_none(run, load, tmp_path, name):
    (tmp_path / name).write_text("Saw the sea.")
    load(tmp_path)
    assert "occurred_at" not in stored(run)[0]


def test_the_same_bullet_on_two_days_is_two_memories(run, load, tmp_path):
    for day in (3, 4):
        (tmp_path / f"2024-05-0{day}.md").write_text("- Gym\n- Gym\n")
    assert load(tmp_path, "--split", "bullets")["written"] == 2
    assert load(tmp_path, "--split", "bullets")["skipped"] == 4


def test_an_imported_memory_that_was_deleted_stays_deleted(run, ask, load, tmp_path):
    (tmp_path / "f.txt").write_text("One fact\n")
    load(tmp_path / "f.txt")
    [record] = stored(run)
    ask("core.delete", id=record["id"])
    assert load(tmp_path / "f.txt")["skipped"] == 1
    assert stored(run) == []


def test_a_stray_quote_costs_its_own_row_and_no_other(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text('Fact\n"Ana likes tea\nBob likes "coffee"\nCarl runs\n"Dora ""the"" explorer\nof Lisbon"\n')
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr.startswith("facts.csv:2: a quote at the beginning of a cell is not closed")
    assert len(result.stderr.splitlines()) == 1
    assert texts(run) == ['Bob likes "coffee"', "Carl runs", 'Dora "the" explorer\nof Lisbon']


def test_a_quote_that_nothing_closes_costs_its_own_row_and_no_other(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text('Fact\n"Ana likes tea\nBob likes coffee\nCarl runs\n')
    assert "facts.csv:2: a quote" in run("import", path).stderr
    assert texts(run) == ["Bob likes coffee", "Carl runs"]


def test_a_row_with_more_cells_than_the_header_is_listed(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("Fact,Since\nI like tea, coffee and milk,2020\nCarl runs,2021,,\n")
    assert "facts.csv:2: the row has 3 cells, the header 2." in run("import", path).stderr
    assert texts(run) == ["Carl runs"]


def test_columns_without_a_field_are_kept_as_metadata_and_named(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("Fact,Since,Who,,Who\nAna likes tea,2020,Ana,x,y\n")
    result = run("import", path)
    assert "Kept as metadata: Since, Who, column 4, column 5." in result.stdout
    assert stored(run)[0]["metadata"] == {"Since": "2020", "Who": "Ana", "column 4": "x", "column 5": "y"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("size", [1, 200_000])
def test_a_full_temporary_folder_is_told_as_such_and_not_as_a_fault_of_the_file(run, tmp_path, monkeypatch, size):
    path = tmp_path / "notes.txt"
    path.write_text("The heron fishes.\n" * size, encoding="utf-16")
    monkeypatch.setattr(documents, "TemporaryFile", partial(Path("/dev/full").open, "r+b"))
    result = run("import", path)
    assert result.exit_code == Exit.UNAVAILABLE
    assert f"temporary folder {tempfile.gettempdir()} is full: free some space there" in result.stderr
    assert "notes.txt" not in result.stderr


def test_where_no_temporary_folder_takes_a_file_the_sentence_says_what_to_do(run, tmp_path, monkeypatch):
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    path = tmp_path / "notes.txt"
    path.write_text("The heron fishes.\n", encoding="utf-16")
    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(documents, "TemporaryFile", none)
    result = run("import", path)
    assert result.exit_code == Exit.UNAVAILABLE
    assert "No temporary folder can be written to: free some space" in result.stderr


def test_a_temporary_folder_that_fills_in_the_middle_ends_the_import_and_costs_no_file(run, tmp_path, monkeypatch):
    def parts(*_):
        raise Unavailable("The temporary folder /tmp is full.", part="temporary folder")
        yield

    path = tmp_path / "notes.txt"
    path.write_text("The heron fishes.\n")
    monkeypatch.setattr(source.tables, "line_parts", parts)
    result = run("import", path)
    assert result.exit_code == Exit.UNAVAILABLE
    assert "notes.txt" not in result.stderr
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        (
            "n.md",
            "# Rain\n",
            ("--map", "content=1"),
            "--map is for a table (CSV), and n.md is Markdown. Leave it out, or give --format csv if that is what it "
            "is.",
        ),
        (
            "n.txt",
            "Rain\n",
            ("--map", "content=1", "--format", "text"),
            "--map is for a table (CSV), and n.txt is plain text. Leave it out, or give --format csv if that is what "
            "it is.",
        ),
        (
            "n.json",
            '{"content": "Rain"}',
            ("--map", "content=1"),
            "--map is for a table (CSV), and n.json is memories as JSON. Leave it out.",
        ),
        (
            "n.csv",
            "content\nRain\n",
            ("--split", "lines"),
            "--split is for Markdown, and n.csv is a table (CSV). Leave it out, or give --format markdown if that is "
            "what it is.",
        ),
    ],
)
def test_an_option_that_means_nothing_for_a_file_is_refused(run, tmp_path, name, text, options, sentence):
    (tmp_path / name).write_text(text)
    refused = run("import", tmp_path / name, *options)
    assert (refused.exit_code, refused.stderr) == (2, f"{sentence}\n")
    assert run("list").stdout == ""


def test_in_a_folder_map_is_for_its_tables_alone(run, load, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("Rain, all day\n")
    (tmp_path / "in" / "b.csv").write_text("What\nSun\n")
    assert load(tmp_path / "in", "--map", "content=What")["written"] == 2
    assert sorted(record["content"] for record in stored(run)) == ["Rain, all day", "Sun"]
