"""small-4 by ONNX Runtime against the contract of embedders, and folders that something is wrong with."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

from components import small_model
from contracts.embedder_contract import EmbedderContract
from steeltrap.embedders import adding, onnx
from steeltrap.embedders.onnx import OnnxEmbedder
from steeltrap.errors import InvalidInput, SteeltrapError, Unavailable
from steeltrap.ports import Embedder
from steeltrap.runtime.local import open_embedder
from steeltrap.settings import read_settings

PREFIXES = {"query_prefix": "query: ", "document_prefix": "passage: "}


@pytest.fixture(scope="module")
def shared() -> OnnxEmbedder:
    return OnnxEmbedder(small_model())


@pytest.fixture
def embedder(shared: OnnxEmbedder) -> Embedder:
    return shared


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with the model and its tokenizer, as somebody downloads them."""
    folder = tmp_path / "my model"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(small_model() / name)
    return folder


def describe(folder: Path, **changes: Any) -> None:
    """Write the description of small-4, changed, into a folder."""
    told = json.loads((small_model() / "embedder.json").read_text())
    (folder / "embedder.json").write_text(json.dumps({**told, **changes}))


def replace(path: Path, change: Callable[[bytes], bytes]) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(change(content))


def refusal(act: Callable[[], object], kind: type[SteeltrapError] = InvalidInput) -> str:
    with pytest.raises(kind) as raised:
        act()
    return str(raised.value.message)


# Its vectors


def test_a_vector_is_the_mean_over_the_tokens_behind_the_prefix_and_has_length_one(shared: OnnxEmbedder) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(small_model() / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(small_model() / "tokenizer.json"))
    long = "The harbour was quiet before sunrise. " * 60
    for purpose, prefix, text in (
        ("query", "query: ", "Where does Ana live?"),
        ("document", "passage: ", "Ana moved to Lisbon."),
        ("document", "passage: ", long),
    ):
        tokenizer.enable_truncation(256)
        ids = np.array([tokenizer.encode(prefix + text).ids])
        assert ids.shape[1] <= 256
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, inputs)[0][0].mean(axis=0)
        [vector] = shared.embed([text], purpose=purpose, timeout=30)  # type: ignore[arg-type]
        np.testing.assert_allclose(np.frombuffer(vector, "<f4"), mean / np.linalg.norm(mean), atol=1e-5)
    ends = shared.embed([long, long + "A dragon landed."], purpose="document", timeout=30)
    assert ends[0] == ends[1], "what lies behind 256 tokens has no say"


def test_a_vector_is_the_same_to_the_bit_whatever_it_is_embedded_beside(shared: OnnxEmbedder) -> None:
    # An 8-bit model takes its scale from the batch: beside an unusual text the cosine to itself falls to 0.998.
    text = "She moved to Oslo for a job at the aquarium."
    [alone] = shared.embed([text], purpose="document", timeout=30)
    crowd = ["🫖 7 7 7 flux", "x", text, "zebra " * 300, "東京", text]
    made = shared.embed(crowd, purpose="document", timeout=30)
    assert made[2] == made[5] == alone


def test_pooling_by_the_first_token_takes_the_first(bare: Path, shared: OnnxEmbedder) -> None:
    first = onnx.open_model(bare, adding.to_description({"name": "x", "pooling": "first", **PREFIXES}, ""))
    states = first.hidden(first.tokenizer.encode("passage: tea").ids)
    expected = states[0] / np.linalg.norm(states[0])
    np.testing.assert_allclose(np.frombuffer(first.vector("tea", "document"), "<f4"), expected, atol=1e-6)


def test_the_settings_choose_it(monkeypatch: pytest.MonkeyPatch, shared: OnnxEmbedder) -> None:
    folder = open_embedder(
        read_settings({"STEELTRAP_EMBEDDER": "onnx", "STEELTRAP_EMBEDDER_MODEL": str(small_model())})
    )
    assert (folder.name, folder.dimension, folder.unrelated) == (shared.name, 384, shared.unrelated)
    given = {"STEELTRAP_EMBEDDER": "onnx", "STEELTRAP_EMBEDDER_MODEL": str(small_model())}
    assert open_embedder(read_settings({**given, "STEELTRAP_EMBEDDER_UNRELATED": "0.5"})).unrelated == 0.5
    said = refusal(lambda: open_embedder(read_settings({"STEELTRAP_EMBEDDER": "onnx"})))
    assert "STEELTRAP_EMBEDDER_MODEL" in said


# How it behaves in a process


def test_nothing_is_imported_before_the_first_text_and_no_thread_is_left_behind_that_reports_or_forbids_a_fork() -> (
    None
):
    script = (
        "import os, sys, threading\n"
        "from pathlib import Path\n"
        "from steeltrap.embedders.onnx import OnnxEmbedder\n"
        f"embedder = OnnxEmbedder(Path({str(small_model())!r}))\n"
        "assert not {'numpy', 'tokenizers', 'onnxruntime'} & set(sys.modules)\n"
        "embedder.embed(['tea'], purpose='query', timeout=30)\n"
        "threads = len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 1\n"
        "embed = lambda: embedder.embed(['tea', '', 'coffee'] * 10, purpose='query', timeout=30)\n"
        "before = embed()\n"
        "[thread.join() for thread in threading.enumerate() if thread is not threading.main_thread()]\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if embed() == before else 1)\n"
        "print(threads, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    quiet = ("CI", "ORT_DISABLE_TELEMETRY")  # with either set, the library reports nothing by itself
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, env=environment, check=False
    )
    assert (done.stdout.split(), done.stderr.decode()) == ([b"1", b"0"], "")


def test_many_texts_take_no_more_threads_than_there_are_processors_and_four_at_most(
    shared: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = Thread.start

    def counted(thread: Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(Thread, "start", counted)
    shared.embed(["tea"], purpose="query", timeout=30)
    assert started == [], "a query waits for no thread"
    shared.embed([f"tea {n}" for n in range(100)], purpose="document", timeout=30)
    assert 1 <= len(started) <= min(4, os.cpu_count() or 1)


def test_texts_that_outlast_the_timeout_are_given_up(shared: OnnxEmbedder) -> None:
    texts = [f"The kettle number {n} is on. " * 30 for n in range(400)]
    said = refusal(lambda: shared.embed(texts, purpose="document", timeout=0.05), Unavailable)
    assert said == "Embedding 400 texts takes longer than 0.05 s; send fewer at a time."
    assert refusal(lambda: shared.embed(["tea"], purpose="query", timeout=0), Unavailable)


def test_a_call_does_not_wait_longer_than_it_may_for_a_model_that_another_call_loads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = OnnxEmbedder(small_model())
    begun, over = Barrier(2), Barrier(2)

    def slow(*_: object) -> Any:
        begun.wait(30)
        over.wait(30)
        return real(*_)  # type: ignore[arg-type]

    real = onnx.open_model
    monkeypatch.setattr(onnx, "open_model", slow)
    loading = Thread(target=embedder.load)
    loading.start()
    begun.wait(30)
    said = refusal(lambda: embedder.embed(["tea"], purpose="query", timeout=0.01), Unavailable)
    over.wait(30)
    loading.join()
    assert "still being loaded" in said
    assert len(embedder.embed(["tea"], purpose="query", timeout=30)) == 1


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_missing_packages_say_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OnnxEmbedder(small_model())
    monkeypatch.setitem(sys.modules, package, None)
    said = refusal(embedder.load, Unavailable)
    assert said.startswith(f"{package} is not installed: run `pip install onnxruntime tokenizers`")


# Folders that something is wrong with


def test_adding_a_folder_writes_checksums_dimension_and_levels_once(bare: Path, shared: OnnxEmbedder) -> None:
    assert "embedder add" in refusal(lambda: OnnxEmbedder(bare))
    added = adding.add(bare, {**PREFIXES, "name": "small-4", "pooling": None})
    told = json.loads((small_model() / "embedder.json").read_text())
    assert {**added.model_dump(), **levels(told)} == told, "the description that ships is what adding writes"
    # Its level of unrelated texts was measured on whole conversations: a little higher than that of 60 texts.
    assert levels(added.model_dump()) == pytest.approx(levels(told), abs=0.03)
    again = OnnxEmbedder(bare)
    assert again.name == shared.name
    assert again.embed(["tea"], purpose="query", timeout=30) == shared.embed(["tea"], purpose="query", timeout=30)
    assert adding.add(bare, {}) == added, "adding again changes nothing"


def levels(told: dict[str, Any]) -> dict[str, float]:
    return {name: told[name] for name in told if name in LEVELS}


LEVELS = ("unrelated", "unrelated_japanese", "novel", "slope")


def test_whatever_changes_the_vectors_changes_the_name(bare: Path) -> None:
    names = []
    for changes in (
        {},
        {"query_prefix": "q: "},
        {"pooling": "first"},
        {"longest_tokens": 128},
        {"model_sha256": "0" * 64},
    ):
        describe(bare, **changes)
        names.append(OnnxEmbedder(bare).name)
    assert len(set(names)) == 5
    describe(bare, unrelated=0.5)
    assert OnnxEmbedder(bare).name == names[0]


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_refused_by_its_checksum(bare: Path, damaged: str) -> None:
    describe(bare)
    replace(bare / damaged, lambda content: content[:-100] + bytes(100))
    said = refusal(lambda: adding.add(bare, {}))
    assert damaged in said
    assert "download it again" in said
    failed = refusal(OnnxEmbedder(bare).load, Unavailable)
    assert failed == said
    assert str(bare) not in failed


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_refused_by_its_name(bare: Path, missing: str) -> None:
    describe(bare)
    (bare / missing).unlink()
    for act in (lambda: adding.add(bare, {}), lambda: OnnxEmbedder(bare)):
        assert f"has no {missing}: download it" in refusal(act)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for act in (lambda: adding.add(tmp_path / "no", {}), lambda: OnnxEmbedder(tmp_path / "no")):
        assert f"There is no folder {tmp_path / 'no'}" in refusal(act)


@pytest.mark.parametrize("content", [b"", b"\x08\x07not a model", b"<html>404</html>"])
def test_what_is_no_model_is_refused(bare: Path, content: bytes) -> None:
    replace(bare / "model.onnx", lambda _: content)
    assert "model.onnx can't be opened" in refusal(lambda: adding.add(bare, {}))


def test_a_model_in_two_files_is_refused_because_one_checksum_covers_one_file(bare: Path) -> None:
    (bare / "model.onnx_data").write_bytes(b"weights")
    assert "model.onnx_data" in refusal(lambda: adding.add(bare, {}))


def test_what_is_no_tokenizer_is_refused(bare: Path) -> None:
    replace(bare / "tokenizer.json", lambda _: b'{"version": "1.0"}')
    assert "tokenizer.json can't be read" in refusal(lambda: adding.add(bare, {}))


def test_a_description_that_lies_about_the_dimension_is_refused(bare: Path) -> None:
    describe(bare, dimension=512)
    assert "says 512 dimensions, but the model answers 384" in refusal(lambda: adding.add(bare, {}))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ("[]", "embedder.json"),
        ('{"name": "x", "pooling": "max"}', "pooling"),
        ('{"name": "x", "poling": "mean"}', "poling"),
        ('{"name": "x", "model_sha256": "abc"}', "model_sha256"),
        ('{"name": "../x"}', "name"),
    ],
)
def test_a_description_that_is_not_right_is_refused_by_its_field(bare: Path, text: str, named: str) -> None:
    (bare / "embedder.json").write_text(text)
    for act in (lambda: adding.add(bare, {}), lambda: OnnxEmbedder(bare)):
        said = refusal(act)
        assert named in said
        assert "embedder.json" in said


def test_a_tokenizer_with_more_pieces_or_far_fewer_is_of_another_model(bare: Path) -> None:
    def more(content: bytes) -> bytes:
        told = json.loads(content)
        told["model"]["vocab"]["flumadiddle"] = 30_522
        return json.dumps(told).encode()

    def fewer(content: bytes) -> bytes:
        told = json.loads(content)
        told["model"]["vocab"] = {piece: id for piece, id in told["model"]["vocab"].items() if id < 20_000}
        return json.dumps(told).encode()

    original = (bare / "tokenizer.json").read_bytes()
    for change, pieces, known in ((more, "30,523", "fewer"), (fewer, "20,000", "many more")):
        replace(bare / "tokenizer.json", lambda _, change=change: change(original))  # type: ignore[misc]
        said = refusal(lambda: adding.add(bare, {}))
        assert f"{pieces} pieces, and the model knows {known}" in said
        assert "tokenizer of another model" in said


def test_a_tokenizer_of_the_same_size_for_another_model_is_found_by_vectors_without_sense(bare: Path) -> None:
    def shuffled(content: bytes) -> bytes:
        told = json.loads(content)
        pieces = [piece for piece in told["model"]["vocab"] if not piece.startswith("[")]
        ids = [told["model"]["vocab"][piece] for piece in pieces]
        random.Random(7).shuffle(ids)
        told["model"]["vocab"] |= dict(zip(pieces, ids, strict=True))
        return json.dumps(told).encode()

    replace(bare / "tokenizer.json", shuffled)
    assert "The vectors make no sense" in refusal(lambda: adding.add(bare, {}))


def test_texts_longer_than_the_model_takes_are_refused_when_it_is_added(bare: Path) -> None:
    assert "--longest-tokens" in refusal(lambda: adding.add(bare, {"longest_tokens": 1024}))


def test_inputs_that_nobody_fills_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def get_inputs(self) -> list[Any]:
            return [type("Input", (), {"name": name, "type": kind}) for name, kind in given]

    for given in (
        [("pixel_values", "tensor(float)")],
        [("input_ids", "tensor(float)")],
        [("input_ids", "tensor(int64)"), ("position_ids", "tensor(int64)")],
    ):
        assert given[-1][0] in refusal(lambda: onnx._types(Session()))  # type: ignore[arg-type]
    given = [("input_ids", "tensor(int32)")]
    assert onnx._types(Session()) == {"input_ids": "int32"}  # type: ignore[arg-type]


def test_a_model_that_answers_no_numbers_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = OnnxEmbedder(small_model())
    embedder.load()
    monkeypatch.setattr(onnx.Model, "hidden", lambda self, ids: np.full((len(ids), 384), np.nan, np.float32))
    assert "no finite numbers" in refusal(lambda: embedder.embed(["tea"], purpose="query", timeout=5), Unavailable)

    def fail(*_: object) -> Any:
        raise RuntimeError("tea")

    monkeypatch.setattr(onnx.Model, "hidden", fail)
    assert "tea" not in refusal(lambda: embedder.embed(["tea"], purpose="query", timeout=5), Unavailable)


def test_a_description_is_written_whole_or_not_at_all(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(bare)
    before = (bare / "embedder.json").read_text()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(onnx.os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        adding.add(bare, {"name": "other"})
    assert (bare / "embedder.json").read_text() == before


class TestOnnx(EmbedderContract):
    pass
