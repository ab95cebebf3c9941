"""Makes `english_words.bin`, the words that are not corrected, from packages of PyPI.

    python -m venv venv && venv/bin/pip install -r requirements.txt ../.. && venv/bin/python english.py

The words are those of symspellpy's frequency dictionary and of the vocabulary of static-256, which is BERT's and knows
more names. Words that Spanish or German texts are full of are left out, since they tell that a question isn't English.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

from steeltrap.text import spelling

PACKAGE: Final = Path(__file__).parents[2] / "shared" / "steeltrap"
SHORTEST: Final = 3
SPANISH: Final = frozenset(
    """al como con cual cuando de del desde donde el ella ellos en entre es esa ese eso esta este esto estos ha hasta
    la las le les lo los mi mis muy ni nos o para pero por porque que quien se sin sobre su sus tambien te tu tus un una
    uno unos y ya yo""".split()
)
GERMAN: Final = frozenset(
    """auf bei das dem der des ein eine ich im ist kann mein mit nicht sind und unser von wann warum welche welcher
    welches wer wie wir wird wo zum zur""".split()
)


def main() -> None:
    dictionary = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    listed = {line.split()[0] for line in dictionary.read_text("utf-8-sig").splitlines()}
    pieces = (PACKAGE / "embedders" / "static_256" / "vocab.txt").read_text("utf-8").splitlines()
    words = (listed | set(pieces)) - SPANISH - GERMAN
    plain = (word for word in words if word.isascii() and word.isalpha() and len(word) >= SHORTEST)
    keys = sorted(set(map(spelling.key, plain)))
    (PACKAGE / "text" / "english_words.bin").write_bytes(b"".join(keys))
    print(f"{len(keys):,} stems")


if __name__ == "__main__":
    main()
