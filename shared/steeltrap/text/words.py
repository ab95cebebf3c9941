"""Words: Unicode forms in linear time, the one text analysis of storage and queries, and what is indexed of a memory.

Case and accents are folded (NFKC, then combining marks dropped, then letters such as ø and ł, whose stroke is no mark),
words are stemmed (in Cyrillic, Arabic, Hebrew and Devanagari by rules of their own, else as English, irregular forms
too), English and Spanish stop words go, and Chinese, Japanese and Korean runs, which have no spaces, become single
characters and pairs. Stores receive these tokens and index them as they are; a query asks for the same ones, without
those that nearly every Japanese sentence has.

Normalising sorts the combining marks after a letter, and Python does that in a time that grows with the square of
their number, while no other thread can run. UAX #15 names the remedy, the Stream-Safe Text Format: no more than 30
marks follow each other, and a joiner is put in after them. No ordinary text has as many. Pure.
"""

import re
import threading
import unicodedata
from collections.abc import Sequence, Set
from enum import IntFlag
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Final, Literal
from unicodedata import combining, normalize

import Stemmer

from ..model import Memory
from .dates import is_day, possible_days
from .patterns import lazy_pattern

MOST_MARKS: Final = 30
JOINER: Final = "\u034f"
"""COMBINING GRAPHEME JOINER: nothing is sorted or composed across it."""

# A letter in front may come apart into one with three marks, and one mark comes apart into two.
_MANY: Final = re.compile(rb"[^\0]{14}")
# These are no marks themselves and come apart into nothing else.
_HIDDEN: Final = lazy_pattern("[\u0f73\u0f75\u0f81\uff9e\uff9f]")


def normalised(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The normal form of a text; where it has more than 30 combining marks in a row, of its stream-safe form."""
    return normalize(form, stream_safe(text))


def stream_safe(text: str) -> str:
    """The text with a joiner wherever more than 30 combining marks would follow each other; nearly always itself."""
    if text.isascii() or not (_HIDDEN.search(text) or _MANY.search(bytes(map(combining, text)))):
        return text
    parts: list[str] = []
    marks = 0
    for char in text:
        leading, trailing = _marks(char)
        if marks + leading > MOST_MARKS:
            parts.append(JOINER)
            marks = 0
        parts.append(char)
        marks = marks + leading if trailing is None else trailing
    return "".join(parts)


@lru_cache(maxsize=4096)
def _marks(char: str) -> tuple[int, int | None]:
    """With how many marks a character begins and ends when it comes apart; it ends with None if that is all."""
    is_mark = [combining(part) > 0 for part in normalize("NFKD", char)]
    if all(is_mark):
        return len(is_mark), None
    return is_mark.index(False), is_mark[::-1].index(False)


# Without the middle dot, which parts words; with the marks that stand in for a character, as in 人々 and 〆切.
_CJK: Final = (
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_INDIC: Final = "\u0900-\u0963\u0966-\u0dff"
"""With the vowel signs, which are no letters, without the marks that end a sentence."""
_ASCII_RUN: Final = lazy_pattern("[A-Za-z0-9]+")
_KANA: Final = lazy_pattern("[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff]")
_CONTRACTION: Final = lazy_pattern(r"(?<=\w)['\u2019](?:s|t|d|m|ll|re|ve)\b")


@cache
def _any_run() -> re.Pattern[str]:
    """Words of any script. Compiled when the first text needs it: with this many characters that takes 10 ms, and most
    processes that start for one command meet none."""
    return re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]++(?:[{_INDIC}]++[^\\W_{_CJK}]*+)*+")


def _runs(folded: str) -> list[str]:
    """The words of a folded text, and its Chinese, Japanese and Korean runs."""
    parts: list[str] = (_ASCII_RUN if folded.isascii() else _any_run()).findall(folded)
    return parts


_NAMED_LETTER: Final = lazy_pattern(r"LATIN SMALL LETTER ([A-Z])(?: WITH .*)?")


def _base_letters() -> dict[int, str]:
    """Unicode names the base of a letter that it doesn't decompose: LATIN SMALL LETTER O WITH STROKE. The others are as
    in CLDR's transliteration from Latin to ASCII."""
    others = {"æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ŋ": "n", "ı": "i", "ĸ": "q", "ȷ": "j", "ß": "ss"}
    bases = {ord(letter): plain for letter, plain in others.items()}
    for code in (0xF8, *range(0x100, 0x2B0)):
        letter = _NAMED_LETTER.fullmatch(unicodedata.name(chr(code), ""))
        if letter and not unicodedata.decomposition(chr(code)):
            bases[code] = letter[1].lower()
    return bases


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
_russian: Final = Stemmer.Stemmer("russian")
_hindi: Final = Stemmer.Stemmer("hindi")
_stemming: Final = threading.Lock()

_UKRAINIAN: Final = lazy_pattern("[ієґ]")
_UKRAINIAN_ENDING: Final = lazy_pattern(
    "(?<=...)(?:ами|ями|ого|ому|ими|ій|оі|ою|ею|єю|ові|еві|ів|ах|ях|ам|ям|ом|ем|єм|им|их|уть|ють|ать|ять|ить"
    "|ає|ує|ти|ть|ла|ло|ли|ав|ив|[аеєиіоуюяйьв])$"
)
"""Folded words have і for ї."""
_CYRILLIC: Final = lazy_pattern("[\u0400-\u052f]+")
_ARABIC: Final = lazy_pattern("[\u0621-\u064a\u066e-\u06d3]+")
_DEVANAGARI: Final = lazy_pattern("[\u0900-\u097f]+")
_VOCALISED: Final = lazy_pattern("[\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Vowel points of Hebrew and Arabic, which are hardly ever written, and the Arabic line that stretches a word."""
_ARABIC_FORMS: Final = str.maketrans("أإآٱىةؤئ", "اااايهوي")
_ARABIC_BEFORE: Final = lazy_pattern("^(?:و?(?:[بكف]?ال|لل)(?=..))?(?:و(?=...))?")
"""Conjunction, preposition and article. An initial و always goes, so that a word has one stem with and without them."""
_ARABIC_ENDING: Final = lazy_pattern("(?<=..)(?:ها|ان|ات|ون|ين|يه|ه|ي)$")
_ARABIC_FEMININE: Final = lazy_pattern("(?<=...)ت$")
_HEBREW: Final = lazy_pattern("[\u05d0-\u05ea]+")
_HEBREW_BEFORE: Final = lazy_pattern("^[והבלכמש]+(?=...)")
"""Conjunction, article and prepositions, as many as leave three letters: also those that begin the word itself, so that
it has one stem with and without them."""
_HEBREW_ENDING: Final = lazy_pattern("(?<=...)(?:ים|ות|ה)$")
_HEBREW_LETTERS: Final = str.maketrans("ךםןףץ", "כמנפצ")
"""Letters that look otherwise at the end of a word."""


def tokens(text: str) -> list[str]:
    """The analysed tokens of a text, in order, repeats kept; [] when nothing in it can be searched for.

    A text of stop words alone keeps them, so that "The Who" can be found.
    """
    words: list[str] = []
    pairs: list[str] = []
    folded = fold_letters(fold_case(text))
    if not text.isascii():
        folded = _VOCALISED.sub("", folded)
    if "'" in folded or "\u2019" in folded:
        folded = _CONTRACTION.sub("", folded)
    for run in _runs(folded):
        if is_cjk(run[0]):
            pairs.extend(run)
            pairs.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            words.append(run)
    content_words = [word for word in words if word not in STOP_WORDS]
    if not content_words and not pairs:
        content_words = words
    return _stem([FORMS.get(word, word) for word in content_words]) + pairs


_INFLECTED: Final = frozenset(
    [before + last for before in "abcdefghijklmnopqrstuvwxyz0123456789" for last in "sey"]
    + "ed ng al ul ll on er or sm ic nt st li ti ci gi".split()
)
"""The last two letters of all English words that the stemmer changes."""


def ends_as_inflected(word: str) -> bool:
    """Whether the last letters of a folded word are those of words that the stemmer changes."""
    return word[-2:] in _INFLECTED


def with_tokens_in(words: Sequence[str], vocabulary: Set[str], *, ends_alike: bool = False) -> list[str]:
    """Those of some folded words whose token a vocabulary may have: all whose token it has, and some others. With
    `ends_alike` none of them ends as an inflected word does.

    A look at a word's last letters takes a sixth of the time of its stem. Not for CJK.
    """
    if not "".join(words).isascii():
        return list(words)
    if not ends_alike:
        return [word for word in words if word in vocabulary or word[-2:] in _INFLECTED or word in FORMS]
    if vocabulary.isdisjoint(words) and FORMS.keys().isdisjoint(words):
        return []
    return [word for word in words if word in vocabulary or word in FORMS]


def word_tokens(words: Sequence[str]) -> list[str]:
    """The token of each folded word, as `tokens` has it for a text of this word alone. Not for CJK."""
    # Nobody has most of them: a stemmer that remembers words would forget those of texts.
    return _stem(list(map(FORMS.get, words, words)), _forgetful)


def runs(text: str) -> list[str]:
    """The folded words of a text in order, stop words and all and not stemmed, each character of a Chinese, Japanese or
    Korean run by itself."""
    parts = _runs(fold_letters(fold_case(text)))
    return [part for run in parts for part in (run if is_cjk(run[0]) else (run,))]


def query_tokens(text: str) -> list[str]:
    """The tokens that a query asks for: those of its text. Of a longer run of Japanese, single kana are left out, since
    the pairs cover them, and so are pairs that are grammar; if nothing else is left, all tokens count.

    Otherwise "明日の天気" would find every text that has "の".
    """
    all_tokens = tokens(text)
    pairs = {token for token in all_tokens if len(token) == 2 and is_cjk(token[0])}
    covered = {char for pair in pairs for char in pair if _KANA.match(char)}
    return [token for token in all_tokens if token not in covered and token not in STOP_PAIRS] or all_tokens


# Only the marks of European scripts: Japanese voicing marks tell words apart. The breve of й stays: it is a letter.
_ACCENT: Final = lazy_pattern("[\u0300-\u0305\u0307-\u036f]|(?<!и)\u0306")


def fold_case(text: str) -> str:
    """Lower case without accents, compatibility forms unified: "Ｃａｆé" and "CAFE" become "cafe"."""
    if text.isascii():
        return text.lower()
    # Case last: compatibility forms such as "\u2122" come apart into capitals.
    decomposed = normalised("NFKD", normalised("NFKD", text).casefold())
    return normalised("NFKC", _ACCENT.sub("", decomposed)).replace(JOINER, "")


def fold_letters(text: str) -> str:
    """A folded text with plain letters for those of Latin script that no normal form takes apart, such as ø and ł."""
    return text if text.isascii() else text.translate(_BASE_LETTERS)


POWERS: Final = "\u00b2\u00b3\u00b9\u2070-\u209f"
"""The digits of powers and indices, as a pattern's range."""
_POWER: Final = lazy_pattern(f"(?<=[0-9])(?=[{POWERS}])")


def text_digest(text: str) -> bytes:
    """16 bytes that are equal for equal normalised texts: NFKC, case-folded, white space collapsed.

    A power is not taken for the last digit of its base.
    """
    folded = text.lower() if text.isascii() else normalised("NFKC", _POWER.sub("^", text)).casefold()
    return blake2b(" ".join(folded.split()).encode(), digest_size=16).digest()


def is_cjk(text: str) -> bool:
    """Whether a text begins with a Chinese, Japanese or Korean character."""
    return text >= "\u3005" and re.match(f"[{_CJK}]", text) is not None


def _stem(words: list[str], english: Stemmer.Stemmer = _stemmer) -> list[str]:
    if "".join(words).isascii() and max(map(len, words), default=0) <= _LONGEST_KEPT:
        with _stemming:
            return list(english.stemWords(words))
    return [_stem_of(word) for word in words]


def _stem_of(word: str) -> str:
    if len(word) > _LONGEST_KEPT:
        with _stemming:
            return str(_forgetful.stemWord(word))
    if _ARABIC.fullmatch(word):
        return arabic_stem(word)
    if _CYRILLIC.fullmatch(word):
        return cyrillic_stem(word)
    if _HEBREW.fullmatch(word):
        return hebrew_stem(word)
    with _stemming:
        return str((_hindi if _DEVANAGARI.fullmatch(word) else _stemmer).stemWord(word))


def cyrillic_stem(word: str) -> str:
    """A folded Cyrillic word without its ending: a Ukrainian one of a word with Ukrainian letters, else a Russian one,
    which other languages have too.
    """
    if _UKRAINIAN.search(word):
        return ukrainian_stem(word)
    with _stemming:
        return str(_russian.stemWord(word))


def ukrainian_stem(word: str) -> str:
    """A folded Ukrainian word without its ending. Snowball has no Ukrainian."""
    return _UKRAINIAN_ENDING.sub("", word.removesuffix("ся"))


def arabic_stem(word: str) -> str:
    """An Arabic word without article, conjunction and the commonest endings, its letters in one form each.

    As the light stemmers of information retrieval do; Snowball's also takes letters that belong to the root.
    """
    plain = _ARABIC_BEFORE.sub("", _VOCALISED.sub("", word).translate(_ARABIC_FORMS))
    return _ARABIC_FEMININE.sub("", _ARABIC_ENDING.sub("", plain))


def hebrew_stem(word: str) -> str:
    """A Hebrew word without what is written in front of it, and the commonest endings. Snowball has no Hebrew."""
    plain = _HEBREW_ENDING.sub("", word)
    return _HEBREW_BEFORE.sub("", plain).translate(_HEBREW_LETTERS)


WORDS_VERSION: Final = 4
"""To be raised with every change of the words that a stored memory gets, here: where words were
stored by a lower version, they are made again. Before version 1 no store knew its version;
since version 2 vowel signs of India's scripts belong to words, words of three other scripts have stems, and what
happened has the days that it may be of, or is told from moments as a day, on all stores; since version 3
Hebrew words have stems, and irregular English forms one word; version 4 changed vectors alone."""
WORDS_AS_TODAY_SINCE: Final = 3
"""The last version that changed words."""

_SINCE_2: Final = lazy_pattern("[\u0400-\u052f\u0591-\u05c7\u0600-\u06ff\u0900-\u0dff]")


def is_analysed_otherwise(memory: Memory, since: int) -> bool:
    """Whether a memory may have other words, or another time, than by this version of the analysis."""
    text = searchable_text(memory)
    if since < 2 and (memory.occurred_at is not None or _SINCE_2.search(text)):
        return True
    return since < 3 and (is_hebrew(text) or not FORMS.keys().isdisjoint(_runs(fold_letters(fold_case(text)))))


def is_hebrew(text: str) -> bool:
    """Whether a text has a Hebrew word."""
    return not text.isascii() and _HEBREW.search(text) is not None


_MONTHS: Final = "January February March April May June July August September October November December".split()


def indexed_words(memory: Memory) -> tuple[str, ...]:
    """The words that a store indexes of a memory, in order, repeats kept."""
    return (*tokens(searchable_text(memory)), *_day_tokens(memory))


def searchable_text(memory: Memory) -> str:
    """The text that the keyword leg reads: the content and its context, of an episode all that was said, and the day it
    is about."""
    parts = [memory.content]
    if memory.context is not None:
        parts.append(memory.context)
    if memory.source != "conversation":  # a turn's one message is its content
        parts += [message.content for message in memory.messages]
    if memory.occurred_at is not None and is_day(memory.occurred_at):
        # In words, since that is how a question names a day: "8 May 2023". On which day a moment is depends on who
        # asks, so it has no such words: `on_days.py` says what they count.
        parts.append(f"{memory.occurred_at.day} {_MONTHS[memory.occurred_at.month - 1]} {memory.occurred_at.year}")
    return "\n".join(parts)


def _day_tokens(memory: Memory) -> list[str]:
    return [] if memory.occurred_at is None else [day.isoformat() for day in possible_days(memory.occurred_at)]


_SHORT: Final = 40
"""From this many words on, a text that ends in a question mark says something of its own too."""

_LABEL: Final = lazy_pattern(r"\s*([^\W\d_][\w.'\u2019-]*(?: [\w.'\u2019-]+){0,2}):\s")
_USER: Final = frozenset({"user", "human"})
_ASSISTANT: Final = frozenset({"assistant", "ai"})
ROLES: Final = _USER | _ASSISTANT | {"system", "tool"}

_INSTRUCTION: Final = lazy_pattern(
    r"^\W*(?:please\s+)?(?:always|never)\b|\bfrom now on\b|\bwhen(?:ever)? i (?:ask|mention|talk|say)\b"
    r"|^\W*(?:por favor,?\s+)?(?:siempre|nunca)\b|\bcuando (?:te )?(?:pregunte|pida)\b"
    r"|^\W*(?:bitte\s+)?(?:immer|niemals)\b|\bwenn ich (?:dich )?frage\b",
    re.IGNORECASE,
)
_PREFERENCE: Final = lazy_pattern(
    r"\b(?:i|i'd|users?|they|we)(?:\s+(?:really|also|always|usually|would|generally|strongly))*\s+prefer\b|\bprefers\b"
    r"|\bprefier[oe]\b|\b(?:ich )?bevorzug(?:e|t)\b",
    re.IGNORECASE,
)


class Trait(IntFlag):
    """The traits of a text: a short question, a standing instruction or preference, said by the user or by the
    assistant; whether another memory superseded it, and whether it happened on a day without a time."""

    QUESTION = 1
    INSTRUCTION = 2
    PREFERENCE = 4
    BY_USER = 8
    BY_ASSISTANT = 16
    SUPERSEDED = 32
    DAY = 64


def traits(memory: Memory) -> Trait:
    """The traits of a memory: those of its content, and what its record says."""
    flags = _traits_of_content(memory)
    if memory.occurred_at is not None and is_day(memory.occurred_at):
        flags |= Trait.DAY
    return flags if memory.is_current() else flags | Trait.SUPERSEDED


def _traits_of_content(memory: Memory) -> Trait:
    """By the name or role that the content begins with, of a turn by its message's role."""
    label = label_of(memory.content)
    role = memory.messages[0].role if memory.source == "conversation" and memory.messages else label
    text = memory.content if label is None else memory.content.split(":", 1)[1]
    flags = Trait(0)
    if text.rstrip().endswith(("?", "\uff1f")) and len(text.split(maxsplit=_SHORT)) < _SHORT:
        flags |= Trait.QUESTION
    if role in _ASSISTANT:
        return flags | Trait.BY_ASSISTANT
    if role in _USER:
        flags |= Trait.BY_USER
    if _INSTRUCTION.search(text):
        return flags | Trait.INSTRUCTION
    return flags | Trait.PREFERENCE if _PREFERENCE.search(text) else flags


def label_of(text: str) -> str | None:
    """The name or role that a text begins with, as in "Ana: I moved", in lower case; None without one."""
    match = _LABEL.match(text[:80])
    return match[1].casefold() if match else None


def speaker_of(text: str) -> str | None:
    """The name that a text begins with, in lower case; None without one or for a role."""
    label = label_of(text)
    return None if label in ROLES else label


# The letters of these scripts are a token each at most: Latin, Cyrillic, Arabic, Devanagari, kana.
_LETTERS: Final = r"\u00c0-\u00ff\u0410-\u044f\u0621-\u064a\u0905-\u0939\u093e-\u094d\u3041-\u3096\u30a1-\u30fa"
_PIECE: Final = lazy_pattern(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<spaces> +)|(?P<marks>[^A-Za-z0-9 \x80-\U0010ffff]+)"
    rf"|(?P<letters>[{_LETTERS}]+)|(?P<rare>[^\x00-\x7f{_LETTERS}]+)",
)


def most_tokens(text: str) -> int:
    """How many tokens a text has at most, for tokenizers like o200k, within a few percent."""
    return sum(_cost(str(piece.lastgroup), piece[0]) for piece in _PIECE.finditer(text))


def _cost(kind: str, piece: str) -> int:
    match kind:
        case "word":  # a long one is no word but code, such as base64
            return (len(piece) + 1) // 2 if len(piece) < 16 else len(piece)
        case "digits":
            return (len(piece) + 2) // 3
        case "spaces":
            return int(len(piece) > 1)
        case "rare":
            return len(piece.encode(errors="replace"))
    return len(piece)


_IRREGULAR: Final = """
arise arose arisen|awake awoke awoken|beat beaten|become became|begin began begun|bend bent|bite bitten|bleed bled
blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught
choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
flee fled|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten
give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept
kneel knelt|know knew known|lay laid|lead led|lean leant|leap leapt|learn learnt|leave left|lend lent|lie lain
light lit|lose lost|make made|mean meant|meet met|mislead misled|misunderstand misunderstood|outgrow outgrew outgrown
overcome overcame|oversleep overslept|pay paid|prove proven|rebuild rebuilt|repay repaid|resell resold
rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise risen|run ran|say said|see saw seen|seek sought
sell sold|send sent|sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk
sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spell spelt|spend spent|spill spilt
spin spun|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|strike struck stricken
strive strove|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn
tell told|think thought|throw threw thrown|undergo underwent undergone|understand understood
undertake undertook undertaken|wake woke woken|wear wore worn|weave wove woven|weep wept|win won
withdraw withdrew withdrawn|wring wrung|write wrote written
calf calves|child children|foot feet|goose geese|half halves|knife knives|loaf loaves|man men|mouse mice|person people
shelf shelves|thief thieves|tooth teeth|wife wives|wolf wolves|woman women
"""

_BRITISH: Final = """
color colour colours coloured colouring|favor favour favours favoured|favorite favourite favourites
flavor flavour flavours|honor honour honours honoured|humor humour|labor labour|behavior behaviour behaviours
harbor harbour harbours|neighbor neighbour neighbours neighbouring|neighborhood neighbourhood neighbourhoods
rumor rumour rumours|odor odour
center centre centres|theater theatre theatres|meter metre metres|kilometer kilometre kilometres|liter litre litres
fiber fibre fibres|gray grey|tire tyre tyres|program programme programmes|jewelry jewellery|pajamas pyjamas
mustache moustache|catalog catalogue catalogues|dialog dialogue dialogues|defense defence|offense offence
license licence licences|organize organise organised organises organising|organization organisation organisations
realize realise realised realising|recognize recognise recognised|apologize apologise apologised
customize customise customised|prioritize prioritise prioritised|summarize summarise summarised
mom mum mums|math maths|aluminum aluminium|check cheque cheques|plow plough|mold mould mouldy|specialty speciality
"""


FORMS: Final = {
    form: base
    for base, *forms in map(str.split, (_IRREGULAR + _BRITISH).strip().replace("\n", "|").replace("||", "|").split("|"))
    for form in forms
}
"""The base of each form of English words that no rule of endings leads back to one: went and go, color and colour.

A question has nearly always another form than its answer: "Where did we eat?" asks for "We ate at Carlo's". Snowball's
English stemmer leaves such forms apart. Left out are forms that are more often another word, such as "bit", "rose" and
"lives".
"""
