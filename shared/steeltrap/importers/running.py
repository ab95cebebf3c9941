"""Import in blocks: each block is embedded together and committed as one, so an interrupted import resumes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from .. import record
from ..engine import importing, imports
from ..engine.call import Call
from ..engine.conversations import close_conversation
from ..engine.importing import import_conversations
from ..engine.saving import compose
from ..engine.secrets import redacted_text
from ..errors import SteeltrapError
from ..model import Import, JsonObject
from ..ports import TextKey
from ..processes import this_process
from .items import Filing, Flaw, Item, Kept, LeftOut, Part
from .source import Survey, parts

_PREVIEWED: Final = 5
_SHOWN_FLAWS: Final = 200
MOST_FILES: Final = 1000
"""Files that a summary has one by one."""
_KEPT_FILES: Final = 200
"""Files that the list of imports keeps the counts of."""
BLOCK_ITEMS: Final = 500
BLOCK_BYTES: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class Counts:
    """How much was found, and what became of that. `left_out` is what was left out on purpose, by what it is."""

    found: int = 0
    written: int = 0
    skipped: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class FileTally(Counts):
    """The counts of one file."""

    format: str = ""

    def as_json(self, name: str) -> JsonObject:
        counts = {"found": self.found, "written": self.written, "skipped": self.skipped, "failed": self.failed}
        return {
            "name": name,
            **({"format": self.format} if self.format else {}),
            **counts,
            **({"left_out": dict(sorted(self.left_out.items()))} if self.left_out else {}),
        }


@dataclass(slots=True)
class Tally(Counts):
    """The counts of an import so far. Messages count one each, whatever they are in."""

    import_id: str = ""
    episodes: int = 0
    metadata_names: dict[str, None] = field(default_factory=dict)
    """The columns and keys that were kept as metadata, in their order."""
    conversations: dict[str, None] = field(default_factory=dict)
    """The conversations that single messages were read of, in their order. Whole ones are closed as they come."""
    files: dict[str, FileTally] = field(default_factory=dict)
    """The files by their names, in the order in which something was met in them."""

    def file(self, name: str) -> FileTally:
        return self.files.setdefault(name, FileTally())

    def of(self, name: str) -> tuple[Counts, Counts]:
        """The counts of the import and those of one of its files, to add to both."""
        return self, self.file(name)

    def note_files(self, survey: Survey) -> None:
        """Note the files that are to be read, and what each of them is."""
        for document, format in survey.documents:
            self.file(document.name).format = format.title

    def by_file(self) -> list[JsonObject]:
        """The first files with their counts, as JSON."""
        return [counts.as_json(name) for name, counts in islice(self.files.items(), MOST_FILES)]

    @property
    def count(self) -> int:
        return self.written + self.skipped + self.failed


@contextmanager
def recorded(
    new_call: Callable[[], Call], name: str, formats: Sequence[str], tally: Tally
) -> Iterator[Callable[[], Call]]:
    """Record an import while it runs. The calls that are made by what this gives belong to it, and each of them notes
    how far it is. An import that ends by an exception, or whose process is killed, stays listed as unfinished."""
    import_run = imports.begin(new_call(), name, formats, process=this_process())
    tally.import_id = import_run.id

    def call_of_import() -> Call:
        call = new_call()
        imports.note(call, _with_counts(import_run, tally))
        call.import_id = import_run.id
        return call

    try:
        yield call_of_import
    except BaseException:
        with suppress(SteeltrapError):
            imports.stop(new_call(), _with_files(import_run, tally))
        raise
    imports.finish(new_call(), _with_files(import_run, tally))


def _with_counts(import_run: Import, tally: Tally) -> Import:
    return replace(
        import_run,
        found=tally.found,
        written=tally.written,
        skipped=tally.skipped,
        failed=tally.failed,
        episodes=tally.episodes,
    )


def _with_files(import_run: Import, tally: Tally) -> Import:
    """The same with what became of each file, which is written once."""
    return replace(
        _with_counts(import_run, tally), files=tuple(tally.by_file()[:_KEPT_FILES]), file_count=len(tally.files)
    )


def run(
    new_call: Callable[[], Call],
    parts: Iterable[Part],
    *,
    tally: Tally,
    look_around: bool = False,
    restore: bool = True,
    dry_run: bool = False,
    report: Callable[[Flaw], None],
    advance: Callable[[float, int], None],
) -> None:
    """Import everything, counting in `tally`; each flaw is reported as it is met.

    With `restore`, which is the operator's to ask for, records keep the agents that they name. A `dry_run` writes
    nothing, and counts what would be written.
    `new_call` gives every block a call, and so a deadline, of its own. Raises what the store raises: the
    blocks before it stay written, and the same import again goes on after them.
    """
    counts: Counter[TextKey] = Counter()
    planned: set[str] | None = set() if dry_run else None
    for block in _blocks(_items(parts, tally, report)):
        match _kind(block[0]):
            case "conversation":
                _write_conversations(new_call(), block, tally, report, look_around, planned)
            case "record":
                records = [item.record for item in block if item.record is not None]
                result = importing.import_records(new_call(), records, restore=restore, planned=planned)
                _note(result, block, tally, report)
            case kind:
                drafts = [item.draft for item in block if item.draft is not None]
                if kind == "turn":
                    result = importing.import_drafts(new_call(), drafts, counts, planned=planned)
                    tally.conversations |= dict.fromkeys(filter(None, (draft.conversation_id for draft in drafts)))
                else:
                    result = importing.import_texts(new_call(), drafts, surroundings=look_around, planned=planned)
                _note(result, block, tally, report)
        advance(block[-1].at, tally.count)


def close(new_call: Callable[[], Call], *, tally: Tally, advance: Callable[[float, int], None]) -> None:
    """Make the episodes of all conversations that single messages were imported of: a transcript tells what has ended.

    Raises what the store raises: the same import again goes on with the others.
    """
    for count, conversation in enumerate(tally.conversations, 1):
        while episodes := close_conversation(new_call(), conversation, ended=True):
            tally.episodes += len(episodes)
        advance(count, tally.episodes)


def _items(parts: Iterable[Part], tally: Tally, report: Callable[[Flaw], None]) -> Iterator[Item]:
    for part in parts:
        match part:
            case Flaw():
                _fail(tally, part, report)
                tally.found += part.count
                if part.where != part.file:  # else the file itself can't be read
                    tally.file(part.file).found += part.count
            case LeftOut():
                for counts in tally.of(part.file):
                    counts.left_out[part.kind] += part.count
            case Kept():
                tally.metadata_names |= dict.fromkeys(part.names)
            case Item():
                for counts in tally.of(part.file):
                    counts.found += 1 if part.conversation is None else len(part.conversation.messages)
                yield part


def _write(tally: Tally, file: str, new_count: int, skipped_count: int) -> None:
    for counts in tally.of(file):
        counts.written += new_count
        counts.skipped += skipped_count


def _fail(tally: Tally, flaw: Flaw, report: Callable[[Flaw], None]) -> None:
    for counts in tally.of(flaw.file):
        counts.failed += flaw.count
    report(flaw)


def _note(result: importing.ImportResult, block: list[Item], tally: Tally, report: Callable[[Flaw], None]) -> None:
    for index, item in enumerate(block):
        if (error := result.errors.get(index)) is not None:
            _fail(tally, Flaw(where=item.where, at=item.at, sentence=error.message, file=item.file), report)
        else:
            _write(tally, item.file, index in result.new, index in result.existing)


def _write_conversations(
    call: Call,
    block: list[Item],
    tally: Tally,
    report: Callable[[Flaw], None],
    look_around: bool,
    planned: set[str] | None,
) -> None:
    conversations = [item.conversation for item in block if item.conversation is not None]
    result = import_conversations(call, conversations, surroundings=look_around, planned=planned)
    for index, item in enumerate(block):
        _write(tally, item.file, result.written[index], result.skipped[index])
    tally.episodes += result.episodes
    for (index, number), error in result.errors.items():
        item = block[index]
        where = f"{item.where} message {number + 1}"
        _fail(tally, Flaw(where=where, at=item.at, sentence=error.message, file=item.file), report)


def _kind(item: Item) -> str:
    if item.conversation is not None:
        return "conversation"
    if item.record is not None:
        return "record"
    return "turn" if item.draft is not None and item.draft.source == "conversation" else "text"


def _blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items of one kind, up to 500 memories and 4 MiB at a time; a conversation is never cut."""
    block: list[Item] = []
    size = memories = 0
    for item in items:
        full = memories >= BLOCK_ITEMS or size > BLOCK_BYTES
        if block and (full or _kind(item) != _kind(block[0])):
            yield block
            block, size, memories = [], 0, 0
        block.append(item)
        size += item.size
        memories += len(item.conversation.messages) if item.conversation is not None else 1
    if block:
        yield block


def preview(new_call: Callable[[], Call], survey: Survey, filing: Filing) -> JsonObject:
    """A preview of an import: the first five as they would be stored, and what would become of everything."""
    first: list[JsonObject] = []
    tally = Tally()
    tally.note_files(survey)
    flaws: list[Flaw] = []
    items = 0

    def report(flaw: Flaw) -> None:
        if len(flaws) < _SHOWN_FLAWS:
            flaws.append(flaw)

    def with_first(source: Iterable[Part]) -> Iterator[Part]:
        nonlocal items
        for part in source:
            if isinstance(part, Item):
                items += 1
                if len(first) < _PREVIEWED:
                    with suppress(SteeltrapError):  # which the import reports
                        first.append({"where": part.where, **_as_stored(new_call(), part)})
            yield part

    run(
        new_call,
        with_first(parts(survey, filing)),
        tally=tally,
        dry_run=True,
        report=report,
        advance=lambda _, __: None,
    )
    return {
        "dry_run": True,
        "formats": survey.formats,
        "files": tally.by_file(),
        "file_count": len(tally.files),
        "found": tally.found,
        "written": tally.written,
        "skipped": tally.skipped,
        "items": items,
        "first": first,
        "left_out": dict(sorted(tally.left_out.items())),
        "kept_as_metadata": list(tally.metadata_names),
        "errors": [{"where": flaw.where, "message": flaw.sentence} for flaw in flaws],
        "failed": tally.failed,
    }


def _as_stored(call: Call, item: Item) -> JsonObject:
    if item.draft is not None:
        return record.encode(compose(call, item.draft))
    if item.conversation is None:
        return item.record or {}
    conversation = item.conversation
    begins = [redacted_text(call, "content", begins.message.content) for begins in conversation.messages[:2]]
    return {
        "conversation_id": conversation.id,
        "context": conversation.context,
        "scope": conversation.scope,
        "tags": list(conversation.tags),
        "metadata": conversation.metadata,
        "messages": len(conversation.messages),
        "begins": begins,
    }
