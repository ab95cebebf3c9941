"""Finds patterns of `re` whose time can grow faster than the text.

A pattern is read by Python's own parser and turned into an automaton of its positions. Backtracking is superlinear
where two positions can both go on through the same word, the first can hand over to the second by that word, and what
follows can fail: the place where it hands over is then tried at every repetition of the word. `search` and its kind try
every start, which counts as one more position, before all others. (Weideman et al., "Analyzing matching time behavior
of backtracking regular expression matchers by using ambiguity of NFA", 2016.)

What it can't read exactly, it takes for the worse: a possessive repeat of anything but one class, a look-ahead of
several characters, a reference to a group without an upper length.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from re import ASCII, DOTALL, IGNORECASE, MULTILINE, _parser  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]
from typing import Any

START, END = "start", "end"
"""The character before the first one, and after the last one."""
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_MOST_COPIES = 256
"""A bounded repeat of more is taken for an endless one."""
_SAMPLES = "\0\t\n\r\v\x1c !\"#'()*+,-./059:;<=>?@AFMZ[\\]^_`afmz{|}~\x85\xa0éßıǅ\u0301\u2028\u3001カ字\ud800\uff1c😀"


@dataclass(frozen=True)
class Condition:
    """Between which characters an empty step may be taken."""

    before: frozenset[str] | None = None
    after: frozenset[str] | None = None
    words: frozenset[str] = frozenset()
    at_boundary: bool | None = None

    def holds(self, before: str, after: str) -> bool:
        if self.at_boundary is not None and ((before in self.words) != (after in self.words)) != self.at_boundary:
            return False
        return (self.before is None or before in self.before) and (self.after is None or after in self.after)


@dataclass
class Automaton:
    """Nodes with empty steps between them, and positions: steps that take a character."""

    alphabet: frozenset[str]
    steps: dict[int, list[tuple[int, Condition | None]]] = field(default_factory=dict)
    takes: list[tuple[int, frozenset[str], int]] = field(default_factory=list)
    looking: set[int] = field(default_factory=set)
    """Positions within a look-around, which are gone through again at each place, and of references, which may fail."""
    ends: set[int] = field(default_factory=set)
    nodes: int = 0

    def node(self) -> int:
        self.nodes += 1
        return self.nodes - 1

    def step(self, start: int, end: int, condition: Condition | None = None) -> None:
        self.steps.setdefault(start, []).append((end, condition))

    def take(self, start: int, chars: frozenset[str], end: int) -> None:
        self.takes.append((start, chars & self.alphabet, end))


class _Builder:
    def __init__(self, pattern: str | bytes, flags: int, *, whole: bool) -> None:
        tree = _parser.parse(pattern, flags)
        self._is_bytes = isinstance(pattern, bytes)
        self._widths: dict[int, int] = {}
        self._looking = 0
        alphabet = {c for c in _SAMPLES if not self._is_bytes or ord(c) < 256}
        self.automaton = Automaton(frozenset(alphabet | set(self._near(tree))))
        self._reduce(tree, tree.state.flags)
        first, last = self.automaton.node(), self.automaton.node()
        self._sequence(tree, first, last, tree.state.flags)
        accepted = self.automaton.node()
        self.automaton.step(last, accepted, Condition(after=frozenset({END})) if whole else None)
        self.automaton.ends.add(accepted)
        self.first = first

    def _near(self, tree: Any) -> Iterator[str]:
        """The characters that a pattern names, and those beside them."""
        for kind, value in _leaves(tree):
            codes = value if kind is op.RANGE else (value,)
            for code in codes:
                for near in (code - 1, code, code + 1):
                    if 0 <= near < (256 if self._is_bytes else 0x110000):
                        yield chr(near)
                        yield from (each for each in (chr(near).lower(), chr(near).upper()) if len(each) == 1)

    def _reduce(self, tree: Any, flags: int) -> None:
        """One character for all that no class of the pattern tells apart."""
        classes = [self._chars(leaf, flags | IGNORECASE * i) for leaf in _classes(tree) for i in (0, 1)]
        classes += [self._category("word", flags), frozenset("\n")]
        alike: dict[tuple[bool, ...], str] = {}
        for char in sorted(self.automaton.alphabet):
            alike.setdefault(tuple(char in chars for chars in classes), char)
        self.automaton.alphabet = frozenset(alike.values())

    def _sequence(self, items: Iterable[Any], start: int, end: int, flags: int) -> None:
        at = start
        for item in items:
            following = self.automaton.node()
            self._item(item, at, following, flags)
            at = following
        self.automaton.step(at, end)

    def _item(self, item: Any, start: int, end: int, flags: int) -> None:
        kind, value = item
        auto = self.automaton
        if kind in _SINGLE:
            self._take(start, self._chars(item, flags), end)
        elif kind is op.BRANCH:
            for branch in value[1]:
                inner = auto.node()
                auto.step(start, inner)
                self._sequence(branch, inner, end, flags)
        elif kind is op.SUBPATTERN:
            group, added, dropped, inside = value
            self._widths[group] = inside.getwidth()[1]
            self._sequence(inside, start, end, (flags | added) & ~dropped)
        elif kind is op.ATOMIC_GROUP:
            self._sequence(value, start, end, flags)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            self._repeat(kind, *value, start, end, flags)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            self._around(kind is op.ASSERT, *value, start, end, flags)
        elif kind is op.AT:
            auto.step(start, end, self._place(value, flags))
        elif kind is op.GROUPREF:
            self._looking += 1
            width = self._widths.get(value, _MOST_COPIES + 1)
            self._repeat(op.MAX_REPEAT, 0, width, [(op.ANY, None)], start, end, DOTALL)
            self._looking -= 1
        elif kind is op.GROUPREF_EXISTS:
            for branch in value[1:]:
                self._sequence(branch or [], start, end, flags)
        else:
            raise NotImplementedError(f"{kind} in a pattern")

    def _take(self, start: int, chars: frozenset[str], end: int) -> None:
        if self._looking:
            self.automaton.looking.add(len(self.automaton.takes))
        self.automaton.take(start, chars, end)

    def _repeat(self, kind: Any, least: int, most: Any, inside: Any, start: int, end: int, flags: int) -> None:
        auto = self.automaton
        single = _alone(inside)
        leave = None
        if kind is op.POSSESSIVE_REPEAT and single is not None:
            chars = self._chars(single, flags)
            leave = Condition(after=(auto.alphabet | {END}) - chars)
        endless = most is op.MAXREPEAT or most > _MOST_COPIES
        at = start
        for _ in range(min(least, _MOST_COPIES)):
            following = auto.node()
            self._sequence(inside, at, following, flags)
            at = following
        if endless:
            loop, within = auto.node(), auto.node()
            auto.step(at, loop)
            auto.step(loop, within)
            self._sequence(inside, within, loop, flags)
            auto.step(loop, end, leave)
            return
        for _ in range(most - least):
            auto.step(at, end, leave)
            following = auto.node()
            self._sequence(inside, at, following, flags)
            at = following
        auto.step(at, end)

    def _around(self, wanted: bool, direction: int, inside: Any, start: int, end: int, flags: int) -> None:
        """One character is a condition. More is gone through apart, and may be there or not."""
        auto = self.automaton
        single = _alone(inside)
        if single is not None:
            chars = self._chars(single, flags)
            edge = END if direction > 0 else START
            chars = chars & auto.alphabet if wanted else (auto.alphabet | {edge}) - chars
            auto.step(start, end, Condition(after=chars) if direction > 0 else Condition(before=chars))
            return
        auto.step(start, end)
        if direction > 0:
            within, dead = auto.node(), auto.node()
            auto.step(start, within)
            self._looking += 1
            self._sequence(inside, within, dead, flags)
            self._looking -= 1

    def _place(self, at: Any, flags: int) -> Condition:
        everything = self.automaton.alphabet
        if at in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
            return Condition(words=self._category("word", flags), at_boundary=at is op.AT_BOUNDARY)
        line = frozenset("\n") & everything if flags & MULTILINE and at in (op.AT_BEGINNING, op.AT_END) else frozenset()
        if at in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return Condition(before=frozenset({START}) | line)
        return Condition(after=frozenset({END}) | line)

    def _chars(self, item: Any, flags: int) -> frozenset[str]:
        kind, value = item
        everything = self.automaton.alphabet
        if kind is op.ANY:
            return everything if flags & DOTALL else everything - {"\n"}
        if kind in (op.LITERAL, op.NOT_LITERAL):
            chars = self._between(value, value, flags)
            return everything - chars if kind is op.NOT_LITERAL else chars
        chars = frozenset()
        for part, inner in value:
            if part is op.LITERAL:
                chars |= self._between(inner, inner, flags)
            elif part is op.RANGE:
                chars |= self._between(*inner, flags)
            elif part is op.CATEGORY:
                name = str(inner).removeprefix("CATEGORY_").lower()
                found = self._category(name.removeprefix("not_"), flags)
                chars |= everything - found if name.startswith("not_") else found
        return everything - chars if value[0][0] is op.NEGATE else chars

    def _between(self, low: int, high: int, flags: int) -> frozenset[str]:
        found = {c for c in self.automaton.alphabet if low <= ord(c) <= high}
        if flags & IGNORECASE:
            found |= {
                c
                for c in self.automaton.alphabet
                if any(len(each) == 1 and low <= ord(each) <= high for each in (c.lower(), c.upper(), c.casefold()))
            }
        return frozenset(found)

    def _category(self, name: str, flags: int) -> frozenset[str]:
        ascii = bool(flags & ASCII) or self._is_bytes
        tests = {"word": lambda c: c.isalnum() or c == "_", "digit": str.isdecimal, "space": str.isspace}
        return frozenset(c for c in self.automaton.alphabet if tests[name](c) and (not ascii or ord(c) < 128))


def _alone(inside: Any) -> Any:
    """The one character or class that a part of a pattern is; None if it is more."""
    items = list(inside)
    return items[0] if len(items) == 1 and items[0][0] in _SINGLE else None


def _leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    for kind, value in _classes(tree):
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield kind, value
        elif kind is op.IN:
            yield from (each for each in value if each[0] in (op.LITERAL, op.RANGE))


def _classes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All single characters and classes in a pattern, at any depth."""
    if isinstance(tree, tuple) and len(tree) == 2 and tree[0] in (op.LITERAL, op.NOT_LITERAL, op.IN):
        yield tree
    elif isinstance(tree, tuple | list | _parser.SubPattern):
        for each in tree:
            yield from _classes(each)


class _Search:
    """The walk through pairs and triples of positions."""

    def __init__(self, automaton: Automaton, first: int, *, anywhere: bool) -> None:
        self._auto = automaton
        self._takes = list(automaton.takes)
        self._follow: dict[int, list[tuple[int | None, Condition | None]]] = {}
        self._next: dict[tuple[int, str, str], dict[int, int]] = {}
        self._any = len(self._takes) if anywhere else None  # the place before all others, where starts are tried
        if anywhere:
            head = automaton.node()
            automaton.step(head, first)
            self._takes.append((head, automaton.alphabet, head))
        self._sources: dict[int, list[int]] = {}
        for position, (source, _, _) in enumerate(self._takes):
            self._sources.setdefault(source, []).append(position)
        self._sure = self._find_sure()

    def superlinear(self) -> str | None:
        """A word that may be repeated to make the time grow, None where nothing does."""
        groups = self._groups()
        for group in groups:
            for p in group:
                if twice := self._twice(p, group):
                    return twice
        reach = {p: self._reachable(p) for group in groups for p in group}
        for a in groups:
            for b in groups:
                for p in a:
                    for q in b:
                        if p != q and q in reach[p] and (word := self._word(p, q, a, b, reach)) is not None:
                            return word
        return None

    def _twice(self, p: int, group: frozenset[int]) -> str | None:
        for before in self._takes[p][1]:
            for after in self._auto.alphabet:
                for r, ways in self._successors(p, before, after).items():
                    if ways > 1 and r in group and (r, after) not in self._sure:
                        return after
        return None

    def _word(self, p: int, q: int, a: frozenset[int], b: frozenset[int], reach: dict[int, set[int]]) -> str | None:
        """A word by which p comes back to p, p comes to q, and q comes back to q; None without one."""
        for before in self._takes[p][1] & self._takes[q][1]:
            begin = (p, p, q, before)
            seen = {begin}
            queue = deque([(begin, "")])
            while queue:
                (x, y, z, last), word = queue.popleft()
                for after in self._auto.alphabet:
                    firsts = [r for r in self._successors(x, last, after) if r in a]
                    thirds = [r for r in self._successors(z, last, after) if r in b] if firsts else []
                    seconds = (
                        [r for r in self._successors(y, last, after) if r in a or q in reach.get(r, {q})]
                        if thirds
                        else []
                    )
                    for state in ((f, s, t, after) for f in firsts for s in seconds for t in thirds):
                        if state == (p, q, q, before) and (q, before) not in self._sure:
                            return word + after
                        if state not in seen:
                            seen.add(state)
                            queue.append((state, word + after))
        return None

    def _successors(self, p: int, before: str, after: str) -> dict[int, int]:
        """The positions that may take `after` next, each with the number of ways to it."""
        key = (p, before, after)
        if key not in self._next:
            found: dict[int, int] = {}
            for r, condition in self._after(self._takes[p][2]):
                if r is not None and after in self._takes[r][1] and _all_hold(condition, before, after):
                    found[r] = found.get(r, 0) + 1
            self._next[key] = found
        return self._next[key]

    def _after(self, node: int) -> list[tuple[int | None, tuple[Condition, ...]]]:
        """The positions that follow by empty steps, and None for the end of the pattern. A way takes no step twice."""
        if node in self._follow:
            return self._follow[node]  # type: ignore[return-value]
        found: list[tuple[int | None, tuple[Condition, ...]]] = []

        def walk(at: int, used: frozenset[tuple[int, int]], conditions: tuple[Condition, ...]) -> None:
            found.extend((position, conditions) for position in self._sources.get(at, ()))
            if at in self._auto.ends:
                found.append((None, conditions))
            for i, (end, condition) in enumerate(self._auto.steps.get(at, ())):
                if (at, i) not in used:
                    walk(end, used | {(at, i)}, conditions if condition is None else (*conditions, condition))

        walk(node, frozenset(), ())
        self._follow[node] = found  # type: ignore[assignment]
        return found

    def _find_sure(self) -> set[tuple[int, str]]:
        """Positions from which the pattern fits whatever comes: there nothing is ever tried again."""
        sure = {
            (p, char)
            for p, (_, chars, _) in enumerate(self._takes)
            for char in chars
            if p not in self._auto.looking and p != self._any
        }
        while True:
            lost = {each for each in sure if not self._fits(*each, sure)}
            if not lost:
                return sure
            sure -= lost

    def _fits(self, p: int, before: str, sure: set[tuple[int, str]]) -> bool:
        ends = [condition for r, condition in self._after(self._takes[p][2]) if r is None]
        return all(
            any(_all_hold(condition, before, after) for condition in ends)
            or any((r, after) in sure for r in self._successors(p, before, after))
            for after in (*self._auto.alphabet, END)
        )

    def _groups(self) -> list[frozenset[int]]:
        """The positions that come back to themselves, with all that do so together."""
        reach = {p: self._reachable(p) for p in range(len(self._takes))}
        groups = {frozenset(q for q in reach[p] if p in reach[q]) for p in reach if p in reach[p]}
        return sorted(groups, key=min, reverse=True)

    def _reachable(self, p: int) -> set[int]:
        seen: set[int] = set()
        queue = [p]
        while queue:
            for r, _ in self._after(self._takes[queue.pop()][2]):
                if r is not None and r not in seen:
                    seen.add(r)
                    queue.append(r)
        return seen


def _all_hold(conditions: Any, before: str, after: str) -> bool:
    return all(each.holds(before, after) for each in conditions)


@cache
def superlinear(pattern: str | bytes, flags: int = 0, method: str = "search") -> str | None:
    """A word that makes the pattern slow where a text repeats it; None if the time grows with the text alone.

    `method` is that of `re` which is called: `match` and `fullmatch` try one start, all others try every one."""
    built = _Builder(pattern, flags, whole=method == "fullmatch")
    return _Search(built.automaton, built.first, anywhere=method not in ("match", "fullmatch")).superlinear()
