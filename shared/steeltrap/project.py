"""The git repository that a folder belongs to, and the scope of its memories. Needs the standard library alone.

Git itself is not started: it may not be installed, it refuses folders of other owners, and on macOS without developer
tools its name opens a dialog. `GIT_DIR` and its kin are ignored: a process that one repository's git started inherits
them, and the folder says where it works.
"""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from .regular_files import read_regular
from .text import remotes

_MAX_BYTES: Final = 1 << 20
_NAME: Final = 64
_DIGITS: Final = 16
_FOLDERS: Final = re.compile(",|;" if os.name == "nt" else "[,:]")


class Project(NamedTuple):
    """The scope that a repository's memories are saved in, and the name of its folder, only to be shown."""

    scope: str
    name: str


def project_of(folder: Path) -> Project | None:
    """The repository that a folder is in; None without one, and for one that can't be read.

    All clones of a remote and all worktrees of a repository are one project; a submodule is its own. A repository
    whose folder is the user's home, or above it, is none: it holds settings, and every other folder is inside it.
    """
    try:
        return _project_of(folder)
    except (OSError, ValueError, RuntimeError):
        return None


def folder_of_client(environment: Mapping[str, str]) -> Path:
    """The folder that an MCP client works in: Claude Code and Cursor tell it, which may start servers elsewhere; others
    start them in it.

    MCP's own roots are not asked for: they are deprecated, and few clients answer.
    """
    folders = _FOLDERS.split(environment.get("WORKSPACE_FOLDER_PATHS", ""))
    candidates = (environment.get("CLAUDE_PROJECT_DIR", ""), *folders)
    return next((Path(folder) for folder in candidates if folder and Path(folder).is_absolute()), Path())


def _project_of(folder: Path) -> Project | None:
    repository = _repository(Path(os.path.realpath(folder)))
    if repository is None:
        return None
    top, common = repository
    home = Path(os.path.realpath(Path.home()))
    if top == home or top in home.parents:
        return None
    name = _printable(common.parent.name if common.name.startswith(".") else common.name.removesuffix(".git"))
    config = common / "config"
    remote = remotes.remote_in(_read(config)) if config.exists() else None
    if remote is None:
        return Project(_scope(_local(common), name), name)
    path = remotes.path_of(remote)
    if path is not None:
        remote_folder = Path(os.path.realpath((common.parent if common.name == ".git" else top) / path))
        return Project(_scope(_local(remote_folder), remote_folder.name), name)
    address = remotes.canonical_address(remote)
    if address is None:
        return Project(_scope(_local(common), name), name)
    return Project(_scope(address, address.rpartition("/")[2]), name)


def _repository(folder: Path) -> tuple[Path, Path] | None:
    """The top folder of the working tree that a folder is in, and the directory that its worktrees have in common.

    A bare repository counts only where a `.git` names it: a folder that looks like one may be part of what was cloned,
    with a configuration of a stranger's choice.
    """
    for top in (folder, *folder.parents):
        git = top / ".git"
        if git.is_file():
            content = _read(git)
            if not content.startswith("gitdir:"):
                raise ValueError("no gitdir")
            git = top / content.removeprefix("gitdir:").strip()
            if not _is_directory_of_git(git):
                raise ValueError("gitdir names no repository")
        if _is_directory_of_git(git):
            shared = git / "commondir"
            common = git / _read(shared).strip() if shared.is_file() else git
            return top, Path(os.path.realpath(common))
    return None


def _is_directory_of_git(path: Path) -> bool:
    head = path / "HEAD"
    return head.is_file() or head.is_symlink()


def _read(path: Path) -> str:
    """A small file of git's. Raises OSError for a large one, and for what is no regular file."""
    return read_regular(path, _MAX_BYTES).decode(errors="surrogateescape")


def _local(path: Path) -> str:
    """A repository of this machine by its path; `x` and `x/.git` are the same one."""
    return f"file://{os.path.normcase(path.parent if path.name == '.git' else path)}"


def _printable(name: str) -> str:
    """A name in printable characters, which can't break a line."""
    return "".join(letter if letter.isprintable() else " " for letter in name).strip()[:_NAME]


def _scope(identity: str, name: str) -> str:
    """`git/NAME-DIGITS`: the digits tell repositories apart, the name helps whoever reads a list of scopes."""
    digits = sha256(identity.encode(errors="surrogateescape")).hexdigest()[:_DIGITS]
    # What stands before an @ may be a credential in an address that git would not take.
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", name.rpartition("@")[2][:_NAME]).strip("-")
    return f"git/{words}-{digits}" if words else f"git/{digits}"
