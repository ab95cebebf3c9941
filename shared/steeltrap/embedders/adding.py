"""Adding a model's folder: everything that could be wrong with it is found here, once, and its levels are measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from ..errors import InvalidInput
from ..text.vectors import cosine
from .calibration import CALIBRATION_TEXTS, HIGHEST, Calibration
from .onnx import (
    DESCRIPTION,
    MODEL,
    TOKENIZER,
    Description,
    Model,
    check_files,
    checksum,
    find_description,
    open_model,
    recorded_checksums,
    require_file,
    to_description,
    write_description,
)

_SPARE_ROWS: Final = 1024
"""Rows that a model may have beyond its tokenizer's pieces: some tables are filled up to a round number."""

_REWORDED: Final = {
    "English": (
        ("The kitten naps upon a couch.", "My cat is sleeping on the sofa."),
        ("He purchased an automobile.", "They bought a car yesterday."),
        ("Physicians treat illness in hospitals.", "A doctor heals sick people at the clinic."),
        ("It rained heavily last evening.", "There was a storm with lots of water at night."),
        ("Her infant began to cry.", "Their baby was weeping."),
        ("The software crashed.", "A computer program stopped with an error."),
    ),
    "Japanese": (
        ("子猫がソファーで眠っています。", "うちのネコはカウチで寝ている。"),
        ("彼は自動車を購入した。", "昨日、車を買いました。"),
        ("医師が病院で患者を診る。", "クリニックのお医者さんは病気の人を治します。"),
        ("昨夜は大雨でした。", "きのうの晩、雨がひどく降った。"),
        ("赤ん坊が泣き出した。", "ベビーが涙を流している。"),
        ("ソフトウェアが異常終了した。", "プログラムがエラーで止まりました。"),
    ),
}
"""Pairs that say the same in other words: with a wrong tokenizer the two don't lie near each other."""
_LEAST_TOLD: Final = 4
"""Pairs, of a language's six, that a model must tell: one that knows it tells at least five, a wrong tokenizer one or
two."""


def add(folder: Path, options: Mapping[str, Any]) -> Description:
    """Check a folder, measure what its description leaves open, and write it; `options` replace what it says.

    Raises InvalidInput with what is wrong and what to do, Unavailable without the packages.
    """
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}.")
    paths = {name: require_file(folder, name) for name in (MODEL, TOKENIZER)}
    if beside := sorted(path.name for path in folder.glob(f"{MODEL}[._]*")):
        raise InvalidInput(
            f"A part of the model is in {beside[0]}, which no checksum would cover: export the model as one file."
        )
    current = find_description(folder) or to_description({"name": _name(folder)}, "--name")
    description = to_description(
        current.model_dump() | {name: value for name, value in options.items() if value is not None}, DESCRIPTION
    )
    sums = {name: checksum(path) for name, path in paths.items()}
    check_files(recorded_checksums(current), sums)
    model = open_model(folder, description)
    dimension = _dimension(model)
    if description.dimension not in (None, dimension):
        raise InvalidInput(
            f"{DESCRIPTION} says {description.dimension} dimensions, but the model answers {dimension}: correct the "
            "number, or download the model that belongs to the description."
        )
    _check_tokenizer(model)
    _check_meaning(model)
    calibration = Calibration(dimension=dimension, unrelated=_unrelated(model))
    calibration.learn(model.vectors(calibration.probes(), "document"))
    levels = {name: getattr(calibration, name) for name in ("unrelated", "unrelated_japanese", "novel", "slope")}
    measured = {name: round(level, 4) for name, level in levels.items()}
    final = description.model_copy(
        update={"dimension": dimension, "model_sha256": sums[MODEL], "tokenizer_sha256": sums[TOKENIZER], **measured}
    )
    write_description(folder, final)
    return final


def _name(folder: Path) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in folder.resolve().name).strip(
        "._-"
    )


def _dimension(model: Model) -> int:
    """Numbers per token, by a text as long as texts may get. Raises InvalidInput."""
    ids = model.tokenizer.encode("word " * model.described.longest_tokens).ids
    try:
        states = model.hidden(ids)
    except Exception as error:
        raise InvalidInput(
            f"The model can't read {len(ids)} tokens: pass a smaller --longest-tokens, or export it without fixed "
            "lengths."
        ) from error
    if states.ndim != 2 or len(states) != len(ids):
        raise InvalidInput(
            f"The first output of {MODEL} must be the hidden state of each token (batch, tokens, dimensions). Export "
            "the model for feature extraction."
        )
    return int(states.shape[1])


def _check_tokenizer(model: Model) -> None:
    """Compare the tokenizer's pieces with the rows that the model has for them. Raises InvalidInput."""
    pieces = max(model.tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    if not _has_row(model, pieces - 1) or _has_row(model, pieces + _SPARE_ROWS):
        few = "fewer" if not _has_row(model, pieces - 1) else "many more"
        raise InvalidInput(
            f"{TOKENIZER} has {pieces:,} pieces, and the model knows {few}: it is the tokenizer of another model. "
            "Download both files from the same place."
        )


def _has_row(model: Model, id: int) -> bool:
    try:
        model.hidden([id])
    except Exception:
        return False
    return True


def _check_meaning(model: Model) -> None:
    """Raises InvalidInput for a model that puts apart what says the same."""
    scores = {language: _nearest_count(model, pairs) for language, pairs in _REWORDED.items()}
    if max(scores.values()) < _LEAST_TOLD:
        raise InvalidInput(
            f"The vectors make no sense: of {len(_REWORDED['English'])} pairs of sentences that say the same, the "
            f"model finds {max(scores.values())}. Check that {TOKENIZER} belongs to {MODEL}, and --pooling and the "
            "prefixes against the model's card."
        )


def _unrelated(model: Model) -> float:
    """The median cosine between texts as queries and other texts as documents, which is what a search compares.

    With prefixes it lies lower than that between documents: 0.75 against 0.79, where real conversations have 0.75.
    """
    queries, documents = (model.vectors(CALIBRATION_TEXTS, way) for way in ("query", "document"))
    pairs = ((one, other) for i, one in enumerate(queries) for j, other in enumerate(documents) if i != j)
    return min(HIGHEST, max(0.0, median(cosine(*pair) for pair in pairs)))


def _nearest_count(model: Model, pairs: Sequence[tuple[str, str]]) -> int:
    """How many sentences lie nearest to their own rewording."""
    ones = model.vectors([one for one, _ in pairs], "document")
    others = model.vectors([other for _, other in pairs], "document")
    nearest = [max(range(len(others)), key=lambda at: cosine(one, others[at])) for one in ones]
    return sum(at == place for at, place in enumerate(nearest))
