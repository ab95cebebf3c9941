"""Import in blocks: each block is embedded together and committed as one, so an interrupted import resumes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ...engine.call import Call
from ...engine.conversations.close_conversations import close_conversation
from ...engine.transfer import import_ as importing
from ...ports import TextKey
from .files import Flaw, Item, Part

BLOCK_ITEMS: Final = 500
BLOCK_BYTES: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class Tally:
    """What an import did so far."""

    written: int = 0
    skipped: int = 0
    failed: int = 0
    episodes: int = 0
    conversations: dict[str, None] = field(default_factory=dict)
    """The conversations that messages were read of, in their order."""

    @property
    def seen(self) -> int:
        return self.written + self.skipped + self.failed


def run(
    new_call: Callable[[], Call],
    parts: Iterable[Part],
    *,
    tally: Tally,
    look_around: bool = False,
    report: Callable[[Flaw], None],
    advance: Callable[[float, int], None],
) -> None:
    """Import everything, counting in `tally`; each flaw is reported as it is met.

    `new_call` gives every block a call, and so a deadline, of its own. Raises what the store raises: the
    blocks before it stay written, and the same import again goes on behind them.
    """
    seen: Counter[TextKey] = Counter()
    for block in _blocks(parts):
        if isinstance(block, Flaw):
            tally.failed += 1
            report(block)
            continue
        done = _write(new_call(), block, seen, look_around)
        tally.written += done.written
        tally.skipped += done.skipped
        for index, error in done.errors.items():
            tally.failed += 1
            report(Flaw(where=block[index].where, at=block[index].at, sentence=error.message))
        tally.conversations |= dict.fromkeys(_conversations(block))
        advance(block[-1].at, tally.seen)


def close(new_call: Callable[[], Call], *, tally: Tally, advance: Callable[[float, int], None]) -> None:
    """Make the episodes of all conversations that were imported: a transcript tells what has ended.

    Raises what the store raises: the same import again goes on with the others.
    """
    for reached, conversation in enumerate(tally.conversations, 1):
        while made := close_conversation(new_call(), conversation, ended=True):
            tally.episodes += len(made)
        advance(reached, tally.episodes)


def _conversations(block: Iterable[Item]) -> Iterator[str]:
    for item in block:
        if item.draft is not None and item.draft.source == "conversation" and item.draft.conversation_id is not None:
            yield item.draft.conversation_id


def _write(call: Call, block: list[Item], seen: Counter[TextKey], look_around: bool) -> importing.Imported:
    records = [item.record for item in block if item.record is not None]
    if records:
        return importing.import_records(call, records, restore=True)
    drafts = [item.draft for item in block if item.draft is not None]
    return importing.import_drafts(call, drafts, seen, surroundings=look_around)


def _blocks(parts: Iterable[Part]) -> Iterator[list[Item] | Flaw]:
    """Items of one kind, up to 500 and 4 MiB at a time, and the flaws between them."""
    block: list[Item] = []
    size = 0
    for part in parts:
        if isinstance(part, Flaw):
            yield part
            continue
        full = len(block) == BLOCK_ITEMS or size > BLOCK_BYTES
        if block and (full or (part.record is None) != (block[0].record is None)):
            yield block
            block, size = [], 0
        block.append(part)
        size += part.size
    if block:
        yield block
