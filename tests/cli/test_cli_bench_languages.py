"""bench languages: facts and questions in other words, a space per language, measured beside FTS5."""

import json

import pytest
from bench.languages import FUNCTION_WORDS, OWN, fts5_places, shared_words
from bench.quality.formats import read
from bench.quality.sets import Question, Space

from steeltrap.model import Draft

SPACES = {space.language: space for space in read(OWN).spaces}


@pytest.mark.parametrize("language", SPACES)
def test_each_language_has_thirty_facts_and_a_question_to_each_in_other_words(language):
    space = SPACES[language]
    asked = [id for question in space.questions for id in question.relevant]
    assert (len(space.memories), sorted(asked)) == (30, sorted(space.memories))
    assert {question: words for question, words in shared_words(space).items() if words} == {}


@pytest.mark.parametrize("language", SPACES)
def test_fts5_finds_fewer_than_ten_of_a_hundred_facts_first(language):
    places = fts5_places(SPACES[language])
    assert sum(place == 0 for place in places) < len(places) / 10


@pytest.mark.parametrize(
    ("language", "fact", "question", "shared"),
    [
        ("fr", "Je mange des cacahuètes.", "Puis-je manger une cacahuete ?", {"manger", "cacahuete"}),
        ("ru", "Я работаю в школе.", "Где моя работа?", {"работа"}),
        ("ar", "أعمل في المستشفى", "أين مستشفى المدينة؟", {"مستشفى"}),
        ("ko", "금요일까지 보고서를 낸다.", "보고서 마감이 언제야?", {"보고", "고서"}),
        ("fr", "Le chat est dans la maison.", "Où est le chien ?", set()),
    ],
)
def test_a_word_that_a_question_shares_with_its_fact_is_noticed_by_its_stem(language, fact, question, shared):
    asked = Question(text=question, category="all", relevant=frozenset({"m1"}))
    space = Space(memories={"m1": Draft(content=fact)}, questions=(asked,), language=language)
    assert shared_words(space) == {question: shared}


def test_every_language_with_spaces_between_its_words_has_function_words():
    assert SPACES.keys() - FUNCTION_WORDS.keys() <= {"ko", "zh", "zh-Hant"}


def test_the_command_measures_a_file_of_ones_own(run, tmp_path):
    line = {
        "language": "it",
        "memories": [{"id": "m1", "text": "Bevo solo acqua."}, {"id": "m2", "text": "Il gatto dorme."}],
        "questions": [{"query": "Che acqua bevo?", "relevant": ["m1"]}],
    }
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(line))
    figures = json.loads(run("bench", "languages", str(path), "--json").stdout)
    found = {"questions": 1, "top1": 100, "r5": 100, "fts5_top1": 100, "fts5_r5": 100, "sharing_words": 1}
    assert figures == {"it": found}
    assert "| it | 1 | 100.0 | 100.0 | 100.0 | 100.0 | 1 |" in run("bench", "languages", str(path)).stdout
