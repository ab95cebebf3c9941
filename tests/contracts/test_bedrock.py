"""Both models of Amazon Bedrock against the embedder's contract, over a server of the documented form."""

import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any, get_args

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from contracts.bedrock_server import (
    COHERE,
    TITAN,
    BedrockServer,
    Behaviour,
    break_off,
    drip,
    hang,
    refuse,
    serve_json,
    serve_text,
)
from contracts.embedder_contract import EmbedderContract
from embedding import HashedWords
from steeltrap.aws_client import Kind
from steeltrap.embedders import bedrock
from steeltrap.embedders.bedrock import CODES, PLACES, BedrockEmbedder, failure_of, halves, parts
from steeltrap.embedders.calibration import (
    CALIBRATION_TEXTS,
    CONVERSATION,
    JAPANESE_TEXTS,
    PROBES,
    novel_level,
    slope_of_best,
    unrelated_level,
)
from steeltrap.embedders.remote import BoundedThreadPool, OutOfTime
from steeltrap.errors import InvalidInput, Unavailable
from steeltrap.runtime.local import open_embedder
from steeltrap.settings import FIELDS, Settings
from steeltrap.text.vectors import cosine, mean_vector, unit_vector

LEVELS = {"unrelated": 0.1, "unrelated_japanese": 0.4, "novel": 0.5, "slope": 0.05}
SECRET = "a-secret-key-0123456789"
MODELS = {"titan": TITAN, "cohere": COHERE}


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@cache
def _session() -> boto3.session.Session:
    # One for all tests: each reads megabytes of what botocore knows of the service.
    return boto3.session.Session(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=SECRET, region_name="eu-west-1")


@contextmanager
def serving() -> Iterator[tuple[BedrockServer, Any]]:
    """A server and a client of it."""
    server = BedrockServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    config = Config(retries={"total_max_attempts": 1}, max_pool_connections=16, read_timeout=20)
    client = _session().client("bedrock-runtime", endpoint_url=server.url, config=config)
    yield server, client
    server.released.set()
    client.close()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def both() -> Iterator[tuple[BedrockServer, Any]]:
    with serving() as made:
        yield made


@pytest.fixture
def server(both: tuple[BedrockServer, Any]) -> BedrockServer:
    return both[0]


Remote = Callable[..., BedrockEmbedder]


@pytest.fixture
def remote(both: tuple[BedrockServer, Any]) -> Remote:
    """Makes embedders of the server that sleep on a fake clock; the levels are given, unless a test asks."""

    def make(model: str = TITAN, **options: Any) -> BedrockEmbedder:
        clock = FakeTime()
        defaults = {**LEVELS, "monotonic": clock.monotonic, "sleep": clock.sleep, "connect": lambda: both[1]}
        made = BedrockEmbedder(model, **{**defaults, **options})
        made.clock = clock  # type: ignore[attr-defined]
        return made

    return make


@pytest.fixture(scope="module", params=MODELS)
def embedder(request: pytest.FixtureRequest) -> Iterator[BedrockEmbedder]:
    with serving() as (_, client):
        yield BedrockEmbedder(MODELS[request.param], connect=lambda: client)


def embed(embedder: Any, *texts: str, timeout: float = 5) -> list[bytes]:
    vectors: list[bytes] = embedder.embed(texts, purpose="document", timeout=timeout)
    return vectors


def failure(embedder: BedrockEmbedder, timeout: float = 5) -> Unavailable:
    """The error of a text; no key and no text in it, whatever the log may show."""
    with pytest.raises(Unavailable) as raised:
        embed(embedder, "the pin of the alarm is 4711", timeout=timeout)
    error = raised.value
    assert error.details == {"part": "embedder"}
    shown = "".join(traceback.format_exception(error))
    assert SECRET not in shown
    assert "4711" not in shown.replace('pin of the alarm is 4711"', "")
    return error


# What is asked


@pytest.mark.parametrize(("dimension", "asked"), [(0, 1024), (256, 256), (512, 512), (1024, 1024)])
def test_titan_is_asked_for_one_text_of_a_size(
    server: BedrockServer, remote: Remote, dimension: int, asked: int
) -> None:
    embedder = remote(dimension=dimension)
    assert embed(embedder, "tea") == embed(HashedWords(dimension=asked), "tea")
    [request] = server.requests
    assert request.path == "/model/amazon.titan-embed-text-v2%3A0/invoke"
    assert request.body == {"inputText": "tea", "dimensions": asked, "normalize": True}
    assert request.headers["Content-Type"] == request.headers["Accept"] == "application/json"
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["Authorization"]
    assert (embedder.dimension, embedder.name) == (asked, f"bedrock/amazon.titan-embed-text-v2:0/{asked}")


@pytest.mark.parametrize("purpose", ["document", "query"])
def test_cohere_is_told_queries_from_documents_and_cuts_nothing_off(
    server: BedrockServer, remote: Remote, purpose: Any
) -> None:
    embedder = remote(COHERE)
    vectors = embedder.embed(["tea", " ", "東京"], purpose=purpose, timeout=5)
    assert vectors[::2] == embed(HashedWords(dimension=1024), "tea", "東京")
    [request] = server.requests
    assert request.path == "/model/cohere.embed-multilingual-v3/invoke"
    assert request.body == {"texts": ["tea", "東京"], "input_type": f"search_{purpose}", "truncate": "NONE"}
    assert (embedder.dimension, embedder.name) == (1024, "bedrock/cohere.embed-multilingual-v3/1024")


def test_cohere_is_sent_blocks_of_96_texts(server: BedrockServer, remote: Remote) -> None:
    texts = [f"note {n}" for n in range(200)]
    assert embed(remote(COHERE), *texts) == embed(HashedWords(dimension=1024), *texts)
    assert sorted(len(body["texts"]) for body in server.bodies) == [8, 96, 96]


def test_titan_is_sent_many_texts_at_once_over_connections_that_are_kept(server: BedrockServer, remote: Remote) -> None:
    texts = [f"note {n}" for n in range(100)]
    embedder = remote(slots=4)
    assert embed(embedder, *texts) == embed(HashedWords(dimension=1024), *texts)
    assert sorted(body["inputText"] for body in server.bodies) == sorted(texts)
    assert len({request.client for request in server.requests}) <= 4


def test_requests_run_side_by_side(server: BedrockServer, remote: Remote) -> None:
    together = Event()
    waiting: list[object] = []

    def wait_for_the_others(of: BedrockServer, handler: Any, asked: dict[str, Any]) -> None:
        waiting.append(handler)
        if len(waiting) == 3:
            together.set()
        assert together.wait(30)
        serve_json({"embedding": [1.0] * 1024})(of, handler, asked)

    server.behaviours = [wait_for_the_others] * 3
    assert len(embed(remote(), "a", "b", "c", timeout=30)) == 3


def test_prefixes_go_before_queries_and_documents(server: BedrockServer, remote: Remote) -> None:
    embedder = remote(query_prefix="q: ", document_prefix="d: ")
    embedder.embed(["tea"], purpose="query", timeout=5)
    embed(embedder, "tea")
    assert [body["inputText"] for body in server.bodies] == ["q: tea", "d: tea"]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_what_the_settings_leave_open_is_learned_with_the_first_texts(
    server: BedrockServer, remote: Remote, model: str
) -> None:
    embedder = remote(model, **dict.fromkeys(LEVELS))
    embedder.embed(["tea"], purpose="query", timeout=5)
    embedder.embed(["coffee"], purpose="query", timeout=5)
    words = HashedWords(dimension=1024)
    unrelated = unrelated_level(embed(words, *CALIBRATION_TEXTS))
    novel = novel_level(embed(words, *CONVERSATION))
    assert embedder.unrelated == pytest.approx(unrelated, abs=1e-6)
    assert embedder.unrelated_japanese == pytest.approx(unrelated_level(embed(words, *JAPANESE_TEXTS)), abs=1e-6)
    assert embedder.novel == pytest.approx(max(unrelated, novel), abs=1e-6)
    assert embedder.slope == pytest.approx(slope_of_best(embed(words, *CALIBRATION_TEXTS[:18])), abs=1e-6)
    assert sorted(server.embedded) == sorted([*PROBES, "tea", "coffee"])
    if model == COHERE:
        assert {len(body["texts"]): body["input_type"] for body in server.bodies} == {
            len(PROBES): "search_document",
            1: "search_query",
        }


def test_levels_are_asked_for_when_they_are_read_first(remote: Remote) -> None:
    assert remote(unrelated=None).unrelated >= 0
    assert remote(unrelated_japanese=None).unrelated_japanese > 0.1
    assert remote(novel=None).novel > 0.1
    assert remote(slope=None).slope > 0
    given = remote()
    assert (given.unrelated, given.unrelated_japanese, given.novel, given.slope) == tuple(LEVELS.values())


def test_blank_texts_and_given_levels_ask_nothing(server: BedrockServer, remote: Remote) -> None:
    assert embed(remote(**dict.fromkeys(LEVELS)), "", "\n") == [bytes(4096)] * 2
    assert remote().dimension == 1024
    assert server.requests == []


# Texts over the limits

LONG = "".join(f"In harbour{n} of a very long note ships lie. " for n in range(1500))
"""About 70,000 characters, more than Titan takes, and 18,000 tokens, which is more than it takes of half."""


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_of_a_text_over_the_limits_every_word_is_embedded(server: BedrockServer, remote: Remote, model: str) -> None:
    [vector] = embed(remote(model), LONG, timeout=60)
    words = [word for text in server.embedded for word in text.split()]
    assert sorted(words) == sorted(LONG.split())
    [whole] = embed(HashedWords(dimension=1024), LONG)
    assert cosine(vector, whole) > 0.99


def test_a_text_of_too_many_tokens_leaves_its_neighbours_as_they_are(server: BedrockServer, remote: Remote) -> None:
    texts = [f"note {n}" for n in range(10)]
    texts[4] = "東京の叔母は毎朝お茶を飲みます。" * 100
    embedder = remote(COHERE)
    vectors = embed(embedder, *texts)
    expected = embed(HashedWords(dimension=1024), *texts)
    assert [*vectors[:4], *vectors[5:]] == [*expected[:4], *expected[5:]]
    assert cosine(vectors[4], expected[4]) > 0.99
    assert embedder.clock.slept == []  # type: ignore[attr-defined]


def test_the_parts_of_a_text_are_weighted_by_their_length() -> None:
    one, other = unit_vector([1, 0]), unit_vector([0, 1])
    assert mean_vector([one, other], [3, 1]) == unit_vector([3, 1])
    assert mean_vector([one, unit_vector([-1, 0])], [1, 1]) == bytes(8)


@pytest.mark.parametrize("text", ["a" * 5000, LONG, "a b " * 999, " " * 3000 + "end", "start" + " " * 3000])
def test_parts_are_the_text_but_for_blanks(text: str) -> None:
    cut = parts(text, 2048)
    assert all(0 < len(part) <= 2048 and part.strip() for part in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_a_text_is_cut_between_words() -> None:
    assert halves("seven green bottles hanging") == ["seven green ", "bottles hanging"]
    assert halves("aaaabbbb") == ["aaaa", "bbbb"]


def test_a_model_that_finds_everything_too_long_is_not_asked_for_ever(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("ValidationException", 400, "Input is too long for requested model.")] * 99
    error = failure(remote())
    assert "takes no text of this length" in error.message
    assert not error.can_retry
    assert len(server.requests) < 5


# What is made of answers

WRONG_ANSWERS = {
    "none": serve_json({"embedding": []}),
    "NaN": serve_text(b'{"embedding": [NaN]}'),
    "infinite": serve_text(b'{"embedding": [1e999]}'),
    "null": serve_json({"embedding": None}),
    "words": serve_json({"embedding": ["4711 and more"]}),
    "a number": serve_json({"embedding": 7}),
    "not JSON": serve_text(b"<html>4711</html>"),
    "not UTF-8": serve_text(b"\xff\xfe"),
    "nothing": serve_text(b""),
    "a list": serve_json([]),
    "an object": serve_json({}),
    "nested too deep": serve_text(b"[" * 100_000),
}


@pytest.mark.parametrize("behaviour", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_a_wrong_answer_is_unavailable_and_not_quoted(
    server: BedrockServer, remote: Remote, behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour]
    assert "did not answer 1 usable embeddings" in failure(remote()).message


@pytest.mark.parametrize("embeddings", [[], [[1.0] * 1024] * 2, {"float": [[1.0] * 1024]}])
def test_another_number_of_embeddings_than_of_texts_is_unavailable(
    server: BedrockServer, remote: Remote, embeddings: object
) -> None:
    server.behaviours = [serve_json({"embeddings": embeddings})]
    assert "did not answer 1 usable embeddings" in failure(remote(COHERE)).message


def test_vectors_of_another_size_are_unavailable(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [serve_json({"embedding": [1.0] * 512})]
    assert "512 numbers a text, not 1024" in failure(remote()).message


# Errors

PERMANENT = {
    "AccessDeniedException": (403, "bedrock:InvokeModel"),
    "ResourceNotFoundException": (404, "AWS_DEFAULT_REGION"),
    "ValidationException": (400, "STEELTRAP_EMBEDDER_MODEL"),
    "UnrecognizedClientException": (403, "credentials"),
    "ExpiredTokenException": (403, "credentials"),
    "InvalidSignatureException": (403, "credentials"),
    "RequestExpired": (400, "clock"),
    "SomethingNewException": (400, "STEELTRAP_EMBEDDER_MODEL"),
    "SomethingForbiddenException": (403, "bedrock:InvokeModel"),
}


@pytest.mark.parametrize("code", PERMANENT)
def test_a_refusal_says_what_to_mend_and_is_not_repeated(server: BedrockServer, remote: Remote, code: str) -> None:
    status, said = PERMANENT[code]
    server.behaviours = [refuse(code, status)]
    error = failure(remote())
    assert said in error.message
    assert not error.can_retry
    assert len(server.requests) == 1


def test_a_quota_that_is_used_up_is_not_asked_again_at_once(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("ServiceQuotaExceededException", 400)]
    error = failure(remote())
    assert "quota" in error.message
    assert error.can_retry
    assert len(server.requests) == 1


TRANSIENT = {
    "throttled": refuse("ThrottlingException", 429),
    "not ready": refuse("ModelNotReadyException", 429),
    "model timed out": refuse("ModelTimeoutException", 408),
    "model failed": refuse("ModelErrorException", 424),
    "unavailable": refuse("ServiceUnavailableException", 503),
    "internal": refuse("InternalServerException", 500),
    "common": refuse("InternalFailure", 500),
    "new": refuse("SomethingNewException", 502),
    "new throttle": refuse("SlowDownException", 429),
    "no JSON": serve_text(b"<html>", 503),
    "broken off": break_off,
}


@pytest.mark.parametrize("behaviour", TRANSIENT.values(), ids=TRANSIENT)
def test_what_passes_is_tried_again(server: BedrockServer, remote: Remote, behaviour: Behaviour) -> None:
    server.behaviours = [behaviour, behaviour]
    embedder = remote()
    assert embed(embedder, "tea") == embed(HashedWords(dimension=1024), "tea")
    first, second = embedder.clock.slept  # type: ignore[attr-defined]
    assert 0.125 <= first <= 0.25 <= second <= 0.5


def test_what_does_not_pass_is_given_up_and_may_be_tried_later(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("ThrottlingException", 429)] * 9
    error = failure(remote())
    assert "is busy" in error.message
    assert error.can_retry
    assert len(server.requests) == 4


def test_no_pause_outlasts_the_timeout(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("ThrottlingException", 429)] * 9
    embedder = remote()
    assert "is busy" in failure(embedder, timeout=0.6).message
    assert sum(embedder.clock.slept) < 0.6  # type: ignore[attr-defined]
    assert len(server.requests) < 4


def test_one_text_that_fails_fails_the_call(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("AccessDeniedException", 403)]
    with pytest.raises(Unavailable, match="refuses access"):
        embed(remote(slots=1), *(f"note {n}" for n in range(50)))
    assert len(server.requests) == 1


STUCK = {
    "silent": hang,
    "dripping its headers": drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "dripping its body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
}


@pytest.mark.parametrize("behaviour", STUCK.values(), ids=STUCK)
def test_a_stuck_service_ends_in_unavailable_within_the_timeout(
    server: BedrockServer, remote: Remote, behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour]
    began = time.monotonic()
    error = failure(remote(monotonic=time.monotonic), timeout=0.3)
    # Nothing is measured here: without the deadline it would take the server's 30 s, or for ever.
    assert time.monotonic() - began < 10
    assert "did not answer in time" in error.message
    assert error.can_retry


def test_what_a_stuck_service_holds_is_bounded(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [hang] * 9
    embedder = remote(slots=1, monotonic=time.monotonic)
    for _ in range(3):
        failure(embedder, timeout=0.3)
    assert len(server.requests) == 1


def test_a_service_that_was_stuck_is_used_again_when_it_answers(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [hang]
    embedder = remote(monotonic=time.monotonic)
    failure(embedder, timeout=0.3)
    assert embed(embedder, "tea") == embed(HashedWords(dimension=1024), "tea")


def test_a_service_that_is_not_there_is_tried_again_and_named(server: BedrockServer, remote: Remote) -> None:
    server.shutdown()
    server.server_close()
    embedder = remote()
    assert "can't be reached" in failure(embedder).message
    assert len(embedder.clock.slept) == 3  # type: ignore[attr-defined]


def test_every_error_that_the_service_models_is_placed(both: tuple[BedrockServer, Any]) -> None:
    model = both[1].meta.service_model
    assert {shape.name for shape in model.error_shapes} <= CODES.keys()
    of_the_call = {shape.name for shape in model.operation_model("InvokeModel").error_shapes}
    assert "ThrottlingException" in of_the_call
    assert of_the_call <= CODES.keys()


def test_every_way_in_which_a_client_fails_is_placed() -> None:
    assert set(PLACES) == set(get_args(Kind))


def test_an_exception_that_nobody_placed_is_not_taken_for_an_outage(remote: Remote) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    assert failure_of(ZeroDivisionError()) is None
    with pytest.raises(ZeroDivisionError):
        embed(remote(connect=fail), "tea")


def test_a_refusal_that_may_quote_the_text_is_not_kept_as_the_cause(server: BedrockServer, remote: Remote) -> None:
    server.behaviours = [refuse("ValidationException", 400, "4711 is no good"), refuse("AccessDeniedException", 403)]
    assert failure(remote()).__cause__ is None
    assert isinstance(failure(remote()).__cause__, ClientError)


# Clients and settings


def test_a_machine_without_a_region_says_so(without_aws: pytest.MonkeyPatch) -> None:
    error = failure(BedrockEmbedder(**LEVELS), timeout=30)
    assert "AWS_DEFAULT_REGION" in error.message
    assert not error.can_retry


def test_a_profile_that_is_missing_says_so(without_aws: pytest.MonkeyPatch) -> None:
    without_aws.setenv("AWS_PROFILE", "nobody")
    assert "as AWS is configured" in failure(BedrockEmbedder(**LEVELS), timeout=30).message


def test_region_credentials_and_endpoint_are_found_in_the_environment_when_they_come(
    without_aws: pytest.MonkeyPatch, server: BedrockServer
) -> None:
    without_aws.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    without_aws.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
    embedder = BedrockEmbedder(**LEVELS)
    error = failure(embedder, timeout=30)  # boto3 is imported here
    assert "AWS credentials" in error.message
    assert not error.can_retry
    without_aws.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    without_aws.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert embed(embedder, "tea") == embed(HashedWords(dimension=1024), "tea")
    assert len(server.requests) == 1
    embedder._client.close()


def test_one_client_is_made_at_the_first_text_and_shared_by_threads(both: tuple[BedrockServer, Any]) -> None:
    made: list[Any] = []

    def connect() -> Any:
        made.append(both[1])
        return both[1]

    embedder = BedrockEmbedder(connect=connect, **LEVELS)
    assert embedder.dimension == 1024
    assert made == []
    embed(embedder, *(f"note {n}" for n in range(50)))
    assert len(made) == 1


def test_a_missing_boto3_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    error = failure(BedrockEmbedder(**LEVELS))
    assert "run `pip install boto3`" in error.message


@pytest.mark.parametrize("model", ["text-embedding-3-small", "amazon.titan-embed-text-v1", "cohere.embed-v4:0"])
def test_a_model_of_another_form_is_refused_by_its_setting(model: str) -> None:
    with pytest.raises(InvalidInput, match=r"STEELTRAP_EMBEDDER_MODEL.*titan-embed-text-v2:0"):
        BedrockEmbedder(model)


@pytest.mark.parametrize(("model", "dimension"), [(TITAN, 768), (COHERE, 512)])
def test_a_size_that_the_model_has_not_is_refused_by_its_setting(model: str, dimension: int) -> None:
    with pytest.raises(InvalidInput, match=r"STEELTRAP_EMBEDDER_DIMENSION.*1024"):
        BedrockEmbedder(model, dimension=dimension)


def test_an_arn_is_asked_as_it_is_and_has_the_name_of_its_model(server: BedrockServer, remote: Remote) -> None:
    arn = "arn:aws:bedrock:eu-west-1::foundation-model/amazon.titan-embed-text-v2:0"
    embedder = remote(arn)
    embed(embedder, "tea")
    assert server.requests[0].path == (
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A%3Afoundation-model%2Famazon.titan-embed-text-v2%3A0/invoke"
    )
    assert embedder.name == BedrockEmbedder().name


def test_vectors_of_different_models_or_sizes_have_different_names() -> None:
    made = [BedrockEmbedder(), BedrockEmbedder(dimension=256), BedrockEmbedder(COHERE)]
    assert len({embedder.name for embedder in made}) == 3


def test_the_settings_choose_model_and_size() -> None:
    assert open_embedder(Settings(embedder="bedrock")).name == f"bedrock/{TITAN}/1024"
    chosen = open_embedder(Settings(embedder="bedrock", embedder_model=TITAN, embedder_dimension=256))
    assert (chosen.name, chosen.dimension) == (f"bedrock/{TITAN}/256", 256)
    chosen = open_embedder(Settings(embedder="bedrock", embedder_model=COHERE, embedder_unrelated=0.3))
    assert isinstance(chosen, BedrockEmbedder)
    assert (chosen.name, chosen._calibration.unrelated) == (f"bedrock/{COHERE}/1024", 0.3)


@pytest.mark.parametrize("module", [bedrock])
def test_every_setting_that_a_message_names_exists(module: ModuleType) -> None:
    assert module.__file__
    named = set(re.findall(r"\bSTEELTRAP_([A-Z_]+)\b", Path(module.__file__).read_text()))
    assert {name.lower() for name in named} <= set(FIELDS)


# The thread pool


def test_results_come_in_the_order_of_the_tasks() -> None:
    gates = [Event() for _ in range(3)]
    gates[2].set()

    def task(n: int) -> Callable[[], int]:
        def run() -> int:
            assert gates[n].wait(30)
            if n:
                gates[n - 1].set()
            return n

        return run

    assert BoundedThreadPool[int](3).run([task(n) for n in range(3)], 30) == [0, 1, 2]
    assert BoundedThreadPool[int](3).run([], 30) == []


def test_a_failure_ends_the_work_and_frees_the_threads() -> None:
    begun: list[int] = []

    def task(n: int) -> Callable[[], int]:
        def run() -> int:
            begun.append(n)
            if n == 2:
                raise KeyError(n)
            return n

        return run

    pool = BoundedThreadPool[int](1)
    with pytest.raises(KeyError):
        pool.run([task(n) for n in range(9)], 30)
    assert begun == [0, 1, 2]
    assert pool.run([lambda: 7], 30) == [7]


def test_a_thread_pool_whose_threads_are_all_stuck_says_so_in_time() -> None:
    pool, released = BoundedThreadPool[bool](1), Event()
    for _ in range(2):
        with pytest.raises(OutOfTime):
            pool.run([lambda: released.wait(30)], 0.05)
    released.set()
    assert pool.run([lambda: True], 30) == [True]


class TestBedrock(EmbedderContract):
    pass
