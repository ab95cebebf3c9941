"""The one text analysis: what a text is found by, the same for storage and for queries.

Case and accents are folded (NFKC, then combining marks dropped, then letters such as ø and ł, whose stroke is no mark),
words are stemmed by Snowball, English and Spanish stop words go, and Chinese, Japanese and Korean runs, which have no
spaces, become single characters and pairs. Stores receive these tokens and index them as they are; a query asks for the
same ones, without those that nearly every Japanese sentence has.
"""

import re
import threading
import unicodedata
from hashlib import blake2b
from typing import Final

import Stemmer

from .normalisation import JOINER, normalised

# Without the middle dot, which parts words; with the marks that stand in for a character, as in 人々 and 〆切.
_CJK: Final = (
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN: Final = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_KANA: Final = re.compile("[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff]")
_CONTRACTION: Final = re.compile(r"(?<=\w)['\u2019](?:s|t|d|m|ll|re|ve)\b")

_NAMED_LETTER: Final = re.compile(r"LATIN SMALL LETTER ([A-Z])(?: WITH .*)?")


def _base_letters() -> dict[int, str]:
    """Unicode names the base of a letter that it doesn't decompose: LATIN SMALL LETTER O WITH STROKE. The others are as
    in CLDR's transliteration from Latin to ASCII."""
    others = {"æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ŋ": "n", "ı": "i", "ĸ": "q", "ȷ": "j", "ß": "ss"}
    found = {ord(letter): plain for letter, plain in others.items()}
    for code in (0xF8, *range(0x100, 0x2B0)):
        letter = _NAMED_LETTER.fullmatch(unicodedata.name(chr(code), ""))
        if letter and not unicodedata.decomposition(chr(code)):
            found[code] = letter[1].lower()
    return found


_BASE_LETTERS: Final = _base_letters()

STOP_WORDS: Final = frozenset(
    """a about above after again against all am an and any are aren as at be because been before being
    below between both but by can cannot could couldn did didn do does doesn doing don down during each
    few for from further had hadn has hasn have haven having he her here hers herself him himself his how
    i if in into is isn it its itself just let me more most mustn my myself no nor not now of off on once
    only or other ought our ours ourselves out over own same shan she should shouldn so some such than
    that the their theirs them themselves then there these they this those through to too under until up
    very was wasn we were weren what when where which while who whom why will with won would wouldn you
    your yours yourself yourselves
    al como con cual cuando de del desde donde el ella ellos en entre es esa ese eso esta este esto estos
    ha hasta la las le les lo los mi mis muy ni nos o para pero por porque que quien se sin sobre su sus
    tambien te tu tus un una uno unos y ya yo""".split()
)

STOP_PAIRS: Final = frozenset(
    """です ます でし まし だっ した して すか ませ せん ない たい いる いた いて いま ある あり する され られ れる
    れま から まで ので のは のが のを のに には では とは とか でも ても てい った って んで たの すが くだ ださ さい
    こと もの これ それ あれ この その あの どこ どの どう どん いつ など""".split()
)
"""Pairs of Japanese characters that are grammar."""

_LONGEST_KEPT: Final = 64
"""Characters of the longest word whose stem is remembered."""
# One for all threads, since each keeps what it has met, up to 10,000 words: some 8 MB at the very most.
_stemmer: Final = Stemmer.Stemmer("english")
_forgetful: Final = Stemmer.Stemmer("english", 0)
_stemming: Final = threading.Lock()


def tokens(text: str) -> list[str]:
    """The analysed tokens of a text, in order, repeats kept; [] when nothing in it can be searched for.

    A text of stop words alone keeps them, so that "The Who" can be found.
    """
    words: list[str] = []
    pairs: list[str] = []
    folded = fold_letters(fold_case(text))
    if "'" in folded or "\u2019" in folded:
        folded = _CONTRACTION.sub("", folded)
    for run in _RUN.findall(folded):
        if _is_cjk(run[0]):
            pairs.extend(run)
            pairs.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            words.append(run)
    kept = [word for word in words if word not in STOP_WORDS]
    if not kept and not pairs:
        kept = words
    return _stem(kept) + pairs


def query_tokens(text: str) -> list[str]:
    """The tokens that a query asks for: those of its text, but of a longer run of Japanese no single kana,
    since the pairs say it, and no pair that is grammar; all of them when nothing else is left.

    Otherwise "明日の天気" would find every text that has "の".
    """
    found = tokens(text)
    pairs = {token for token in found if len(token) == 2 and _is_cjk(token[0])}
    covered = {char for pair in pairs for char in pair if _KANA.match(char)}
    return [token for token in found if token not in covered and token not in STOP_PAIRS] or found


def fold_case(text: str) -> str:
    """Lower case without accents, compatibility forms unified: "Ｃａｆé" and "CAFE" become "cafe"."""
    if text.isascii():
        return text.lower()
    # Case last: compatibility forms such as "\u2122" come apart into capitals.
    decomposed = normalised("NFKD", normalised("NFKD", text).casefold())
    # Only the marks of European scripts: Japanese voicing marks tell words apart.
    bare = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    return normalised("NFKC", bare).replace(JOINER, "")


def fold_letters(text: str) -> str:
    """A folded text with plain letters for those of Latin script that no normal form takes apart, such as ø and ł."""
    return text if text.isascii() else text.translate(_BASE_LETTERS)


def text_digest(text: str) -> bytes:
    """16 bytes that are equal for equal normalised texts: NFKC, case-folded, white space collapsed."""
    folded = text.lower() if text.isascii() else normalised("NFKC", text).casefold()
    return blake2b(" ".join(folded.split()).encode(), digest_size=16).digest()


def _is_cjk(char: str) -> bool:
    return char >= "\u3005" and re.match(f"[{_CJK}]", char) is not None


def _stem(words: list[str]) -> list[str]:
    if all(len(word) <= _LONGEST_KEPT for word in words):
        with _stemming:
            return list(_stemmer.stemWords(words))
    with _stemming:
        return [(_stemmer if len(word) <= _LONGEST_KEPT else _forgetful).stemWord(word) for word in words]
