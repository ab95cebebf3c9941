"""Every embedder against the contract, and what each promises beside it."""

import json
import logging
import os
import re
import subprocess
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from threading import Event, Thread
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from bench.paraphrases import PARAPHRASES
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from contracts.embedder_contract import ODD_TEXTS, EmbedderContract
from embedding import HashedWords
from steeltrap.embedders import calibration, endpoint, static, word_pieces
from steeltrap.embedders.calibration import (
    CALIBRATION_TEXTS,
    CONVERSATION,
    JAPANESE_TEXTS,
    PROBES,
    novel_level,
    slope_of_best,
    unrelated_level,
)
from steeltrap.embedders.endpoint import EndpointEmbedder
from steeltrap.embedders.languages import Languages
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.errors import InvalidInput, SteeltrapError, Unavailable
from steeltrap.ports import Embedder
from steeltrap.settings import FIELDS
from steeltrap.text.vectors import cosine
from steeltrap.text.words import WORDS_VERSION

KEY = "sk-secret-0123456789"
LEVELS = {"unrelated": 0.1, "unrelated_japanese": 0.4, "novel": 0.5, "slope": 0.05}


class FakeTime:
    """A clock that moves only when somebody sleeps, or by `step` whenever it is looked at."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step
        self.slept: list[float] = []

    def monotonic(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


# A local server that speaks OpenAI's protocol

Behaviour = Callable[["ModelServer", "Handler", dict[str, Any]], None]


class ModelServer(ThreadingHTTPServer):
    """Serves `HashedWords`, three times too long. Each request takes the next of `behaviours`, if any."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours: list[Behaviour] = []
        self.requests: list[SimpleNamespace] = []
        self.released = Event()
        self.model = HashedWords()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def items(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        vectors = self.model.embed(texts, purpose="document", timeout=30)
        numbers = [(3 * np.frombuffer(vector, "<f4")).tolist() for vector in vectors]
        return [{"object": "embedding", "index": n, "embedding": of_text} for n, of_text in enumerate(numbers)]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that give up are what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = SimpleNamespace(path=self.path, headers=self.headers, client=self.client_address, **body)
        self.server.requests.append(seen)
        behaviour = self.server.behaviours.pop(0) if self.server.behaviours else serve
        behaviour(self.server, self, body)

    def answer(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr for what went wrong."""


def serve(server: ModelServer, handler: Handler, body: dict[str, Any]) -> None:
    handler.answer(json.dumps({"data": server.items(body["input"])}).encode())


def serve_changed(change: Callable[[list[dict[str, Any]]], object]) -> Behaviour:
    """Serve what is left of the right items after `change`."""

    def behaviour(server: ModelServer, handler: Handler, body: dict[str, Any]) -> None:
        items = server.items(body["input"])
        change(items)
        handler.answer(json.dumps({"data": items}).encode())

    return behaviour


def serve_text(content: bytes, status: int = 200, **headers: str) -> Behaviour:
    return lambda server, handler, body: handler.answer(content, status, **headers)


def refuse(status: int, **headers: str) -> Behaviour:
    return serve_text(f'{{"error": "key {KEY} at status {status}"}}'.encode(), status, **headers)


def hang(server: ModelServer, handler: Handler, body: dict[str, Any]) -> None:
    server.released.wait(30)
    handler.close_connection = True


def break_off(server: ModelServer, handler: Handler, body: dict[str, Any]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    handler.close_connection = True


def drip(start: bytes) -> Behaviour:
    """Send `start`, then a byte at a time without end, each well within a socket's timeout."""

    def behaviour(server: ModelServer, handler: Handler, body: dict[str, Any]) -> None:
        handler.wfile.write(start)
        while not server.released.wait(0.02):
            handler.wfile.write(b" ")
        handler.close_connection = True

    return behaviour


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def remote(server: ModelServer) -> Callable[..., EndpointEmbedder]:
    """Makes embedders of the server that sleep on a fake clock; the levels are given, unless a test asks."""

    def make(**options: Any) -> EndpointEmbedder:
        clock = FakeTime()
        times = {"monotonic": clock.monotonic, "sleep": clock.sleep}
        defaults = {"key": KEY, **LEVELS, **times}
        made = EndpointEmbedder(server.url, "hashed", **{**defaults, **options})
        made.clock = clock  # type: ignore[attr-defined]
        return made

    return make


# The contract

STATIC = StaticEmbedder()


@pytest.fixture(params=["static-256", "endpoint", "hashed words"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "static-256":
        return STATIC
    if request.param == "endpoint":
        return EndpointEmbedder(request.getfixturevalue("server").url, "hashed")
    return HashedWords()


# static-256


def in_a_fresh_process(script: str) -> bytes:
    """The output of a script on stdout. It must not write a word to stderr, and warnings are errors."""
    # Python warns of a fork beside other threads, and OpenBLAS would bring some.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, env=environment, check=False
    )
    assert done.stderr.decode() == ""
    return done.stdout


def cosines_between(texts: Sequence[str]) -> list[float]:
    return [cosine(*pair) for pair in combinations(embed(STATIC, *texts), 2)]


# The first eight numbers of each vector as the model's own reference code computes them.
REFERENCE = (
    ("document", "Ana moved to Lisbon in May and works as a nurse.",
     "-0.043924 -0.017828 0.030317 -0.002682 -0.048096 -0.020111 0.039492 -0.029090"),
    ("document", "Tom: We climbed the ridge before sunrise — and saw two eagles!",
     "0.023861 -0.000065 -0.019759 -0.016273 0.029286 0.058968 0.069989 0.035905"),
    ("document", "the the the cat, The CAT",
     "0.040739 -0.056811 0.038018 0.004886 -0.012791 -0.086242 -0.020145 -0.062728"),
    ("query", "which city does Ana live in?",
     "-0.089694 -0.046527 0.011320 -0.037901 0.042466 -0.000704 -0.013634 0.007552"),
)  # fmt: skip


@pytest.mark.parametrize(("purpose", "text", "numbers"), REFERENCE)
def test_static_256_computes_the_same_vectors_as_its_reference(purpose: Any, text: str, numbers: str) -> None:
    [vector] = STATIC.embed([text], purpose=purpose, timeout=30)
    expected = [float(number) for number in numbers.split()]
    np.testing.assert_allclose(np.frombuffer(vector, "<f4")[:8], expected, atol=1e-6)


def test_static_256_weighs_the_words_of_a_query_and_not_those_of_a_document() -> None:
    text = "What is the name of the dog?"
    [asked], [stored] = (STATIC.embed([text], purpose=way, timeout=30) for way in ("query", "document"))
    assert cosine(asked, stored) < 0.99


def test_in_static_256_a_text_is_the_set_of_its_pieces() -> None:
    assert len(set(embed(STATIC, "tea or coffee", "coffee or tea tea", "tea " * 3000 + "or coffee"))) == 1


def test_static_256_leaves_out_what_it_does_not_know() -> None:
    plain, decorated = embed(STATIC, "The kettle is on.", "The kettle is on. 🫖")
    assert decorated == plain
    assert embed(STATIC, "🫖", "🎉 🎉", "\u200b", "。「」", "a" * 101) == [bytes(1024)] * 5


def test_static_256_reads_a_long_text_to_its_end() -> None:
    end = "The spare key lies under the blue flowerpot."
    words = "coffee in the morning " * 1000
    [without, with_end, alone] = embed(STATIC, words, f"{words} {end}", end)
    assert cosine(with_end, alone) > cosine(without, alone) + 0.05


def test_static_256_tells_unrelated_texts_of_other_scripts_apart() -> None:
    korean = ("어제 병원에서 새 안경을 맞췄어요.", "고양이가 소파 위에서 자고 있다.", "회의는 금요일 오후 세 시입니다.")
    russian = ("Мой брат играет на скрипке.", "Завтра утром поезд в Казань.", "Кошка спит под столом.")
    hindi = ("मेरी बहन डॉक्टर है।", "कल बारिश होगी।", "किताब मेज़ पर रखी थी।")
    assert max(cosines_between(JAPANESE_TEXTS)) < 0.4
    assert all(max(cosines_between(texts)) < 0.4 for texts in (korean, russian, hindi))


def test_static_256_finds_words_of_other_scripts_again() -> None:
    stored = embed(STATIC, *JAPANESE_TEXTS)
    [question] = STATIC.embed(["北海道ではいつ馬に乗った？"], purpose="query", timeout=30)
    cosines = [cosine(question, vector) for vector in stored]
    assert cosines.index(max(cosines)) == JAPANESE_TEXTS.index("夏休みに北海道で初めて馬に乗りました。")
    mixed, russian = embed(STATIC, "Ana lives in Москва", "живёт: Москва")
    assert cosine(mixed, russian) > 0.2


# Two texts that say about the same in other words, and one about something else.
ABOUT_THE_SAME = (
    ("Mi hermana es enfermera en un hospital.", "La chica cuida a los enfermos.", "El tren sale mañana a las ocho."),
    (
        "Der Arzt hat mir Tabletten verschrieben.",
        "Ich war krank und beim Doktor.",
        "Der Zug fährt um acht.",
    ),
    ("妹は病院で看護師をしている。", "姉はクリニックの医者です。", "電車は明日の朝八時に出ます。"),
    ("El perro de mi vecino ladra por la noche.", "My neighbour's dog barks at night.", "The soup is too salty."),
    ("Mein Bruder fährt mit dem Fahrrad zur Arbeit.", "My brother cycles to work.", "The soup is too salty."),
    ("隣の犬が夜に吠える。", "My neighbour's dog barks at night.", "The soup is too salty."),
)


@pytest.mark.parametrize(("text", "rewording", "other"), ABOUT_THE_SAME)
def test_static_256_knows_spanish_german_and_japanese_words_by_their_meaning(
    text: str, rewording: str, other: str
) -> None:
    near, far = (cosine(*embed(STATIC, text, beside)) for beside in (rewording, other))
    assert near > far + 0.3


# Digests of the vectors before the lexicon came: of the document and of the query.
BEFORE_THE_LEXICON = (
    ("Ana moved to Lisbon in May and works as a nurse.", "506d8352737b24b2 bd1ba3c1e91ebfe2"),
    ("He ordered a schnitzel and a flan in the Calle Mayor.", "43bfa30a94b75064 d158f013f1009de6"),
    ("The war made him die in Los Angeles: también, he said.", "5829f438d6d275a7 bbc1d853d13d29de"),
)


@pytest.mark.parametrize(("text", "digests"), BEFORE_THE_LEXICON)
def test_the_lexicon_of_static_256_leaves_english_alone(text: str, digests: str) -> None:
    vectors = [STATIC.embed([text], purpose=way, timeout=30)[0] for way in ("document", "query")]  # type: ignore[arg-type]
    assert [blake2b(vector, digest_size=8).hexdigest() for vector in vectors] == digests.split()


def test_twelve_more_languages_leave_english_spanish_german_and_japanese_to_the_bit() -> None:
    """The digests are of the vectors before these languages came."""
    texts = [*CALIBRATION_TEXTS, *CONVERSATION, *JAPANESE_TEXTS, *(text for pair in PARAPHRASES for text in pair)]
    for way, digests in (("document", "29a4ac30388760e4"), ("query", "b849b939badeed91")):
        vectors = STATIC.embed(texts, purpose=way, timeout=30)  # type: ignore[arg-type]
        assert blake2b(b"".join(vectors), digest_size=8).hexdigest() == digests


# A language's text, one that says about the same in other words, and one about something else.
IN_OTHER_WORDS = (
    ("fr", "Ma sœur est infirmière à l'hôpital.", "Elle soigne les malades.", "Le train part à huit heures."),
    ("pt", "A minha irmã é enfermeira no hospital.", "Ela cuida dos doentes.", "O comboio sai às oito horas."),
    ("it", "Mia sorella fa l'infermiera in ospedale.", "Lei cura i malati.", "Il treno parte alle otto."),
    ("nl", "Mijn zus is verpleegkundige in het ziekenhuis.", "Zij verzorgt de patiënten.", "De trein gaat om acht."),
    ("pl", "Moja siostra jest pielęgniarką w szpitalu.", "Ona leczy chorych.", "Pociąg odjeżdża o ósmej."),
    ("tr", "Kız kardeşim hastanede hemşire.", "Doktor bir hastayı tedavi ediyor.", "Tren saat sekizde kalkıyor."),
    ("ru", "Моя сестра работает медсестрой в больнице.", "Она лечит больных.", "Поезд отходит в восемь часов."),
    ("uk", "Моя сестра працює медсестрою в лікарні.", "Лікар лікує хворих.", "Поїзд вирушає о восьмій годині."),
    ("ar", "أختي ممرضة في المستشفى.", "الطبيب يعالج المرضى.", "يغادر القطار الساعة الثامنة."),
    ("hi", "मेरी बहन अस्पताल में नर्स है।", "डॉक्टर मरीज का इलाज करता है।", "ट्रेन आठ बजे चलती है।"),
    ("ko", "언니는 병원에서 간호사로 일한다.", "의사가 환자를 치료한다.", "기차는 여덟 시에 떠난다."),
    ("zh", "我姐姐在医院当护士。", "医生治疗病人。", "火车八点出发。"),
    ("zh-Hant", "我姐姐在醫院當護士。", "醫生治療病人。", "火車八點出發。"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "rewording", "other"), [row[1:] for row in IN_OTHER_WORDS], ids=lambda text: "")
def test_static_256_knows_the_words_of_twelve_more_languages_by_their_meaning(
    text: str, rewording: str, other: str
) -> None:
    near, far = (cosine(*embed(STATIC, text, beside)) for beside in (rewording, other))
    assert near > far + 0.05


@pytest.mark.parametrize(
    ("text", "english", "other"),
    [
        ("Mon chat dort dans la cuisine.", "My cat sleeps in the kitchen.", "The invoice is due on Friday."),
        ("Моя собака боится грозы.", "My dog is afraid of thunder.", "The invoice is due on Friday."),
        ("我的狗怕打雷。", "My dog is afraid of thunder.", "The invoice is due on Friday."),
    ],
)
def test_a_text_in_one_of_these_languages_is_near_to_its_english_translation(
    text: str, english: str, other: str
) -> None:
    near, far = (cosine(*embed(STATIC, text, beside)) for beside in (english, other))
    assert near > far + 0.2


@pytest.mark.parametrize(("language", "text"), [row[:2] for row in IN_OTHER_WORDS])
def test_a_text_in_one_of_these_languages_is_found_by_itself_first(language: str, text: str) -> None:
    [asked] = STATIC.embed([text], purpose="query", timeout=30)
    stored = {each: cosine(asked, *embed(STATIC, each)) for row in IN_OTHER_WORDS for each in row[1:]}
    assert max(stored, key=lambda each: stored[each]) == text, language


def test_static_256_says_whose_vectors_twelve_more_languages_have_changed() -> None:
    changed = [row[1] for row in IN_OTHER_WORDS]
    same = [*CALIBRATION_TEXTS, *JAPANESE_TEXTS, "", "🫖", "Der Tee steht da.", "telefono del fontanero"]
    assert [text for text in changed if not STATIC.has_changed(text, 0)] == []
    assert [text for text in same if STATIC.has_changed(text, 0)] == []
    reworked = {row[1] for row in IN_OTHER_WORDS if row[0] in static.REWORKED}
    assert {text for text in [*changed, *same] if STATIC.has_changed(text, 3)} == reworked
    assert not STATIC.has_changed(changed[0], WORDS_VERSION)


WORDS_OF_LANGUAGES: Final = Languages(static.FOLDER / "words.npz")


@pytest.mark.parametrize(
    ("language", "word", "shorter"),
    [
        ("tr", "köpekçilikten", "köpek"),
        ("tr", "bilgisayarlaştırılması", "bilgisayar"),
        ("ar", "أتجنبها", "تجنب"),
        ("ar", "كلبنا", "كلب"),
        ("ar", "سيارتهما", "سيارة"),
        ("ar", "أركض", "ركض"),
    ],
)
def test_a_word_with_unknown_endings_means_what_it_does_without_them(language: str, word: str, shorter: str) -> None:
    assert WORDS_OF_LANGUAGES.known([word], language)[word] == WORDS_OF_LANGUAGES.known([shorter], language)[shorter]


def test_a_misspelt_word_is_no_known_one_by_its_beginning() -> None:
    assert WORDS_OF_LANGUAGES.known(["yatırıyorum"], "tr")
    assert not WORDS_OF_LANGUAGES.have("yatırıyorum")
    assert WORDS_OF_LANGUAGES.have("bilgisayar")


@pytest.mark.parametrize("word", ["м'яса", "п\u2019ятниці", "здоров\u02bcя"])
def test_a_ukrainian_word_is_known_with_its_apostrophe(word: str) -> None:
    [(language, runs)] = WORDS_OF_LANGUAGES.of_scripts(f"\u00ab{word}\u00bb")
    assert (language, runs.findall(word)) == ("uk", [word])
    assert WORDS_OF_LANGUAGES.known([word], "uk")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("uk", "Я зламав ногу на лижах."),
        ("uk", "Який овоч я не кладу в борщ?"),
        ("uk", "Яка в мене машина?"),
        ("ru", "Кто отремонтирует протечку на кухне?"),
        ("ru", "Где кошка?"),
        ("tr", "Cihazımda ne bozuldu?"),
        ("tr", "Köpeğimiz gök gürültüsünden korkar."),
        ("pl", "Co przeraża domowego zwierzaka?"),
    ],
)
def test_a_text_s_language_is_told_where_few_of_its_words_are_frequent(language: str, text: str) -> None:
    assert STATIC._loaded().languages_of(text) == {language}


@pytest.mark.parametrize(
    "text",
    [
        "Lunch with Erdoğan on Friday.",
        "Met Mr Yılmaz.",
        "We met Agnieszka Wiśniewska and Paweł Woźniak in Gdańsk.",
        "met paweł woźniak in gdańsk",
        "Visited Kraków, Łódź and Gdańsk",
        "Prof. Çağlar Yıldızoğlu teaches calculus",
        "Ağaoğlu hotel",
        "Herr Çağlar Yıldızoğlu mag Tee",
        "Treffen mit Paweł Woźniak, Gdańsk",
        "Viaje a Łódź, Poznań y Toruń",
    ],
)
def test_foreign_names_make_a_text_of_no_other_language(text: str) -> None:
    assert STATIC._loaded().languages_of(text) == set()


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("parasetamol", "Parasetamol bana dokunuyor.", "Parası bende."),
        ("Mertcan", "Mertcan yarın bize gelecek.", "Mertkan yarın bize gelecek."),
        ("Denizhan", "Denizhan yarın bize gelecek.", "Denizcan yarın bize gelecek."),
        ("elasticsearch", "Arama için Elasticsearch kuruldu.", "Saat için elastik kayış alındı."),
    ],
)
def test_a_name_in_a_turkish_text_is_not_taken_for_the_word_that_it_begins_with(
    query: str, right: str, wrong: str
) -> None:
    [asked] = STATIC.embed([query], purpose="query", timeout=30)
    stored, other = embed(STATIC, right, wrong)
    assert cosine(asked, stored) > cosine(asked, other) + 0.1


def test_static_256_finds_a_hebrew_word_by_its_other_forms() -> None:
    computer, computers, hill = (embed(STATIC, text) for text in ("המחשב", "מחשבים", "גבעה"))
    assert cosine(*computer, *computers) > 0.99 > cosine(*computer, *hill) + 0.5
    assert STATIC.has_changed("המחשב", 2)
    assert not STATIC.has_changed("המחשב", WORDS_VERSION)


@pytest.mark.parametrize("content", [b"", b"not what it was", None])
def test_a_broken_file_of_words_is_unavailable_and_stops_no_english_text(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("model.npz", "vocab.txt", "lexicon.npz", "english.npz"):
        (tmp_path / name).symlink_to(static.FOLDER / name)
    if content is not None:
        (tmp_path / "words.npz").write_bytes(content)
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    embedder = StaticEmbedder()
    assert embed(embedder, "The kettle is on.") == embed(STATIC, "The kettle is on.")
    for text in ("Où est le chat ?", "Где кошка?"):
        with pytest.raises(Unavailable, match="install steeltrap again"):
            embed(embedder, text)


def test_words_that_the_lexicon_of_static_256_lacks_still_find_themselves() -> None:
    for question, right, wrong in (
        ("Wo liegt der Quastenflosserknochen?", "Der Quastenflosserknochen ist da.", "Der Hammer ist da."),
        ("¿Dónde vive Xochiquetzalli?", "Xochiquetzalli vive aquí.", "Popocatepetla vive aquí."),
        ("鷺沼はどこ?", "鷺沼で待って。", "渋谷で待って。"),
    ):
        [asked] = STATIC.embed([question], purpose="query", timeout=30)
        found, other = embed(STATIC, right, wrong)
        assert cosine(asked, found) > cosine(asked, other) + 0.1


def test_static_256_finds_a_german_compound_by_its_parts() -> None:
    compound, parts, other = embed(
        STATIC, "Der Gartenschlauch leckt.", "Der Schlauch im Garten leckt.", "Der Fernsehturm leckt."
    )
    assert cosine(compound, parts) > cosine(compound, other) + 0.2


def test_static_256_takes_spanish_without_accents_and_german_without_umlauts() -> None:
    assert cosine(*embed(STATIC, "¿Dónde empezó el médico?", "donde empezo el medico?")) > 0.99
    assert cosine(*embed(STATIC, "Die Bäckerei ist schön groß.", "Die Baeckerei ist schoen gross.")) > 0.99


GLOSSES = (
    ("¿Dónde vive la profesora de Vega?", " where lives the teacher of vega?"),
    ("Der Gartenschlauch vom Nachbarn tropft.", "the garden hose from neighbors drop."),
    ("Wo ist das Foto aus 東京?", "where is that picture out 東京?"),
    *((text, text) for text in (
        "Ana lives in Lisbon, near the Praça do Comércio.",
        "J'habite à Paris avec ma sœur et mon chien.",
        "De trein naar Utrecht vertrekt om acht uur.",
        "妹は病院で看護師をしている。",
        "🫖",
        "",
    )),
)  # fmt: skip


@pytest.mark.parametrize(("text", "gloss"), GLOSSES)
def test_static_256_glosses_spanish_and_german_in_english_words_and_leaves_other_languages_alone(
    text: str, gloss: str
) -> None:
    assert STATIC.gloss(text) == gloss


@pytest.mark.parametrize("content", [b"", b"not what it was", None])
def test_a_broken_file_of_glosses_is_unavailable(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("model.npz", "vocab.txt", "lexicon.npz"):
        (tmp_path / name).symlink_to(static.FOLDER / name)
    if content is not None:
        (tmp_path / "english.npz").write_bytes(content)
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    with pytest.raises(Unavailable, match="install steeltrap again"):
        StaticEmbedder().gloss("Wo steht der Tee?")


def test_static_256_reads_the_rows_of_its_lexicon_only_for_a_text_that_needs_them() -> None:
    embedder = StaticEmbedder()
    languages = embedder._loaded()._languages
    embedder.embed(["Ana lives in Lisbon, near the sea."], purpose="document", timeout=30)
    assert not languages._arrays
    embedder.embed(["Ana lives in Lisbon, near the Praça do Comércio."], purpose="document", timeout=30)
    assert languages._arrays.keys() == {"frequent", "frequent_keys"}
    assert embedder._loaded()._lexicon._rows is None
    embedder.embed(["¿Dónde vive la profesora?"], purpose="query", timeout=30)
    assert embedder._loaded()._lexicon._rows is not None


def test_static_256_says_that_too_many_files_are_open_and_reads_a_language_once_one_is_closed() -> None:
    printed = in_a_fresh_process(
        "import os, resource\n"
        "from steeltrap.embedders.static import StaticEmbedder\n"
        "from steeltrap.errors import TooManyFiles\n"
        "embedder = StaticEmbedder()\n"
        "embedder.load()\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir('/dev/fd')) - 1, hard))\n"
        "for limit in range(2):\n"
        "    try:\n"
        "        embedder.embed(['Ma soeur est infirmière.'], purpose='document', timeout=30)\n"
        "        print('read')\n"
        "    except TooManyFiles as error:\n"
        "        print(error.message, error.can_retry)\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))\n"
    )
    said = "Too many files are open: raise the server's limit with `ulimit -n`, or try again later."
    assert printed.decode().splitlines() == [f"{said} True", "read"]


def test_static_256_gives_the_same_bytes_in_every_process() -> None:
    texts = [text for row in ABOUT_THE_SAME for text in row]
    printed = in_a_fresh_process(
        "import sys\n"
        "from steeltrap.embedders.static import StaticEmbedder\n"
        f"vectors = StaticEmbedder().embed({texts[::-1]!r}, purpose='query', timeout=30)\n"
        "sys.stdout.buffer.write(b''.join(vectors[::-1]))\n"
    )
    assert printed == b"".join(STATIC.embed(texts, purpose="query", timeout=30))


def test_static_256_gives_the_same_bytes_alone_and_among_others() -> None:
    texts = [*CALIBRATION_TEXTS, *CONVERSATION, *JAPANESE_TEXTS, *(text for row in ABOUT_THE_SAME for text in row)] * 4
    for way in ("document", "query"):
        together = STATIC.embed(texts, purpose=way, timeout=30)  # type: ignore[arg-type]
        assert together == [STATIC.embed([text], purpose=way, timeout=30)[0] for text in texts]  # type: ignore[arg-type]


@given(st.text(st.characters(codec="ascii") | st.sampled_from("–—‘’“”…éß中"), max_size=60))
@settings(max_examples=300)
def test_the_short_cut_of_static_256_finds_the_pieces_that_its_tokenizer_finds(text: str) -> None:
    assume(not any(special in text for special in word_pieces._SPECIAL))  # to the short cut they are words
    model = STATIC._loaded()
    pieces, places, _ = model._split(text)
    assume(not places)
    found = model._pieces.encode(static._beyond_latin().sub(" ", text))
    assert pieces - {static._UNKNOWN} == {*found} - {static._UNKNOWN}


@pytest.fixture(scope="module")
def peer() -> Callable[[str], list[int]]:
    """The package `tokenizers` over the same file."""
    tokenizer = BertWordPieceTokenizer(str(static.FOLDER / "vocab.txt"))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def test_word_pieces_are_those_of_tokenizers_for_every_character_that_the_model_is_asked_about(
    peer: Callable[[str], list[int]],
) -> None:
    pieces = STATIC._loaded()._pieces
    asked = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    asked = (char for char in asked if not static._beyond_latin().match(char) and ord(char) < 0x40000)
    assert [char for char in asked if [*pieces.encode(f"a{char}b")] != peer(f"a{char}b")] == []


@given(st.text(st.characters(max_codepoint=0x36F) | st.sampled_from("[MASK]\u1e9b\u2019\u2c7c😀中\u200b"), max_size=60))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_word_pieces_are_those_of_tokenizers_for_any_text(peer: Callable[[str], list[int]], text: str) -> None:
    assert [*STATIC._loaded()._pieces.encode(text)] == peer(text)


@given(
    st.lists(st.integers(0, 30_521) | st.sampled_from([100, 101, 999, 1005, 1012, 1024, 1055, 2025, 2079]), max_size=8)
)
def test_word_pieces_make_the_words_that_tokenizers_makes(numbers: list[int]) -> None:
    peer = BertWordPieceTokenizer(str(static.FOLDER / "vocab.txt"))
    assert STATIC._loaded()._pieces.decode(numbers) == peer.decode(numbers)


def test_static_256_leaves_the_process_as_it_was_and_lets_it_fork() -> None:
    printed = in_a_fresh_process(
        "import logging, os, sys\n"
        "from steeltrap.embedders.static import StaticEmbedder\n"
        "embedder = StaticEmbedder()\n"
        "assert 'numpy' not in sys.modules\n"
        "embed = lambda: embedder.embed(['tea', '', 'coffee'] * 40, purpose='query', timeout=30)\n"
        "before = embed()\n"
        "assert logging.root.handlers == [] and logging.root.level == logging.WARNING\n"
        "assert not {'requests', 'huggingface_hub', 'safetensors', 'tokenizers'} & set(sys.modules)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if embed() == before else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert printed.split() == [b"0"]


def test_static_256_takes_no_more_memory_for_short_texts_beside_a_long_one() -> None:
    texts = ["a short text"] * 500
    texts[250] = ODD_TEXTS["32 KiB of words"]
    STATIC.embed(["load"], purpose="document", timeout=30)
    tracemalloc.start()
    STATIC.embed(texts, purpose="document", timeout=30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024 * 1024


def test_static_256_gives_up_when_the_texts_take_longer_than_the_timeout() -> None:
    embedder = StaticEmbedder(monotonic=FakeTime(step=1.0).monotonic)
    with pytest.raises(Unavailable, match=r"Embedding 1,000 texts takes longer than 3 s"):
        embedder.embed(["tea"] * 1000, purpose="document", timeout=3)


@pytest.mark.parametrize("broken", ["model.npz", "vocab.txt", "lexicon.npz"])
@pytest.mark.parametrize("damage", ["missing", "other bytes", "cut off", "a bit"])
def test_broken_files_of_static_256_are_unavailable(
    broken: str, damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("model.npz", "vocab.txt", "lexicon.npz"):
        content = (static.FOLDER / name).read_bytes()
        if name == broken:
            middle = len(content) // 2
            content = {
                "missing": b"",
                "other bytes": b"not what it was",
                "cut off": content[:middle],
                "a bit": content[:middle] + bytes([content[middle] ^ 128]) + content[middle + 1 :],
            }[damage]
        if name != broken or damage != "missing":
            (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    with pytest.raises(Unavailable, match="install steeltrap again") as raised:
        StaticEmbedder().embed(["Wo steht der Tee?"], purpose="document", timeout=30)
    assert raised.value.details["part"] == "embedder"


# The endpoint: what it asks


def embed(embedder: Embedder, *texts: str, timeout: float = 5) -> list[bytes]:
    return embedder.embed(texts, purpose="document", timeout=timeout)


def test_the_endpoint_is_asked_by_model_and_key(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    embed(remote(dimension=64), "tea")
    [request] = server.requests
    assert (request.path, request.model, request.input, request.dimensions) == (
        "/v1/embeddings", "hashed", ["tea"], 64
    )  # fmt: skip
    assert request.headers["Authorization"] == f"Bearer {KEY}"


def test_without_key_and_dimension_neither_is_sent(
    server: ModelServer, remote: Callable[..., EndpointEmbedder]
) -> None:
    embed(remote(key=""), "tea")
    [request] = server.requests
    assert "Authorization" not in request.headers
    assert not hasattr(request, "dimensions")


def test_texts_go_in_batches_over_one_connection(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    texts = [f"note {n}" for n in range(300)]
    embedder = remote(dimension=64)
    assert embed(embedder, *texts) == embed(HashedWords(), *texts)
    assert [len(request.input) for request in server.requests] == [128, 128, 44]
    assert len({request.client for request in server.requests}) == 1


def test_prefixes_tell_queries_from_documents(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    embedder = remote(dimension=64, query_prefix="query: ", document_prefix="passage: ")
    embedder.embed(["tea", " "], purpose="query", timeout=5)
    embedder.embed(["tea", " "], purpose="document", timeout=5)
    assert [request.input for request in server.requests] == [["query: tea"], ["passage: tea"]]


def test_what_the_settings_leave_open_is_learned_with_the_first_texts(
    server: ModelServer, remote: Callable[..., EndpointEmbedder]
) -> None:
    embedder = remote(**dict.fromkeys(LEVELS))
    embed(embedder, "tea")
    embed(embedder, "coffee")
    unrelated = unrelated_level(embed(HashedWords(), *CALIBRATION_TEXTS))
    japanese = unrelated_level(embed(HashedWords(), *JAPANESE_TEXTS))
    novel = novel_level(embed(HashedWords(), *CONVERSATION))
    assert embedder.dimension == 64
    slope = slope_of_best(embed(HashedWords(), *CALIBRATION_TEXTS[:18]))
    learned = (embedder.unrelated, embedder.unrelated_japanese, embedder.novel, embedder.slope)
    assert learned == pytest.approx((unrelated, japanese, novel, slope), abs=1e-6)
    assert [request.input for request in server.requests] == [[*PROBES, "tea"], ["coffee"]]


def test_a_level_that_was_given_is_not_learned(remote: Callable[..., EndpointEmbedder]) -> None:
    embedder = remote(unrelated=0.9, novel=None)
    embed(embedder, "tea")
    assert (embedder.unrelated, embedder.novel) == (0.9, 0.9)
    embedder = remote(unrelated=None, novel=0.8)
    embed(embedder, "tea")
    assert embedder.novel == 0.8
    assert embedder.unrelated < 0.5


def test_where_size_and_unrelated_level_are_given_the_rest_is_learned_with_the_first_texts(
    server: ModelServer, remote: Callable[..., EndpointEmbedder]
) -> None:
    embedder = remote(dimension=64, unrelated=0.1, unrelated_japanese=None, novel=None, slope=None)
    embed(embedder, "tea")
    assert embedder.unrelated == 0.1
    assert embedder.novel > 0.1
    assert [request.input for request in server.requests] == [[*PROBES, "tea"]]


def test_size_and_levels_are_asked_for_when_they_are_read_first(
    remote: Callable[..., EndpointEmbedder],
) -> None:
    assert remote().dimension == 64
    assert remote(unrelated=None).unrelated > 0
    assert remote(unrelated_japanese=None).unrelated_japanese > 0.3
    assert remote(novel=None).novel > 0.1
    assert remote(slope=None).slope > 0
    given = remote()
    assert (given.unrelated, given.unrelated_japanese, given.novel, given.slope) == tuple(LEVELS.values())


@pytest.mark.parametrize("suffix", ["", "/", "/embeddings", "/embeddings/"])
def test_the_address_is_found_however_it_ends(server: ModelServer, suffix: str) -> None:
    embed(EndpointEmbedder(server.url + suffix, "hashed", **LEVELS), "tea")
    assert server.requests[0].path == "/v1/embeddings"


# The endpoint: what it makes of answers


def test_answers_are_put_in_order_by_their_index(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    server.behaviours = [serve_changed(list.reverse)]
    assert embed(remote(dimension=64), "tea", "coffee") == embed(HashedWords(), "tea", "coffee")


def test_answers_without_an_index_are_taken_as_they_come(
    server: ModelServer, remote: Callable[..., EndpointEmbedder]
) -> None:
    server.behaviours = [serve_changed(lambda items: [item.pop("index") for item in items])]
    assert embed(remote(dimension=64), "tea", "coffee") == embed(HashedWords(), "tea", "coffee")


def put(value: object) -> Behaviour:
    """Serve `value` in place of the last embedding."""
    return serve_changed(lambda items: items[-1].update(embedding=value))


WRONG_ANSWERS = {
    "one too few": serve_changed(list.pop),
    "one too many": serve_changed(lambda items: items.append({**items[0], "index": 2})),
    "an index twice": serve_changed(lambda items: items[0].update(index=1)),
    "no index known": serve_changed(lambda items: items[0].update(index="first")),
    "NaN": put([float("nan")] * 64),
    "infinite": put([1e300 * 1e10] * 64),
    "null": put(None),
    "a null": put([None] * 64),
    "words": put([KEY] * 64),
    "empty": put([]),
    "a number": put(7),
    "not JSON": serve_text(b"<html>It works!</html>"),
    "not UTF-8": serve_text(b"\xff\xfe"),
    "nothing": serve_text(b""),
    "a list": serve_text(b"[]"),
    "no data": serve_text(b'{"object": "list"}'),
    "data of numbers": serve_text(b'{"data": [1, 2]}'),
    "nested too deep": serve_text(b"[" * 100_000),
}


@pytest.mark.parametrize("behaviour", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_a_wrong_answer_is_unavailable_and_not_quoted(
    server: ModelServer, remote: Callable[..., EndpointEmbedder], behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour]
    error = failure(remote(dimension=64))
    assert "did not answer 2 usable embeddings" in error.message


def failure(embedder: EndpointEmbedder, timeout: float = 5) -> SteeltrapError:
    """The error of two texts; no key in it, whatever the log may show."""
    with pytest.raises(Unavailable) as raised:
        embed(embedder, "tea", "coffee", timeout=timeout)
    error = raised.value
    assert error.details == {"part": "embedder"}
    assert KEY not in "".join(traceback.format_exception(error))
    return error


def test_another_size_than_asked_for_names_the_settings(remote: Callable[..., EndpointEmbedder]) -> None:
    error = failure(remote(dimension=256))
    assert "64 numbers a text, not 256" in error.message
    assert "STEELTRAP_EMBEDDER_DIMENSION" in error.message


def test_a_model_that_is_swapped_for_another_is_noticed(
    server: ModelServer, remote: Callable[..., EndpointEmbedder]
) -> None:
    embedder = remote()
    embed(embedder, "tea")
    server.model = HashedWords(dimension=32)
    assert "32 numbers a text, not 64" in failure(embedder).message


REFUSALS = {
    401: "STEELTRAP_EMBEDDER_KEY",
    403: "STEELTRAP_EMBEDDER_KEY",
    404: "does not know the model 'hashed'",
    400: "STEELTRAP_EMBEDDER_MODEL",
    307: "has moved",
}


@pytest.mark.parametrize(("status", "said"), REFUSALS.items())
def test_a_refusal_says_which_setting_to_check_and_is_not_repeated(
    server: ModelServer, remote: Callable[..., EndpointEmbedder], status: int, said: str
) -> None:
    server.behaviours = [refuse(status, Location="http://127.0.0.1:1/")]
    error = failure(remote())
    assert said in error.message
    assert f"HTTP {status}" in error.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [refuse(429), refuse(500), refuse(503), break_off])
def test_what_passes_is_tried_again(
    server: ModelServer, remote: Callable[..., EndpointEmbedder], behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour, behaviour]
    embedder = remote()
    assert embed(embedder, "tea") == embed(HashedWords(), "tea")
    assert embedder.clock.slept == [0.25, 0.5]  # type: ignore[attr-defined]


def test_a_pause_is_as_long_as_the_server_asks(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    server.behaviours = [
        refuse(429, Retry_After="3"),
        refuse(429, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"),
    ]
    embedder = remote()
    embed(embedder, "tea", timeout=30)
    assert embedder.clock.slept == [3.0, 6.0]  # type: ignore[attr-defined]


def test_no_pause_outlasts_the_timeout(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    server.behaviours = [refuse(429, Retry_After="3600")]
    embedder = remote()
    assert "HTTP 429" in failure(embedder).message
    assert embedder.clock.slept == []  # type: ignore[attr-defined]


def test_a_server_that_keeps_failing_is_given_up(server: ModelServer, remote: Callable[..., EndpointEmbedder]) -> None:
    server.behaviours = [refuse(500)] * 9
    assert "failed (HTTP 500)" in failure(remote()).message
    assert len(server.requests) == 4


def test_a_server_that_is_not_there_is_tried_again_and_named(server: ModelServer) -> None:
    clock = FakeTime()
    server.shutdown()
    server.server_close()
    error = failure(EndpointEmbedder(server.url, "m", monotonic=clock.monotonic, sleep=clock.sleep))
    assert "can't be reached" in error.message
    assert clock.slept == [0.25, 0.5, 1.0]


STUCK = {
    "silent": hang,
    "dripping its status": drip(b"HTTP/1.1 200"),
    "dripping its headers": drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "dripping its body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
    "dripping without end": drip(b"HTTP/1.1 200 OK\r\n\r\n"),
}


@pytest.mark.parametrize("behaviour", STUCK.values(), ids=STUCK)
def test_a_stuck_endpoint_ends_in_unavailable_within_the_timeout(server: ModelServer, behaviour: Behaviour) -> None:
    server.behaviours = [behaviour]
    began = time.monotonic()
    error = failure(EndpointEmbedder(server.url, "hashed"), timeout=0.2)
    # Nothing is measured here: without the deadline it would take the server's 30 s, or for ever.
    assert time.monotonic() - began < 10
    assert "did not answer in time" in error.message


def test_what_a_stuck_endpoint_holds_is_bounded(server: ModelServer) -> None:
    server.behaviours = [hang] * 9
    embedder = EndpointEmbedder(server.url, "hashed", slots=1)
    server.behaviours[0] = drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(3):
        failure(embedder, timeout=0.1)
    assert len(server.requests) == 1


def test_an_endpoint_that_was_stuck_is_used_again_when_it_answers(server: ModelServer) -> None:
    server.behaviours = [hang]
    embedder = EndpointEmbedder(server.url, "hashed", **LEVELS)
    failure(embedder, timeout=0.1)
    assert embed(embedder, "tea") == embed(HashedWords(), "tea")


def test_an_answer_without_end_is_cut_off_and_its_connection_not_used_again(
    server: ModelServer, remote: Callable[..., EndpointEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = remote()
    with monkeypatch.context() as patch:
        patch.setattr("steeltrap.embedders.remote.MAX_ANSWER_BYTES", 1000)
        server.behaviours = [serve_text(b" " * 1_000_000)]
        assert "without end" in failure(embedder).message
    assert embed(embedder, "tea") == embed(HashedWords(), "tea")
    assert embedder.clock.slept == []  # type: ignore[attr-defined]


# The endpoint: settings and foreign exceptions


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://host/v1", "http://", "http://host:99999/v1", "http://[::1/v1"]
)
def test_an_address_that_cannot_work_is_refused_by_its_setting(url: str) -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_EMBEDDER_URL"):
        EndpointEmbedder(url, "m")


@pytest.mark.parametrize("key", [f"{KEY}\nX-Evil: 1", f"{KEY}é"])
def test_a_key_that_no_header_carries_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_EMBEDDER_KEY") as raised:
        EndpointEmbedder("http://127.0.0.1/v1", "m", key=key)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_credentials_in_the_address_are_refused_and_not_quoted() -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_EMBEDDER_URL") as raised:
        EndpointEmbedder(f"http://me:{KEY}@127.0.0.1/v1", "m")
    assert KEY not in raised.value.message


def test_a_model_has_to_be_named() -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_EMBEDDER_MODEL"):
        EndpointEmbedder("http://127.0.0.1/v1", "")


def test_vectors_of_different_models_or_sizes_have_different_names() -> None:
    made = [
        EndpointEmbedder("http://127.0.0.1/v1", model, dimension=dimension)
        for model, dimension in [("m", 0), ("m", 256), ("n", 0)]
    ]
    assert len({embedder.name for embedder in made}) == 3


def test_every_exception_of_urllib3_is_placed() -> None:
    from urllib3 import exceptions

    own = [kind for kind in vars(exceptions).values() if getattr(kind, "__module__", "") == exceptions.__name__]
    kinds = [kind for kind in own if issubclass(kind, Exception) and not issubclass(kind, Warning)]
    unplaced = {kind.__name__ for kind in kinds if not any(base in endpoint.foreign() for base in kind.__mro__)}
    # HTTPError is the root: placing it would place whatever comes.
    assert unplaced == {"HTTPError"}


def test_an_exception_that_nobody_placed_is_not_taken_for_an_outage(
    remote: Callable[..., EndpointEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    embedder = remote()
    monkeypatch.setattr(embedder._poster, "post", fail)
    with pytest.raises(ZeroDivisionError):
        embed(embedder, "tea")


@pytest.mark.parametrize("module", [calibration, endpoint, static])
def test_every_setting_that_a_message_names_exists(module: ModuleType) -> None:
    assert module.__file__
    named = set(re.findall(r"\bSTEELTRAP_([A-Z_]+)\b", Path(module.__file__).read_text()))
    assert {name.lower() for name in named} <= set(FIELDS)


# Calibration and the fake


def test_the_unrelated_level_is_a_median_kept_within_the_scale() -> None:
    assert unrelated_level([np.array(v, "<f4").tobytes() for v in ([1, 0], [-1, 0], [0, 1])]) == 0
    assert unrelated_level([np.array([1, 0], "<f4").tobytes()] * 3) == 0.99


def test_no_two_calibration_texts_share_a_subject() -> None:
    assert len(CALIBRATION_TEXTS) == 24
    vectors = embed(STATIC, *CALIBRATION_TEXTS)
    assert unrelated_level(vectors) < 0.1


def test_the_novel_level_is_an_upper_quartile_kept_within_the_scale() -> None:
    def towards(*degrees: float) -> list[bytes]:
        return [np.array([np.cos(np.radians(d)), np.sin(np.radians(d))], "<f4").tobytes() for d in degrees]

    # Each one's nearest lies 10, 10, 20, 40 and 60 degrees off.
    level = np.cos(np.radians(10))
    assert novel_level(towards(0, 10, 30, 70, 130)) == pytest.approx(level, abs=1e-6)
    assert novel_level(towards(0, 120, 240)) == 0
    assert novel_level(towards(5, 5)) == 0.99


def test_the_slope_says_how_much_nearer_the_best_of_some_unrelated_texts_lies_than_one() -> None:
    # Beside each text one other has cosine 1 and the other 22 have 0, so the best of n has n / 23 on average.
    pairs = [np.eye(12, dtype="<f4")[place].tobytes() for place in range(12) for _ in range(2)]
    sizes = np.arange(1, 13)
    expected = np.polyfit(np.log(sizes), sizes / 23, 1)[0]
    assert slope_of_best(pairs) == pytest.approx(expected, abs=1e-6)
    assert slope_of_best(pairs[:1] * 4) == 0


def test_what_static_256_would_learn_is_near_what_was_measured_for_it() -> None:
    japanese = unrelated_level(embed(STATIC, *JAPANESE_TEXTS))
    assert japanese == pytest.approx(STATIC.unrelated_japanese, abs=0.03)
    assert novel_level(embed(STATIC, *CONVERSATION)) == pytest.approx(STATIC.novel, abs=0.02)


@pytest.mark.parametrize("state", ["stuck", "broken"])
def test_the_fake_fails_on_request_without_waiting(state: Any) -> None:
    embedder = HashedWords(state=state)
    with pytest.raises(Unavailable) as raised:
        embed(embedder, "tea")
    assert raised.value.details == {"part": "embedder"}
    embedder.state = "working"
    assert len(embed(embedder, "tea")) == 1


def test_no_embedder_logs_a_text_or_the_key(
    server: ModelServer, remote: Callable[..., EndpointEmbedder], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.behaviours = [refuse(500), refuse(500), refuse(500), refuse(500)]
    failure(remote())
    assert KEY not in caplog.text
    assert "coffee" not in caplog.text


def test_static_256_needs_no_part_of_numpy_that_functions_lack() -> None:
    """`infra/bundle.py` leaves these out."""
    program = """
import sys
for part in ("ma", "random", "fft", "polynomial", "f2py", "testing"):
    sys.modules[f"numpy.{part}"] = None
from steeltrap.embedders.static import StaticEmbedder
for text in ("Ana lives in Porto", "¿Dónde vive la abuela?", "Wo steht die Küchenlampe?", "祖母は京都に住んでいます。"):
    for purpose in ("document", "query"):
        assert any(StaticEmbedder().embed([text], purpose=purpose, timeout=60)[0])
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_all_parts_of_a_run_without_spaces_are_looked_up_at_once(monkeypatch):
    searches = []
    search = np.searchsorted
    monkeypatch.setattr(np, "searchsorted", lambda kept, keys: searches.append(len(keys)) or search(kept, keys))
    run = "".join(map(chr, range(0x4E00, 0x5000)))
    assert Languages(static.FOLDER / "words.npz").known([run], "zh")[run]
    assert len(searches) == 2  # the run as a word, and all its parts


class TestEmbedders(EmbedderContract):
    pass
