"""Every pattern that the product compiles with `re` takes time that grows with the text, and no faster."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steeltrap
from steeltrap import settings
from steeltrap.cli import configuration
from steeltrap.importers import chats, markdown
from steeltrap.ranking import asking
from steeltrap.servers.console import reading
from support.backtracking import superlinear

ROOT = Path(steeltrap.__file__).parent
METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class Use(NamedTuple):
    """A pattern and how it is applied."""

    where: str
    pattern: str | bytes
    flags: int
    method: str


AT_RUN_TIME: dict[str, list[dict[str, Any]]] = {
    "ranking/asking.py": [
        # `patterns[hint]` is each of its tables' patterns in turn.
        {"pattern": pattern, "patterns": [pattern], "hint": 0}
        for pattern in (
            *asking._FRAMES,
            *(
                each
                for table in (asking._PAST_PATTERNS, asking._SEVERAL, asking._LATEST, asking._FIRST)
                for each in table.values()
            ),
        )
    ],
    "cli/client_files.py": [{"section": "mcp_servers", "name": "steeltrap"}],
    "embedders/word_pieces.py": [{"special": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}],
    "servers/console/rendering.py": [{"longest_first": ["a", "aa", "ab", "字"]}],
    "text/patterns.py": [{"self": SimpleNamespace(_source="a", _flags=0)}],
}
"""Values of the names that a pattern is made of when it is used, by module."""
SHORT = {
    rb"\b[A-Z]{2}\d{2}[ -]?(?:[A-Z0-9]{4}[ -])*$": "is searched for in 48 bytes",
}
"""Patterns that may be slow, because what they meet can't be long."""


class Unread(Exception):
    """A pattern that is made from what is known at run time only."""


def uses(source: str, known: Sequence[Mapping[str, Any]], where: str) -> Iterator[Use]:
    """Each pattern in a module, for each of the values that its names may have. A compiled one counts as searched for,
    unless its name is only matched from the start of a text. Raises Unread for a pattern of other names."""
    tree = ast.parse(source)
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = _function(call.func)
        if function not in ("compile", *METHODS):
            continue
        place = f"{where}:{call.lineno}"
        given = [each.value for each in call.keywords if each.arg == "flags"]
        position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(function, 2)
        flags = [*given, *call.args[position : position + 1], ast.Constant(0)][0]
        method = function
        if method == "compile":
            target = getattr(parents[call], "target", None)
            method = _method(tree, parents, target.id) if isinstance(target, ast.Name) else "search"
        for names in known:
            yield Use(place, _value(call.args[0], names, place), int(_value(flags, names, place)), method)


def _function(called: ast.expr) -> str | None:
    """The name of a function of `re`; `lazy_pattern` compiles, only later."""
    if isinstance(called, ast.Name) and called.id == "lazy_pattern":
        return "compile"
    is_of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    return called.attr if isinstance(called, ast.Attribute) and is_of_re else None


def _value(expression: ast.expr, names: Mapping[str, Any], place: str) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(expression)), place, "eval")
    try:
        return eval(code, dict(names))
    except NameError as error:
        raise Unread(f"{place}: `{ast.unparse(expression)}`; give its names values in AT_RUN_TIME") from error


def _method(tree: ast.AST, parents: dict[ast.AST, ast.AST], name: str) -> str:
    """The method that needs most: a start that is given to `match` moves on through the text."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            attribute = parents[node]
            call = parents[attribute]
            is_from_start = isinstance(call, ast.Call) and call.func is attribute and len(call.args) == 1
            found.add(attribute.attr if isinstance(attribute, ast.Attribute) and is_from_start else "search")
    return found.pop() if found in ({"match"}, {"fullmatch"}) else "search"


def slow(source: str, known: Sequence[Mapping[str, Any]], where: str) -> dict[Use, str]:
    """The patterns that are superlinear, each with a word that shows it."""
    found = {}
    for use in uses(source, known, where):
        word = None if use.pattern in SHORT else superlinear(use.pattern, use.flags, use.method)
        if word is not None:
            found[use] = word
    return found


FILES = sorted(path for path in ROOT.rglob("*.py") if re.search(r"\bre\b|\blazy_pattern\b", path.read_text()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_pattern_takes_time_that_grows_with_the_text_alone(path: Path) -> None:
    where = path.relative_to(ROOT)
    module = importlib.import_module(".".join(("steeltrap", *where.with_suffix("").parts)).removesuffix(".__init__"))
    known = [{**vars(module), **names} for names in AT_RUN_TIME.get(where.as_posix(), [{}])]
    assert slow(path.read_text(), known, where.as_posix()) == {}


def test_patterns_are_made_by_re_under_its_own_name() -> None:
    """Otherwise they would not be found. The functions outside of the package make none."""
    other = re.compile(
        r"^\s*(?:from (?:re|regex|fnmatch|string)\b.*import|import (?:re as|regex|fnmatch)\b)", re.MULTILINE
    )
    assert [path for path in ROOT.rglob("*.py") if other.search(path.read_text())] == []


SLOW = [
    (r"[<\uff1c\ufe64](?=[\W_]*memor|\|)", "search"),
    (r"<(system-reminder|ide_[a-z_]+)>(?s:.*?)</\1>", "search"),
    ("(?s)<user_query>(.*?)</user_query>", "search"),
    ("\ue200.*?\ue201", "search"),
    (r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*", "fullmatch"),
    (r"[^\W\d_]+(?<![\u3040-\u30ff\u4e00-\u9fff])|\d+|\s+|.", "search"),
    (r"(?:\bwas\b|\w+ed\b)[^.!]*\bbefore\b", "search"),
    (r"\s*$", "search"),
    (r"\s+\Z", "search"),
    (r"(a*)*b", "match"),
    (r"(a+)+\Z", "match"),
    (r"(?:a|ab|b)*c", "match"),
    (r"(?:a*b*)*c", "match"),
    (r"(?i:K|\u212a)+x", "search"),
    (r"a(?:.*x)?", "search"),
    (r"\w+@\w+", "search"),
    (r'"(?:[^"\\]|\\.)*"', "search"),
    (r".*a.*b", "match"),
    (r"(\w+)\1", "match"),
    (rb"[^\0]+\0", "search"),
    (r"\d{0,1000}x", "search"),
]
FAST = [
    (r"\s+", "search"),
    (r"[^\W_]+", "search"),
    (r"\w+(?:['\u2019]s\b)?", "search"),
    (r"\b\w+=", "search"),
    (r"(?<!\w)\w+=", "search"),
    (r"(?m)^[ \t]*\[", "search"),
    (r"^a+b", "search"),
    (r"a+b", "match"),
    (r"\d{1,9}[.)]", "search"),
    (r"[a]*+b?", "search"),
    ("\ue200[^\ue201\n]*+(\ue201?)", "search"),
    (r"<(/?)([a-z_-]++)>", "search"),
    (r"(\d{4})([-_.]?)(\d{2})\2(\d{2})", "search"),
    (rb"[^\0]{14}", "search"),
]


@pytest.mark.parametrize(("pattern", "method"), SLOW, ids=ascii)
def test_a_superlinear_pattern_is_found(pattern: str | bytes, method: str) -> None:
    assert superlinear(pattern, 0, method) is not None


@pytest.mark.parametrize(("pattern", "method"), FAST, ids=ascii)
def test_a_linear_pattern_passes(pattern: str | bytes, method: str) -> None:
    assert superlinear(pattern, 0, method) is None


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.sub(r'a+b', '', text)",
        "import re\nfrom typing import Final\n_X: Final = re.compile(r'a+b')\n_X.search(text)",
        "import re\nfrom typing import Final\n_X: Final = re.compile(r'a+b')\n_X.match(text)\nuse(_X)",
        "import re\nfrom typing import Final\n_X: Final = re.compile(r'a+b')\n_X.match(text, at)",
        "import re\nre.split('X+Y', text, flags=re.IGNORECASE)",
        "from typing import Final\n_X: Final = lazy_pattern(r'a+b')\n_X.search(text)",
        "import re\nre.search(f'{word}+b', text)",
    ],
)
def test_a_slow_pattern_in_a_module_is_found_however_it_is_used(source: str) -> None:
    assert len(slow(source, [{"re": re, "word": "a"}], "here.py")) == 1


def test_a_pattern_that_is_made_at_run_time_must_be_named() -> None:
    with pytest.raises(Unread, match="AT_RUN_TIME"):
        list(uses("import re\nre.search(f'{word}+b', text)", [{"re": re}], "here.py"))


SCRIPTS = (
    *("Ana lives in Faro", "Łódź über ñandú ﬁ İı", "Анна живёт", "Η Άννα ζει", "אנה גרה", "آنا تسكن"),
    *("अना रहती है", "แอนนาอยู่", "我住在波尔图", "アナさんは住む", "안나는 산다", "ანა ცხოვრობს"),
)
"""Words of twelve scripts: marks, letters without case, letters of several widths."""
words = st.sampled_from([word for script in SCRIPTS for word in script.split()])
marks = st.sampled_from(
    [" ", "\n", "\t", ".", "!", "#", "12", "_", "-", "://", "@", "/", "before", "was", "lived", "\ue200", "\ue201"]
)
texts = st.lists(st.one_of(words, marks), max_size=14).map("".join)
spaced = st.lists(st.one_of(words, marks), max_size=14).map(" ".join)


@given(st.one_of(texts, spaced))
def test_what_was_replaced_by_a_linear_pattern_is_found_as_before(text: str) -> None:
    before = (
        r"(?:\b(?:was|were|did|had)\b|(?<!\bbe )(?<!\bis )(?<!\bare )\b(?!\w*eed\b|embed\b)\w\w+ed\b)[^.!]*\bbefore\b"
    )
    lowered = text.lower()
    asked = any(asking._asks_before(part) for part in re.split(asking._SENTENCE_END, lowered))
    assert asked == (re.search(before, lowered) is not None)

    cited = chats._CITATION.sub(lambda found: "" if found[1] else found[0], text)
    assert cited == re.sub("\ue200.*?\ue201", "", text)

    hidden = configuration._CREDENTIALS.sub("://*@", text)
    assert hidden == re.sub(r"(?<=://)[^/?#]*@", "*@", text)

    for row in text.split("\n"):
        old = re.fullmatch(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*", row)
        if old is None or "#" not in row.lstrip("#"):
            assert markdown._heading(row) == (None if old is None else (len(old[1]), old[2]))


@given(spaced)
def test_words_of_one_script_are_compared_as_before(text: str) -> None:
    before = re.compile(r"[^\W\d_]+(?<![\u3040-\u30ff\u4e00-\u9fff])|\d+|\s+|.", re.DOTALL)
    assert reading._WORD.findall(text) == before.findall(text)


@given(
    st.lists(st.sampled_from(["A", "SERVICE", "PORT", "HOST", "1", "80", "TCP", "PROTO", "ADDR"]), max_size=8).map(
        "_".join
    )
)
def test_what_kubernetes_sets_is_known_as_before(name: str) -> None:
    before = r"(.*_)?(SERVICE_(HOST|PORT(_.+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
    assert (settings._INJECTED.search(name) is None) == (re.fullmatch(before, name) is None)
