"""A folder with a model in ONNX, its tokenizer, and a description of how both are used and what its cosines mean."""

import json
import os
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import InvalidInput

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
DESCRIPTION: Final = "embedder.json"
_ADD: Final = "run `steeltrap embedder add FOLDER`"
_BLOCK: Final = 1 << 20

Checksum = Field(None, pattern="^[0-9a-f]{64}$")
Level = Field(None, ge=0, lt=1)


class Description(BaseModel):
    """What `embedder.json` says. `steeltrap embedder add` measures whatever is None, and writes it down.

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


def read(folder: Path) -> Description:
    """The description of a folder that was added. Raises InvalidInput for any other."""
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}: STEELTRAP_EMBEDDER_MODEL must name the folder of the model.")
    described = find(folder)
    if described is None or None in described.model_dump().values():
        raise InvalidInput(f"The folder {folder} was not added yet: {_ADD} once.")
    for name in (MODEL, TOKENIZER):
        require(folder, name)
    return described


def find(folder: Path) -> Description | None:
    """What the folder's description says; None without one. Raises InvalidInput for one that isn't right."""
    path = folder / DESCRIPTION
    if not path.exists():
        return None
    try:
        return described(json.loads(path.read_text("utf-8")), DESCRIPTION)
    except ValueError:
        raise InvalidInput(f"{DESCRIPTION} is not JSON: correct it, or delete it and {_ADD}.") from None


def described(values: Any, source: str) -> Description:
    """A description of these values. Raises InvalidInput, which names the source."""
    try:
        return Description.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the whole"
        raise InvalidInput(f"{source}: {field}: {first['msg']}. Correct it, or delete {DESCRIPTION}.") from None


def require(folder: Path, name: str) -> Path:
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


def check(recorded: Mapping[str, str | None], found: Mapping[str, str]) -> None:
    """Compare checksums by file name; None is recorded of a file that was never added. Raises InvalidInput."""
    for name, sum in found.items():
        if recorded[name] not in (None, sum):
            raise InvalidInput(
                f"{name} is not the file that {DESCRIPTION} describes: its checksum differs. Copy or download it "
                f"again; if you replaced the model on purpose, delete {DESCRIPTION} and {_ADD}."
            )


def checksums(described: Description) -> dict[str, str | None]:
    """The checksums that a description records, by file name."""
    return {MODEL: described.model_sha256, TOKENIZER: described.tokenizer_sha256}


def write(folder: Path, described: Description) -> None:
    """Put a description in place of an earlier one, whole or not at all."""
    beside = folder / f"{DESCRIPTION}.new"
    beside.write_text(json.dumps(described.model_dump(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(beside, folder / DESCRIPTION)
