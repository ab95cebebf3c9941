"""bench quality: every format is told by its content, and scored by what the ordinary search answers."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bench.quality.formats import read

from steeltrap.cli.session import CliSession
from steeltrap.errors import InvalidInput, NotFound

KEYS = {
    *("top1", "r5", "r10", "session_r10", "session_r10_of_turns", "precision", "f1", "none_far_recall"),
    *("recalled", "recalled_sure", "none_far_lines", "recall_tokens"),
    *("none_near_recall", "false_alarms", "tokens", "search_p50_ms", "search_p95_ms", "by_category", "intervals"),
}


@pytest.fixture
def own(tmp_path):
    """Twelve memories about birds, boats and the like, one of them corrected later."""
    texts = [
        "Ana feeds a heron",
        "Bob sails a dinghy",
        "Ana moved to Porto",
        *(f"note {n} on weather" for n in range(8)),
    ]
    memories = [{"id": f"m{n}", "text": text, "occurred_at": "2026-01-31"} for n, text in enumerate(texts)]
    memories.append({"id": "new", "text": "Ana moved on to Faro", "supersedes": "m2", "tags": ["home"]})
    questions = [
        {"query": "heron", "kind": "word", "relevant": ["m0"]},
        {"query": "who sails a dinghy", "kind": "word", "relevant": ["m1"]},
        {"query": "where has Ana moved", "kind": "current", "relevant": ["new"]},
        {"query": "quasar", "kind": "none", "relevant": [], "miss": "far"},
        {"query": "Ana's cousin", "kind": "none", "relevant": [], "miss": "near"},
    ]
    return jsonl(tmp_path / "own.jsonl", {"memories": memories, "questions": questions})


def jsonl(path, *lines):
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    return path


@pytest.fixture
def beam(tmp_path):
    batch = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I feed a heron ->-> 1,1"},
        {"role": "assistant", "id": 1, "content": "Herons like fish"},
    ]
    late = [{"role": "user", "id": 2, "content": "I sail a dinghy"}]
    probes = {
        "abstention": [{"question": "What is my cousin called?"}],
        "knowledge_update": [{"question": "heron and dinghy", "source_chat_ids": {"first": [0], "second": [2]}}],
        "summarization": [{"question": "fish", "source_chat_ids": [1]}, {"question": "?", "source_chat_ids": []}],
    }
    for chat in ("1", "2"):
        folder = tmp_path / "birds" / chat
        folder.mkdir(parents=True)
        batches = [{"batch_number": 1, "turns": [batch]}, {"batch_number": 2, "turns": [late]}]
        (folder / "chat.json").write_text(json.dumps(batches))
        (folder / "probing_questions.json").write_text(json.dumps(probes))
    return tmp_path / "birds"


@pytest.fixture
def longmemeval(tmp_path):
    def instance(id, question, *sessions):
        return {
            "question_id": id,
            "question_type": "single-session-user",
            "question": question,
            "haystack_session_ids": [f"s{n}" for n in range(len(sessions))],
            "haystack_dates": [f"2023/05/{30 - n} (Sat) 02:21" for n in range(len(sessions))],
            "haystack_sessions": list(sessions),
        }

    heron = [
        {"role": "user", "content": "I feed a heron", "has_answer": True},
        {"role": "assistant", "content": "Lovely", "has_answer": False},
    ]
    dinghy = [{"role": "user", "content": "I sail a dinghy"}]
    instances = [
        instance("q1", "what do I feed, a heron?", heron, dinghy),
        instance("q2_abs", "what is my cousin called?", dinghy),
        instance("q3", "evidence isn't marked", dinghy),
    ]
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(instances))
    return path


@pytest.fixture
def locomo(tmp_path):
    turns = [
        {"speaker": "Ana", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(["I feed a heron", "Hm"], 1)
    ]
    asked = [
        {"question": "Who feeds a heron?", "category": 4, "evidence": ["D1:01"]},
        {"question": "Who adopted it?", "category": 5, "evidence": ["D1:1"]},
    ]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"conversation": {"session_1": turns}, "qa": asked}]))
    return path


@pytest.fixture
def realtalk(tmp_path):
    messages = [
        {"speaker": "Ana", "dia_id": "D1:1", "clean_text": "I feed a heron", "date_time": "29.12.2023, 00:51:12"},
        {"speaker": "Bob", "dia_id": "D1:2", "clean_text": " ", "date_time": "29.12.2023, 00:51:40"},
    ]
    asked = [
        {"question": "Who feeds a heron?", "answer": "Ana", "category": 1, "evidence": ["D1:1, D1:2"]},
        {"question": "Who adopted it?", "answer": "", "category": 3, "evidence": []},
        {"question": "Who waved?", "answer": "Bob", "category": 2, "evidence": ["D1:2", "D9:9"]},
    ]
    folder = tmp_path / "realtalk"
    folder.mkdir()
    chat = {"name": {}, "session_1": messages, "events_session_1": {}, "qa": asked}
    (folder / "Chat_1_Ana_Bob.json").write_text(json.dumps(chat))
    return folder


@pytest.fixture
def realmem(tmp_path):
    facts = ["feeds a heron", {"boat": "dinghy"}]
    first = {
        "session_uuid": "s1",
        "current_time": "2026-01-04 (Sunday)",
        "dialogue_turns": [{"speaker": "User", "content": "Hello"}, {"speaker": "Assistant", "content": "Hello"}],
        "extracted_memory": [{"content": content} for content in facts],
    }
    question = {"is_query": True, "content": "What about the heron?", "category_name": "Temporal-reasoning"}
    uses = [{"session_uuid": "s1", "content": content} for content in facts]
    answers = [
        {"is_query": False, "content": "You feed it.", "memory_used": uses},
        {"is_query": False, "content": "No idea.", "memory_used": []},
    ]
    second = first | {
        "session_uuid": "s2",
        "dialogue_turns": [question, answers[0], question, answers[1]],
        "extracted_memory": [],
    }
    folder = tmp_path / "realmem"
    folder.mkdir()
    (folder / "Ana_dialogues_256k.json").write_text(json.dumps({"dialogues": [first, second]}))
    return folder


@pytest.fixture
def vehicle(tmp_path):
    said = ["[2025-03-03 08:30] Ana: The heron!", "[2025-03-03 08:30] Bob: Where?", "[2025-03-03 08:31] Ana: There."]
    cases = [
        {"query": "heron?", "reasoning_type": "x", "gold_memory": "[March 3, 2025] At 8:30 AM, Ana saw a heron."},
        {"query": "dinghy?", "reasoning_type": "x", "gold_memory": "[March 4, 2025] At 8:30 PM, Ana sailed."},
    ]
    for name, content in {
        "history/history_7.txt": "\n".join(said),
        "qa_data/qa_7.json": json.dumps({"related_to_vehicle_preference": cases}),
    }.items():
        path = tmp_path / "cars" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "cars"


@pytest.fixture
def precision(tmp_path):
    def belief(id, content, **fields):
        common = {"user_id": "test-user", "type": "preference", "scope": ["code"], "pinned": False}
        texts = {"canonical_name": "a_name", "aliases": [], "why_it_matters": "It does.", "created_at": "2026-01-01"}
        return {"_id": id, "content": content, "superseded_by": None} | common | texts | fields

    beliefs = [
        belief("new", "Feeds a heron.", created_at="2026-02-01"),
        belief("old", "Feeds a stork.", superseded_by="new"),
        belief("pinned", "Sails."),
        belief("oldest", "Walks.", superseded_by="of-pinned"),
        belief("of-pinned", "Rows.", superseded_by="pinned"),
        belief("other", "Sings.", user_id="other-user"),
        belief("else", "Paints.", scope=["art"]),
        belief("open", "Which boat?", type="open_question"),
    ]
    [pinned] = (one for one in beliefs if one["_id"] == "pinned")
    pinned["pinned"] = True

    def case(query, relevant, **fields):
        expect = {"relevantBeliefs": {"shouldOnlyInclude": relevant}}
        return {"query": query, "scope": ["code"], "category": "c", "expect": expect} | fields

    cases = [
        case("heron", ["new"]),
        case("quasar", []),
        case("", []),
        case("heron", ["new"], budget={"maxBeliefs": 1}),
        case("heron", [], userId="nobody"),
    ]
    folder = tmp_path / "beliefs"
    folder.mkdir()
    (folder / "beliefs.seed.json").write_text(json.dumps(beliefs))
    (folder / "retrieval.cases.json").write_text(json.dumps(cases))
    return folder


def test_published_sets_are_read_from_their_own_folders(run, realtalk, realmem, vehicle, precision):
    figures = json.loads(run("bench", "quality", realtalk, realmem, vehicle, precision, "--json").stdout)
    assert {
        name: (of["format"], of["memories"], of["questions"], of["unanswerable"], of["r10"])
        for name, of in figures.items()
    } == {
        "realtalk": ("REALTALK", 1, 1, 0, 50),  # the other message of its evidence is a picture
        "realmem": ("RealMem", 2, 1, 0, 100),
        "cars": ("VehicleMemBench", 2, 1, 0, 100),
        "beliefs": ("PrecisionMemBench", 2, 1, 1, 100),
    }
    assert figures["beliefs"]["outdated_returned"] is None
    assert figures["beliefs"]["exact"] == 100


@pytest.mark.parametrize("name", ["realtalk", "realmem", "vehicle", "precision"])
def test_a_published_set_in_another_form_is_named(run, name, request):
    folder = request.getfixturevalue(name)
    for path in folder.rglob("*.json"):
        path.write_text('[{"query": 1}]')
    refusal = run("bench", "quality", folder)
    assert refusal.exit_code == 2
    assert "is not in" in refusal.stderr


def test_words_alone_and_vectors_alone_are_measured_beside(run, own):
    [figures] = json.loads(run("bench", "quality", own, "--baselines", "--json").stdout).values()
    assert figures["baselines"].keys() == {"FTS5", "cosine"}
    assert figures["baselines"]["FTS5"]["r5"] == 100
    assert all(of.keys() == {"top1", "r5", "r10"} for of in figures["baselines"].values())
    assert "| FTS5 |" in run("bench", "quality", own, "--baselines").stdout


def test_a_question_without_a_word_is_found_by_no_word(run, tmp_path):
    asked = [{"query": "???", "relevant": ["m"]}, {"query": '"', "relevant": [], "miss": "far"}]
    path = jsonl(tmp_path / "x.jsonl", {"memories": [{"id": "m", "text": "heron"}], "questions": asked})
    [figures] = json.loads(run("bench", "quality", path, "--baselines", "--json").stdout).values()
    assert figures["baselines"]["FTS5"]["r10"] == 0
    unanswerable = jsonl(path, {"memories": [{"id": "m", "text": "heron"}], "questions": asked[1:]})
    assert run("bench", "quality", unanswerable, "--baselines").exit_code == 0


def test_sets_of_every_format_are_scored_in_one_run_and_leave_nothing_behind(run, own, beam, longmemeval, locomo, data):
    figures = json.loads(run("bench", "quality", own, beam, longmemeval, locomo, "--json").stdout)
    assert {name: of["format"] for name, of in figures.items()} == {
        "own": "JSON Lines",
        "birds": "BEAM",
        "longmemeval": "LongMemEval",
        "talks": "LoCoMo",
    }
    assert all(of.keys() >= KEYS for of in figures.values())
    assert {name: (of["memories"], of["questions"], of["unanswerable"]) for name, of in figures.items()} == {
        "own": (12, 3, 2),
        "birds": (6, 4, 2),
        "longmemeval": (4, 1, 1),
        "talks": (2, 1, 0),
    }
    assert not data.exists()


def test_a_set_of_ones_own_is_scored_by_category(run, own):
    [figures] = json.loads(run("bench", "quality", own, "--json").stdout).values()
    words = figures["by_category"]["word"]
    assert (words["asked"], words["top1"], words["r5"]) == (2, 100, 100)
    assert words["intervals"]["top1"] == [100, 100]
    assert figures["session_r10"] is None
    # Both Anas moved, but the newer one superseded the older; every answerable question has one memory that answers it.
    assert figures["by_category"]["current"]["outdated_returned"] == 0
    # The search for what is relevant leaves the notes on the weather out.
    assert 50 < figures["precision"] <= figures["f1"]


def test_only_an_outcome_that_says_so_counts_as_telling_that_nothing_is_there(run, own, tmp_path):
    too_long = {"id": "m", "text": "heron " * 6_000}
    asked = [{"query": "heron", "relevant": ["m"]}, {"query": "quasar", "relevant": [], "miss": "far"}]
    bare = jsonl(tmp_path / "bare.jsonl", {"memories": [too_long], "questions": asked})
    figures = json.loads(run("bench", "quality", own, bare, "--json").stdout)
    told = {name: (of["none_far_recall"], of["false_alarms"], of["refused"]) for name, of in figures.items()}
    assert told == {"own": (0, 0, 0), "bare": (100, 100, 1)}
    assert figures["bare"]["precision"] == 0


def test_a_search_without_one_of_its_parts_is_no_measurement(run, own, monkeypatch):
    outcome = {"kind": "degraded", "message": "The index is down."}
    monkeypatch.setattr(CliSession, "ask", lambda self, tool, **arguments: {"results": [], "outcome": outcome})
    result = run("bench", "quality", own, "--json")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "The index is down." in result.stderr


def test_a_set_that_names_languages_is_scored_by_language(run, tmp_path):
    lines = [
        {"language": language, "memories": [HERON], "questions": [{"query": "heron", "relevant": ["m0"]}]}
        for language in ("en", "de")
    ]
    [figures] = json.loads(run("bench", "quality", jsonl(tmp_path / "own.jsonl", *lines), "--json").stdout).values()
    assert {name: row["top1"] for name, row in figures["by_language"].items()} == {"en": 100, "de": 100}


def test_a_budget_is_measured_against_whole_memories(run, tmp_path):
    """Whole, a long memory takes more room than there is."""
    long = [{"id": f"l{n}", "text": f"heron pond {n}. " + "reeds and water " * 150} for n in range(2)]
    answer = {"id": "a", "text": "the warden of the heron reserve is Bob"}
    asked = {"query": "pond, heron", "relevant": ["a", "l0", "l1"], "answer": "among reeds"}
    path = jsonl(tmp_path / "own.jsonl", {"memories": [*long, answer], "questions": [asked]})
    [figures] = json.loads(run("bench", "quality", path, "--json").stdout).values()
    assert (figures["evidence_500"], figures["evidence_500_whole"]) == (100, 33.33)
    assert (figures["answer_words_500"], figures["answer_words_500_whole"]) == (100, 0)
    assert figures["evidence_2000_whole"] == 100
    assert "| 500 | 100.0 (100.0 to 100.0) | 33.3 (33.3 to 33.3) |" in run("bench", "quality", path).stdout


def test_corrected_labels_are_measured_beside_the_published_ones(run, locomo, own, tmp_path):
    cites = {"question_id": "locomo_0_qa0", "error_type": "WRONG_CITATION", "correct_evidence": ["D1:2"]}
    other = cites | {"error_type": "HALLUCINATION", "correct_evidence": ["D9:9"]}
    labels = tmp_path / "errors.json"
    labels.write_text(json.dumps([cites, other]))
    figures = json.loads(run("bench", "quality", locomo, "--labels", labels, "--json").stdout)
    assert {name: of["top1"] for name, of in figures.items()} == {"talks": 100, "talks (errors)": 0}
    assert "none of the sets is LoCoMo" in run("bench", "quality", own, "--labels", labels).stderr


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("[1]", "no file of corrected labels"),
        (
            '[{"question_id": "x", "error_type": "WRONG_CITATION", "correct_evidence": ["D1:1"]}]',
            "no file of corrected",
        ),
        (
            '[{"question_id": "locomo_3_qa0", "error_type": "WRONG_CITATION", "correct_evidence": ["D1:1"]}]',
            "corrects question 0 of conversation 3, which isn't in talks.json",
        ),
    ],
)
def test_labels_of_something_else_are_refused(run, locomo, tmp_path, labels, said):
    path = tmp_path / "errors.json"
    path.write_text(labels)
    result = run("bench", "quality", locomo, "--labels", path)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_page_has_every_set_with_its_plots_and_needs_nothing_else(run, own, beam, tmp_path):
    page = tmp_path / "page.html"
    assert run("bench", "quality", own, beam, "--html", page, "--json").exit_code == 0
    text = page.read_text("utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.counts.keys().isdisjoint({"script", "link", "img", "iframe"})
    assert "http" not in text
    assert [
        said for said in ("own", "birds", "current", "knowledge_update", "Precision and F1") if said not in text
    ] == []
    assert tags.counts["svg"] >= 8
    assert "can't be written" in run("bench", "quality", own, "--html", tmp_path / "no" / "page.html").stderr


class Tags(HTMLParser):
    """Counts the elements of a page; `open` has those that were never closed."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.counts = Counter()

    def handle_starttag(self, tag, attrs):
        self.counts[tag] += 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.counts[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_chat_is_scored_by_its_sessions_too(run, beam):
    [figures] = json.loads(run("bench", "quality", beam, "--json").stdout).values()
    assert (figures["r10"], figures["session_r10"], figures["session_r10_of_turns"]) == (100, 100, 100)
    assert figures["by_category"].keys() == {"abstention", "knowledge_update", "summarization"}


def test_the_best_ten_sessions_are_looked_for_beyond_the_ten_best_turns(run, tmp_path):
    """Ten turns of one session beat the one turn of another, which is among the ten best sessions all the same."""
    loud = [{"id": f"l{n}", "text": "heron heron pond", "conversation_id": "loud"} for n in range(12)]
    quiet = {"id": "q", "text": "once I met a heron, long ago, far from here", "conversation_id": "quiet"}
    asked = {"query": "heron pond", "relevant": ["q"]}
    path = jsonl(tmp_path / "own.jsonl", {"memories": [*loud, quiet], "questions": [asked]})
    [figures] = json.loads(run("bench", "quality", path, "--json").stdout).values()
    assert (figures["r10"], figures["session_r10_of_turns"], figures["session_r10"]) == (0, 0, 100)


def test_people_see_a_table_per_set_with_intervals(run, own):
    lines = run("bench", "quality", own).stdout.splitlines()
    assert lines[0].startswith("own: format JSON Lines, store sqlite")
    [head, _, every, *_] = [line for line in lines if line.startswith("|")]
    assert "session_r10" not in head
    assert "0.0 (0.0 to 0.0)" in every
    tables = "\n".join(lines).split("\n\n")
    counts = [{line.count("|") for line in table.splitlines() if line.startswith("|")} for table in tables]
    assert counts == [{head.count("|")}, {4}]


def test_a_run_is_compared_with_an_earlier_one_question_by_question(run, own, tmp_path):
    before = tmp_path / "before.json"
    assert run("bench", "quality", own, "--keep", before, "--json").exit_code == 0
    worse = json.loads(before.read_text())
    worse["own"][0]["scores"]["top1"] = 0.0
    before.write_text(json.dumps(worse))
    [figures] = json.loads(run("bench", "quality", own, "--against", before, "--json").stdout).values()
    assert figures["by_category"]["word"]["change"]["top1"] == {"by": 50, "interval": [0, 100]}
    assert figures["change"]["r5"] == {"by": 0, "interval": [0, 0]}
    assert "+50.0 (+0.0 to +100.0)" in run("bench", "quality", own, "--against", before).stdout


def test_a_run_over_other_questions_is_not_compared(run, own, beam, tmp_path):
    before = tmp_path / "before.json"
    run("bench", "quality", own, "--keep", before)
    assert "no earlier run over birds" in run("bench", "quality", beam, "--against", before).stderr
    own.write_text(own.read_text().replace("quasar", "pulsar"))
    assert "other questions" in run("bench", "quality", own, "--against", before).stderr
    assert "not written by --keep" in run("bench", "quality", own, "--against", own_list(tmp_path)).stderr


def own_list(folder):
    path = folder / "list.json"
    path.write_text("[]")
    return path


def test_the_embedder_may_be_named(run, own):
    result = run("bench", "quality", own, "--embedder", "nobody")
    assert result.exit_code == 2
    assert "`--embedder` must be one of" in result.stderr


def test_two_sets_of_one_name_are_refused(run, own):
    assert "Two sets are called own" in run("bench", "quality", own, own).stderr


def test_longmemeval_keeps_the_order_of_time_and_leaves_out_what_has_no_marked_evidence(longmemeval):
    first, second = read(longmemeval).spaces
    assert [draft.content for draft in first.memories.values()] == [
        "user: I sail a dinghy",  # its session is the older one, and stands second in the file
        "user: I feed a heron",
        "assistant: Lovely",
    ]
    [question] = first.questions
    assert first.sessions(question.relevant) == {"s0"}
    assert second.questions[0].miss == "near"


def test_beam_loses_the_marks_of_its_makers_and_takes_a_batchs_day(beam):
    first = read(beam).spaces[0].memories["0"]
    assert (first.content, first.occurred_at.date().isoformat()) == ("user: I feed a heron", "2024-03-15")
    assert [len(read(folder).spaces) for folder in (beam, beam / "1")] == [2, 1]


@pytest.mark.parametrize("content", ["", "{", "[]", "[1]", "{}", '{"memories": []}', '[{"qa": []}]', "a,b\n1,2"])
def test_a_file_of_no_known_format_is_refused_with_those_that_are_known(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(
        InvalidInput, match=r"x\.json is in no known format.*LoCoMo.*LongMemEval.*JSON Lines.*BEAM.*RealMem"
    ):
        read(tmp_path / "x.json")


def test_a_path_with_nothing_is_refused(tmp_path):
    with pytest.raises(NotFound, match="can't be read"):
        read(tmp_path / "x.json")
    with pytest.raises(InvalidInput, match="no known format"):
        read(tmp_path)


def test_the_documented_lines_can_be_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "ranking.md").read_text("utf-8")
    [line] = re.findall(r'^    (\{"memories".*?\}\]\})$', page, re.MULTILINE | re.DOTALL)
    [space] = read(jsonl(tmp_path / "own.jsonl", json.loads(line))).spaces
    assert [(question.category, question.miss) for question in space.questions] == [("current", None), ("all", "near")]
    assert space.questions[0].outdated == {"m1"}


HERON = {"id": "m0", "text": "a heron"}


@pytest.mark.parametrize(
    ("memories", "question", "said"),
    [
        ([HERON, HERON], {"query": "q", "relevant": ["m0"]}, "two memories have the same `id`"),
        ([HERON], {"query": "q", "relevant": ["m1"]}, "`relevant` names 'm1'"),
        ([HERON], {"query": "q", "relevant": []}, "'q' needs `relevant`, or `miss`"),
        ([HERON], {"query": "q", "relevant": ["m0"], "miss": "far"}, "'q' needs `relevant`, or `miss`"),
        ([HERON], {"query": "q", "relevant": [], "miss": "wide"}, r"questions\.0\.miss: "),
        ([{"id": "m0", "text": ""}], {"query": "q", "relevant": ["m0"]}, r"memories\.0\.text: "),
        ([{"id": "m0"}], {"query": "q", "relevant": ["m0"]}, r"memories\.0\.text: Field required"),
    ],
)
def test_a_flaw_in_json_lines_is_named_with_its_line(tmp_path, memories, question, said):
    good = {"memories": [HERON], "questions": [{"query": "q", "relevant": ["m0"]}]}
    path = jsonl(tmp_path / "own.jsonl", good, {"memories": memories, "questions": [question]})
    with pytest.raises(InvalidInput, match=f"own.jsonl, line 2: .*{said}"):
        read(path)


def test_a_damaged_file_of_beam_or_longmemeval_is_named(beam, longmemeval):
    (beam / "2" / "chat.json").write_text('[{"batch_number": 1}]')
    with pytest.raises(InvalidInput, match="2 is not in BEAM's form: KeyError: 'turns'"):
        read(beam)
    longmemeval.write_text(longmemeval.read_text().replace("2023/05/30 (Sat) 02:21", "yesterday"))
    with pytest.raises(InvalidInput, match="Question q1 is not in LongMemEval's form"):
        read(longmemeval)


@pytest.mark.parametrize("named", ["nobody", "late"])
def test_superseding_of_no_earlier_memory_is_refused_by_its_line(tmp_path, named):
    memories = [{"id": "early", "text": "one", "supersedes": [named]}, {"id": "late", "text": "two"}]
    with pytest.raises(InvalidInput, match=rf"line 1: `supersedes` names '{named}', which is no earlier memory's `id`"):
        read(jsonl(tmp_path / "own.jsonl", {"memories": memories, "questions": []}))


def test_over_a_log_every_figure_is_the_same_to_the_last_digit(run, own, beam, longmemeval):
    def measured(store):
        figures = json.loads(run("bench", "quality", own, beam, longmemeval, "--store", store, "--json").stdout)
        differ = ("store", "load_per_s", "search_p50_ms", "search_p95_ms")
        return {name: {key: each[key] for key in each if key not in differ} for name, each in figures.items()}

    assert measured("file") == measured("sqlite")
