"""small, which is small-4 and static-256 together, against the contract of embedders."""

import sys
from collections.abc import Sequence
from itertools import count, pairwise

import numpy as np
import pytest

from components import small_model
from contracts.embedder_contract import EmbedderContract, embed
from steeltrap.embedders.calibration import Calibration
from steeltrap.embedders.onnx import OnnxEmbedder
from steeltrap.embedders.small import SmallEmbedder
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.errors import InvalidInput, Unavailable
from steeltrap.ports import Embedder
from steeltrap.runtime.local import open_embedder
from steeltrap.settings import read_settings
from steeltrap.text.vectors import cosine

WORDS = StaticEmbedder()


@pytest.fixture(scope="module")
def shared() -> SmallEmbedder:
    return SmallEmbedder(small_model())


@pytest.fixture(scope="module")
def alone() -> OnnxEmbedder:
    return OnnxEmbedder(small_model())


@pytest.fixture
def embedder(shared: SmallEmbedder) -> Embedder:
    return shared


def asked(embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
    """The cosine of a question to each text."""
    [query] = embedder.embed([question], purpose="query", timeout=30)
    return [cosine(query, text) for text in embed(embedder, *texts)]


def test_a_cosine_is_seven_tenths_of_small_4s_and_three_tenths_of_static_256s(
    shared: SmallEmbedder, alone: OnnxEmbedder
) -> None:
    question, texts = "Where does Ana live?", ["Ana moved to Lisbon.", "The kettle is on.", "sourdough " * 300]
    by_meaning, by_words = asked(alone, question, texts), asked(WORDS, question, texts)
    expected = [0.7 * meaning + 0.3 * words for meaning, words in zip(by_meaning, by_words, strict=True)]
    np.testing.assert_allclose(asked(shared, question, texts), expected, atol=1e-5)
    assert shared.dimension == alone.dimension + WORDS.dimension == 640


def test_a_text_whose_words_static_256_does_not_know_has_the_vector_of_small_4(
    shared: SmallEmbedder, alone: OnnxEmbedder
) -> None:
    [both], [meaning] = embed(shared, "🫖"), embed(alone, "🫖")
    numbers = np.frombuffer(both, "<f4")
    np.testing.assert_allclose(numbers[:384], np.frombuffer(meaning, "<f4"), atol=1e-6)
    assert not numbers[384:].any()


def test_its_vectors_are_never_mixed_up_with_those_of_its_parts(shared: SmallEmbedder, alone: OnnxEmbedder) -> None:
    assert shared.name == f"small-2/{alone.name}+{WORDS.name}"
    assert shared.name not in (alone.name, WORDS.name, f"{alone.name}+{WORDS.name}")


def test_what_it_would_learn_is_near_the_levels_of_its_parts_weighted_alike(shared: SmallEmbedder) -> None:
    learned = Calibration(dimension=shared.dimension)
    learned.learn(embed(shared, *learned.probes()))
    assert learned.unrelated == pytest.approx(shared.unrelated, abs=0.01)
    assert learned.unrelated_japanese == pytest.approx(shared.unrelated_japanese, abs=0.01)
    assert learned.novel == pytest.approx(shared.novel, abs=0.01)
    assert learned.slope == pytest.approx(shared.slope, abs=0.002)


QUESTIONS = (
    ("¿A qué medicamento es alérgica la niña?", "La niña no tolera la penicilina.", "El tren sale a las ocho."),
    ("¿Quién cuida a los enfermos?", "My sister is a nurse in a hospital.", "El perro del vecino ladra."),
    ("Wer kümmert sich um die Kranken?", "Meine Schwester arbeitet im Krankenhaus.", "Der Zug fährt um acht."),
    ("Wann fährt der Zug?", "The train leaves at eight.", "Der Hund des Nachbarn bellt."),
    ("犬はいつ吠えますか?", "うちのワンちゃんは夜中にほえる。", "電車は明日の朝八時に出ます。"),
)


@pytest.mark.parametrize(("question", "answer", "other"), QUESTIONS)
def test_questions_in_other_languages_find_the_memory_that_answers_in_any(
    shared: SmallEmbedder, question: str, answer: str, other: str
) -> None:
    near, far = asked(shared, question, [answer, other])
    assert near > far + 0.02


@pytest.mark.parametrize(
    "texts",
    [
        ("Mi abuela nació en un pueblo.", "El servidor responde con un error.", "La sopa está demasiado salada."),
        ("Meine Oma kam auf dem Land zur Welt.", "Der Server meldet einen Fehler.", "Die Suppe ist zu salzig."),
    ],
)
def test_unrelated_spanish_and_german_texts_lie_near_the_level_of_english_ones(
    shared: SmallEmbedder, texts: Sequence[str]
) -> None:
    vectors = embed(shared, *texts)
    assert all(cosine(*pair) < shared.unrelated + 0.06 for pair in pairwise(vectors))


@pytest.mark.parametrize("timeout", [3, 5])
def test_the_two_models_share_the_timeout(timeout: float) -> None:
    # Each look at the clock takes a second: 3 are over after static-256, 5 in the midst of small-4.
    embedder = SmallEmbedder(small_model(), monotonic=count().__next__)
    with pytest.raises(Unavailable, match=r"Embedding 2 texts takes longer than [23] s"):
        embedder.embed(["tea", "coffee"], purpose="document", timeout=timeout)


def test_small_is_the_folder_of_its_package_with_static_256(
    monkeypatch: pytest.MonkeyPatch, shared: SmallEmbedder
) -> None:
    monkeypatch.syspath_prepend(str(small_model().parent))
    monkeypatch.delitem(sys.modules, "steeltrap_small", raising=False)
    chosen = open_embedder(read_settings({"STEELTRAP_EMBEDDER": "small"}))
    assert (chosen.name, chosen.unrelated) == (shared.name, shared.unrelated)
    given = {"STEELTRAP_EMBEDDER": "small", "STEELTRAP_EMBEDDER_UNRELATED": "0.5"}
    assert open_embedder(read_settings(given)).unrelated == 0.5
    monkeypatch.setitem(sys.modules, "steeltrap_small", None)
    with pytest.raises(InvalidInput, match=r"run `steeltrap embedder small`"):
        open_embedder(read_settings({"STEELTRAP_EMBEDDER": "small"}))


class TestSmall(EmbedderContract):
    pass
