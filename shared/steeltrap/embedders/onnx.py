"""Transformer models by ONNX Runtime, on this machine, from a folder that `steeltrap embedder add` described.

Each text goes through the model alone. An 8-bit model takes the scale of its numbers from the whole batch, so that a
text's vector would depend on what is embedded beside it. Several texts share the processors instead.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b, sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InvalidInput, Unavailable
from ..model import Embedding
from . import nonblank_positions, out_of_time, restore_positions
from .remote import BoundedThreadPool, OutOfTime

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
DESCRIPTION: Final = "embedder.json"
_ADD: Final = "run `steeltrap embedder add FOLDER`"
_BLOCK: Final = 1 << 20

Checksum = Field(None, pattern="^[0-9a-f]{64}$")
Level = Field(None, ge=0, lt=1)


class Description(BaseModel):
    """The content of `embedder.json`. `steeltrap embedder add` measures whatever is None, and writes it down.

    Texts of more than `longest_tokens` are cut. The levels are those of `ports.Scale`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Literal["mean", "first"] = "mean"
    longest_tokens: int = Field(256, ge=16, le=8192)
    dimension: int | None = Field(None, ge=1, le=8192)
    model_sha256: str | None = Checksum
    tokenizer_sha256: str | None = Checksum
    unrelated: float | None = Level
    unrelated_japanese: float | None = Level
    novel: float | None = Level
    slope: float | None = Level

    @property
    def identity(self) -> str:
        """A name that changes with everything that the vectors depend on."""
        made_by = self.model_dump(exclude={"name", "dimension", "unrelated", "unrelated_japanese", "novel", "slope"})
        digest = blake2b(json.dumps(made_by, sort_keys=True).encode(), digest_size=4).hexdigest()
        return f"onnx/{self.name}-{digest}"


def read_description(folder: Path) -> Description:
    """The description of a folder that was added. Raises InvalidInput for any other."""
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}: STEELTRAP_EMBEDDER_MODEL must name the folder of the model.")
    described = find_description(folder)
    if described is None or None in described.model_dump().values():
        raise InvalidInput(f"The folder {folder} was not added yet: {_ADD} once.")
    for name in (MODEL, TOKENIZER):
        require_file(folder, name)
    return described


def find_description(folder: Path) -> Description | None:
    """The folder's description; None without one. Raises InvalidInput for one that isn't right."""
    path = folder / DESCRIPTION
    if not path.exists():
        return None
    try:
        return to_description(json.loads(path.read_text("utf-8")), DESCRIPTION)
    except ValueError:
        raise InvalidInput(f"{DESCRIPTION} is not JSON: correct it, or delete it and {_ADD}.") from None


def to_description(values: Any, source: str) -> Description:
    """A description of these values. Raises InvalidInput, which names the source."""
    try:
        return Description.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the whole"
        raise InvalidInput(f"{source}: {field}: {first['msg']}. Correct it, or delete {DESCRIPTION}.") from None


def require_file(folder: Path, name: str) -> Path:
    """The path of a file that must be there. Raises InvalidInput."""
    path = folder / name
    if not path.is_file():
        raise InvalidInput(f"{folder} has no {name}: download it from the same place as the rest of the model.")
    return path


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = sha256()
    with path.open("rb") as file:
        for block in iter(partial(file.read, _BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


def check_files(recorded: Mapping[str, str | None], checksums: Mapping[str, str]) -> None:
    """Compare checksums by file name; None is recorded of a file that was never added. Raises InvalidInput."""
    for name, sum in checksums.items():
        if recorded[name] not in (None, sum):
            raise InvalidInput(
                f"{name} is not the file that {DESCRIPTION} describes: its checksum differs. Copy or download it "
                f"again; if you replaced the model on purpose, delete {DESCRIPTION} and {_ADD}."
            )


def recorded_checksums(described: Description) -> dict[str, str | None]:
    """The checksums that a description records, by file name."""
    return {MODEL: described.model_sha256, TOKENIZER: described.tokenizer_sha256}


def write_description(folder: Path, described: Description) -> None:
    """Put a description in place of an earlier one, whole or not at all."""
    beside = folder / f"{DESCRIPTION}.new"
    beside.write_text(json.dumps(described.model_dump(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(beside, folder / DESCRIPTION)


_LOAD_SECONDS: Final = 60.0
_SHARE: Final = 8
"""Texts that a thread takes at a time: what runs inside ONNX can't be stopped."""
_MOST_THREADS: Final = 4
_SILENT: Final = 4
_TYPES: Final = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")

Purpose = Literal["document", "query"]


class OnnxEmbedder:
    """Embeds by the model in a folder. `unrelated` None takes the level in its description.

    The model is loaded at the first text and shared by all threads. A single text is embedded in the caller's
    thread; several by at most 4 threads, or as many as there are processors. Raises InvalidInput for a folder that
    was not added.
    """

    def __init__(
        self, folder: Path, *, unrelated: float | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        described = read_description(folder)
        self.name = described.identity
        self.dimension = described.dimension or 0
        self.unrelated = (described.unrelated or 0.0) if unrelated is None else unrelated
        self.unrelated_japanese = described.unrelated_japanese or 0.0
        self.novel = described.novel or 0.0
        self.slope = described.slope or 0.0
        self._folder, self._described = folder, described
        self._monotonic = monotonic
        self._loading = Lock()
        self._model: Model | None = None
        self._pool: BoundedThreadPool[list[Embedding]] = BoundedThreadPool(min(_MOST_THREADS, os.cpu_count() or 1))

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Embedding]:
        """One embedding a text, in order; its neighbours have no say.

        Raises Unavailable when a package or a file is missing or damaged, and when it takes longer than `timeout`.
        """
        positions = nonblank_positions(texts)
        vectors = self._vectors([texts[position] for position in positions], purpose, timeout) if positions else []
        return restore_positions(vectors, positions, len(texts), self.dimension)

    def load(self) -> None:
        """Load the model now and not at the first text. Raises Unavailable."""
        self.embed(["load"], purpose="query", timeout=_LOAD_SECONDS)

    def _vectors(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> list[Embedding]:
        ends = self._monotonic() + timeout
        model = self._loaded(ends)
        seconds_left = ends - self._monotonic()
        if seconds_left <= 0:
            raise out_of_time(len(texts), timeout)
        if len(texts) == 1:
            return [model.vector(texts[0], purpose)]
        # The longest first, so that the threads end together.
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        shares = [order[at : at + _SHARE] for at in range(0, len(order), _SHARE)]
        tasks = [partial(model.vectors, [texts[at] for at in share], purpose) for share in shares]
        try:
            vectors_by_share = self._pool.run(tasks, seconds_left)
        except OutOfTime:
            raise out_of_time(len(texts), timeout) from None
        by_place = dict(zip(chain.from_iterable(shares), chain.from_iterable(vectors_by_share), strict=True))
        return [by_place[at] for at in range(len(texts))]

    def _loaded(self, ends: float) -> "Model":
        if self._model is None:
            if not self._loading.acquire(timeout=max(0.0, ends - self._monotonic())):
                raise Unavailable("The embedding model is still being loaded; try again.", part="embedder")
            try:
                self._model = self._model or self._checked()
            finally:
                self._loading.release()
        return self._model

    def _checked(self) -> "Model":
        try:
            checksums = {name: checksum(self._folder / name) for name in (MODEL, TOKENIZER)}
            check_files(recorded_checksums(self._described), checksums)
            return open_model(self._folder, self._described)
        except (InvalidInput, OSError) as error:
            message = (
                error.message if isinstance(error, InvalidInput) else "A file of the embedding model can't be read."
            )
            raise Unavailable(message, retryable=False, part="embedder") from error


@dataclass(frozen=True, slots=True)
class Model:
    """A tokenizer, a session, and how they are used."""

    tokenizer: "Tokenizer"
    session: "InferenceSession"
    run_options: Any
    types: dict[str, str]
    described: Description

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> list[Embedding]:
        """One embedding a text. Raises Unavailable."""
        return [self.vector(text, purpose) for text in texts]

    def vector(self, text: str, purpose: Purpose) -> Embedding:
        """The embedding of a text. Raises Unavailable."""
        import numpy as np

        prefix = self.described.query_prefix if purpose == "query" else self.described.document_prefix
        try:
            # One by one: the tokenizer's thread pool would warn in a process that forks.
            hidden = self.hidden(self.tokenizer.encode(prefix + text).ids)
        except Exception as error:
            # ONNX Runtime and tokenizers raise bare Exceptions, whose words may hold the text.
            raise Unavailable("The embedding model can't embed this text.", retryable=False, part="embedder") from error
        pooled = hidden.mean(axis=0) if self.described.pooling == "mean" else hidden[0]
        length = float(np.linalg.norm(pooled))
        if not np.isfinite(length) or not length:
            raise Unavailable("The embedding model answers no finite numbers.", retryable=False, part="embedder")
        unit: Embedding = (pooled / length).astype("<f4").tobytes()
        return unit

    def hidden(self, ids: Sequence[int]) -> Any:
        """The hidden state of each token, as a matrix."""
        import numpy as np

        fillings = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        inputs = {name: np.array([fillings[name]], kind) for name, kind in self.types.items()}
        [states] = self.session.run([self.session.get_outputs()[0].name], inputs, self.run_options)
        return states[0]


def open_model(folder: Path, described: Description) -> Model:
    """The model of a folder. Raises InvalidInput for one that can't be used, Unavailable without its packages."""
    # From 1.29 on it reports to its maker unless this is set before it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Unavailable(
            f"{error.name} is not installed: run `pip install onnxruntime tokenizers`, or choose another "
            "STEELTRAP_EMBEDDER.",
            retryable=False,
            part="embedder",
        ) from error
    onnxruntime.disable_telemetry_events()  # where the variable came too late, and on Windows
    options, run_options = onnxruntime.SessionOptions(), onnxruntime.RunOptions()
    # No threads of its own: they would spin, warn in a process that forks, and add up with each call.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = run_options.log_severity_level = _SILENT
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.enable_truncation(described.longest_tokens)
    except Exception as error:  # tokenizers raises it bare
        raise InvalidInput(f"{TOKENIZER} can't be read as a tokenizer: download it again.") from error
    try:
        session = onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no root of their own
        raise InvalidInput(f"{MODEL} can't be opened as an ONNX model: download or export it again.") from error
    return Model(tokenizer, session, run_options, _types(session), described)


def _types(session: "InferenceSession") -> dict[str, str]:
    """The inputs by name, and the type of their numbers. Raises InvalidInput for inputs that nobody can fill."""
    types = {each.name: each.type for each in session.get_inputs()}
    if "input_ids" not in types or not set(types) <= set(_INPUTS) or not set(types.values()) <= set(_TYPES):
        raise InvalidInput(
            f"{MODEL} takes {', '.join(f'{name} {kind}' for name, kind in types.items())}; it must take input_ids, and "
            "may take attention_mask and token_type_ids, all of whole numbers. Export the model for feature extraction."
        )
    return {name: _TYPES[kind] for name, kind in types.items()}
