"""The folder of small-4: model.onnx, tokenizer.json, and embedder.json, which says how they are used."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
