"""The contract of every embedder."""

import math
import statistics
import struct
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest

from steeltrap.errors import InvalidInput
from steeltrap.model import MAX_CONTENT_BYTES, Embedding
from steeltrap.ports import Embedder
from steeltrap.text.vectors import cosine

ODD_TEXTS = {
    "emoji": "🫖🎉👩‍👩‍👧",
    "japanese": "東京の叔母は毎朝お茶を飲みます。",
    "one letter": "x",
    "zero-width": "\u200b",
    "control characters": "a\x01b\x7fc",
    "special token": "</s>",
    "32 KiB of words": "coffee in the morning " * (MAX_CONTENT_BYTES // 22),
    "32 KiB of emoji": "🫖" * (MAX_CONTENT_BYTES // 4),
    "32 KiB without a space": "a" * MAX_CONTENT_BYTES,
}

UNKNOWN = {"steeltrap/static-256-2": ("emoji", "zero-width", "32 KiB of emoji", "32 KiB without a space")}
"""The odd texts in which a model knows no word."""

FAR_SUBJECTS = [
    "The user's sourdough needs to rest overnight in the fridge.",
    "The payment service returns error 502 since the last deployment.",
    "Grandmother was born in Lisbon in 1931.",
    "A violin string breaks more often in dry winters.",
    "The team plays its home matches on Saturday afternoon.",
    "Parking near the hospital costs three dollars an hour.",
    "He collects stamps with pictures of lighthouses.",
    "Interest rates may rise again before summer.",
]


def embed(embedder: Embedder, *texts: str) -> list[Embedding]:
    return embedder.embed(texts, purpose="document", timeout=30)


def near(one: Embedding, other: Embedding) -> bool:
    return cosine(one, other) == pytest.approx(1, abs=1e-5)


class EmbedderContract:
    """A test file earns it by a fixture `embedder` and a class that inherits this one."""

    def test_a_name_says_the_technology_and_the_model(self, embedder: Embedder) -> None:
        technology, _, model = embedder.name.partition("/")
        assert technology
        assert model

    @pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
    def test_every_text_has_a_vector_of_length_one_but_those_without_a_known_word(
        self, embedder: Embedder, text: str
    ) -> None:
        [embedding] = embed(embedder, text)
        numbers = struct.unpack(f"<{embedder.dimension}f", embedding)
        length = 0 if text in map(ODD_TEXTS.get, UNKNOWN.get(embedder.name, ())) else 1
        assert math.hypot(*numbers) == pytest.approx(length, abs=1e-5)

    def test_a_blank_text_has_no_vector(self, embedder: Embedder) -> None:
        nothing = bytes(4 * embedder.dimension)
        assert embed(embedder, "", " ", "\n\t") == [nothing] * 3
        first, middle, last = embed(embedder, "The kettle is on.", "", "The kettle is off.")
        assert middle == nothing
        assert nothing not in (first, last)

    def test_no_texts_make_no_embeddings(self, embedder: Embedder) -> None:
        assert embed(embedder) == []

    def test_embeddings_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forwards = embed(embedder, *FAR_SUBJECTS)
        backwards = embed(embedder, *reversed(FAR_SUBJECTS))
        assert all(near(one, other) for one, other in zip(forwards, reversed(backwards), strict=True))
        assert not near(forwards[0], forwards[1])

    def test_an_embedding_does_not_depend_on_the_texts_beside_it(self, embedder: Embedder) -> None:
        text = "She moved to Oslo for a job at the aquarium."
        [alone] = embed(embedder, text)
        crowd = [*FAR_SUBJECTS, ODD_TEXTS["32 KiB of words"], *(f"Note {n} about tea." for n in range(200)), text]
        assert near(alone, embed(embedder, *crowd)[-1])
        assert embed(embedder, text) == [alone]

    def test_a_text_is_nearer_to_its_rewording_than_to_another_subject(self, embedder: Embedder) -> None:
        text, rewording, other = embed(
            embedder,
            "The dog barks at the postman every morning.",
            "Every morning the dog is barking at the postman.",
            "Interest rates may rise again before summer.",
        )
        assert cosine(text, rewording) > cosine(text, other) + 0.2

    def test_a_question_lies_nearest_to_the_text_that_answers_it(self, embedder: Embedder) -> None:
        [question] = embedder.embed(["Where was grandmother born?"], purpose="query", timeout=30)
        cosines = [cosine(question, text) for text in embed(embedder, *FAR_SUBJECTS)]
        assert cosines.index(max(cosines)) == 2

    def test_texts_of_far_subjects_lie_near_the_unrelated_level(self, embedder: Embedder) -> None:
        assert 0 <= embedder.unrelated < 1
        pairs = combinations(embed(embedder, *FAR_SUBJECTS), 2)
        assert statistics.median(cosine(*pair) for pair in pairs) == pytest.approx(embedder.unrelated, abs=0.12)

    def test_the_best_of_far_subjects_lies_nearer_by_about_the_slope(self, embedder: Embedder) -> None:
        vectors = embed(embedder, *FAR_SUBJECTS)
        cosines = [[cosine(one, other) for other in vectors if other is not one] for one in vectors]
        gained = statistics.mean(max(of_text) - statistics.mean(of_text) for of_text in cosines)
        assert embedder.slope * math.log(7) == pytest.approx(gained, abs=0.1)

    def test_a_new_subject_lies_below_the_novel_level_and_a_rewording_above(self, embedder: Embedder) -> None:
        assert embedder.unrelated <= embedder.novel < 1
        text, rewording, *others = embed(
            embedder,
            "The dog barks at the postman every morning.",
            "Every morning the dog is barking at the postman.",
            *FAR_SUBJECTS,
        )
        assert cosine(text, rewording) > embedder.novel
        assert max(cosine(text, other) for other in others) < embedder.novel

    def test_half_a_surrogate_pair_is_refused(self, embedder: Embedder) -> None:
        with pytest.raises(InvalidInput, match="surrogate"):
            embed(embedder, "fine", "half \ud83e")

    def test_threads_share_an_embedder(self, embedder: Embedder) -> None:
        expected = embed(embedder, *FAR_SUBJECTS)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: embed(embedder, *FAR_SUBJECTS), range(32)))
        assert all(near(a, e) for answer in answers for a, e in zip(answer, expected, strict=True))

    def test_nothing_is_printed(self, embedder: Embedder, capfd: pytest.CaptureFixture[str]) -> None:
        embed(embedder, *FAR_SUBJECTS)
        assert capfd.readouterr() == ("", "")
