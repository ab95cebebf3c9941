"""fastembed: small transformer models by ONNX, on this machine; the first use downloads the model."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Literal

from ...errors import Unavailable
from ...model import Embedding
from ...rules.vectors import unit_vector
from .calibration import Calibrated, Calibration
from .vectors import placed, worded

if TYPE_CHECKING:
    from fastembed import TextEmbedding

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"
BATCH: Final = 32
"""Texts between two looks at the clock: what runs inside ONNX can't be stopped."""

PATIENCE: Final = 60.0
"""Seconds for learning the model's size and levels when they are read before anything was embedded."""


class FastEmbedEmbedder(Calibrated):
    """Embeds by a model that fastembed knows; an empty `model` is `DEFAULT_MODEL`.

    The model is loaded at the first text, behind the call's back: when loading or downloading outlasts the
    timeout the call fails, and a later one finds the model there. What isn't given of `dimension` and
    the levels is learned from the first call. Threads take turns, ONNX uses every core by itself.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        dimension: int = 0,
        unrelated: float | None = None,
        unrelated_japanese: float | None = None,
        novel: float | None = None,
        slope: float | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model or DEFAULT_MODEL
        self.name = f"fastembed/{self._model}"
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        super().__init__(
            Calibration(
                dimension=dimension,
                unrelated=unrelated,
                unrelated_japanese=unrelated_japanese,
                novel=novel,
                slope=slope,
            )
        )
        self._monotonic = monotonic
        self._starting = Lock()
        self._turn = Lock()
        self._loading: Future[TextEmbedding] | None = None

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order. Raises Unavailable when the model isn't there (yet), fails, or
        takes longer than `timeout`, looked at after each 32 texts."""
        if not texts:
            return []
        ends = self._monotonic() + timeout
        positions = worded(texts)
        self._learn(ends)
        vectors = self._vectors([texts[position] for position in positions], purpose, ends)
        return placed(vectors, positions, len(texts), self._calibration.dimension)

    def _calibrate(self) -> None:
        self._learn(self._monotonic() + PATIENCE)

    def _learn(self, ends: float) -> None:
        probes = self._calibration.probes()
        if probes:
            self._calibration.learn(self._vectors(probes, "document", ends))

    def _vectors(self, texts: Sequence[str], purpose: Literal["document", "query"], ends: float) -> list[Embedding]:
        model = self._loaded(ends)
        run = model.query_embed if purpose == "query" else model.passage_embed
        inputs = [self._prefixes[purpose] + text for text in texts]
        vectors: list[Embedding] = []
        with self._own_turn(ends):
            for start in range(0, len(inputs), BATCH):
                if self._monotonic() > ends:
                    raise _out_of_time()
                with _translated("can't embed these texts"):
                    vectors += [unit_vector(vector.tolist()) for vector in run(inputs[start : start + BATCH])]
        self._calibration.check(vectors)
        return vectors

    @contextmanager
    def _own_turn(self, ends: float) -> Iterator[None]:
        # One at a time: some models keep the task at hand in themselves.
        if not self._turn.acquire(timeout=max(0.0, ends - self._monotonic())):
            raise _out_of_time()
        try:
            yield
        finally:
            self._turn.release()

    def _loaded(self, ends: float) -> "TextEmbedding":
        with self._starting:
            if self._loading is None or (self._loading.done() and self._loading.exception()):
                self._loading = Future()
                Thread(target=_load, args=(self._model, self._loading), daemon=True).start()
            loading = self._loading
        try:
            return loading.result(timeout=max(0.0, ends - self._monotonic()))
        except TimeoutError:
            raise Unavailable(
                f"The model {self._model} is still being loaded, and downloaded if this is its first use; "
                "try again in a minute.",
                part="embedder",
            ) from None


def _load(model: str, loading: "Future[TextEmbedding]") -> None:
    try:
        loading.set_result(_open(model))
    except BaseException as error:
        loading.set_exception(error)


def _open(model: str) -> "TextEmbedding":
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise Unavailable(
            'fastembed is not installed: run `pip install "steeltrap[fastembed]"`, or choose another '
            "STEELTRAP_EMBEDDER.",
            part="embedder",
        ) from error
    with _translated(
        f"can't load the model {model}: check its name in STEELTRAP_EMBEDDER_MODEL, and connect to the "
        "internet once so that it can be downloaded, or point FASTEMBED_CACHE_PATH at a folder that has it"
    ):
        return TextEmbedding(model_name=model)


@contextmanager
def _translated(failure: str) -> Iterator[None]:
    """The one way out for what fastembed raises: bare ValueError, and whatever its three libraries do."""
    try:
        yield
    except Exception as error:
        raise Unavailable(f"fastembed {failure}.", part="embedder") from error


def _out_of_time() -> Unavailable:
    return Unavailable("Embedding takes longer than this call may; send fewer texts.", part="embedder")
