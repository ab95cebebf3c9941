"""The git repository that a folder belongs to, and the scope of its memories. Needs the standard library alone.

Git itself is not started: it may not be installed, it refuses folders of other owners, and on macOS without developer
tools its name opens a dialog. `GIT_DIR` and its kin are ignored: a process that one repository's git started inherits
them, and the folder says where it works. The address of a repository's remote stands for it, one name for all forms.
"""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from .local_files import read_regular

_MAX_BYTES: Final = 1 << 20
_LONGEST_NAME: Final = 64
_DIGITS: Final = 16
_FOLDERS: Final = re.compile(",|;" if os.name == "nt" else "[,:]")

_PORTS: Final = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418, "ftp": 21, "ftps": 990}
"""The transports of git and the port that each uses by default. All of them reach the same repository."""
_HOSTS: Final = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Hosts that serve another host's repositories by ssh, on port 443 too."""
_CASELESS: Final = {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com"}
"""Hosts that ignore the case of owners and repositories."""

_ANY: Final = "surrogateescape"
_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z0-9][A-Za-z0-9+.-]*)://(?:[^/?#]*@)?"
    r"(?:\[(?P<inner>[^\[\]@/?#]*)\]|(?P<host>[^:/?#@\[\]]*))(?::(?P<port>[0-9]{0,5}))?(?P<path>/[^?#]*)?(?:[?#].*)?",
    re.S,
)
_FORM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*://")
_SCP: Final = re.compile(
    r"(?:[^/@\[]*@)*(?:\[(?:[^\]@]*@)?(?P<inner>[^\]]+)\]|(?P<host>[^:/\\@\[\]]+)):(?P<path>.*)", re.S
)
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")

_HEADER: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


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
    remote = remote_in(_read(config)) if config.exists() else None
    if remote is None:
        return Project(_scope(_local(common), name), name)
    path = path_of(remote)
    if path is not None:
        remote_folder = Path(os.path.realpath((common.parent if common.name == ".git" else top) / path))
        return Project(_scope(_local(remote_folder), remote_folder.name), name)
    address = canonical_address(remote)
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
    return "".join(letter if letter.isprintable() else " " for letter in name).strip()[:_LONGEST_NAME]


def _scope(identity: str, name: str) -> str:
    """`git/NAME-DIGITS`: the digits tell repositories apart, the name helps whoever reads a list of scopes."""
    digits = sha256(identity.encode(errors="surrogateescape")).hexdigest()[:_DIGITS]
    # What stands before an @ may be a credential in an address that git would not take.
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", name.rpartition("@")[2][:_LONGEST_NAME]).strip("-")
    return f"git/{words}-{digits}" if words else f"git/{digits}"


def remote_in(config: str) -> str | None:
    """The address of the remote `origin` in the text of a git configuration, else of the first remote; None without
    one. Files that it includes are not read. Raises ValueError for what git would not read either."""
    urls: dict[str, str] = {}
    section, text = "", config.removeprefix("\ufeff").replace("\r\n", "\n")
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = _line_end(text, at)
        elif header := _HEADER.match(text, at):
            section, at = _section(*header.groups()), header.end()
        elif key := _KEY.match(text, at):
            value, at = _value(text, key.end()) if key[2] else ("", key.end())
            if not key[2] and text[at : at + 1] not in ("", "\n"):
                _refuse("a key")
            kind, _, name = section.partition(".")
            if kind == "remote" and name and key[1].lower() == "url" and value:
                urls.setdefault(name, value)
        else:
            _refuse("a line")
    return urls.get("origin") or next(iter(urls.values()), None)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _section(name: str, sub: str | None) -> str:
    return name.lower() if sub is None else f"{name.lower()}." + re.sub(r"\\(.)", r"\1", sub)


def _value(text: str, at: int) -> tuple[str, int]:
    """A value without its quotes, escapes, comment and the spaces around it, and where its line ends."""
    letters: list[str] = []
    length, quoted = 0, False
    while at < len(text) and text[at] != "\n":
        letter = text[at]
        if letter == "\\":
            at += 1
            following = text[at : at + 1]
            if following not in ("\n", ""):  # which joins two lines
                letters.append(_ESCAPES.get(following) or _refuse("an escape"))
                length = len(letters)
        elif letter == '"':
            quoted = not quoted
            length = len(letters)
        elif letter in "#;" and not quoted:
            at = _line_end(text, at)
            continue
        else:
            letters.append(letter)
            if quoted or not letter.isspace():
                length = len(letters)
        at += 1
    if quoted:
        _refuse("an open quote")
    return "".join(letters[:length]), at


def _refuse(reason: str) -> str:
    raise ValueError(f"{reason} that git would not read")


def path_of(remote: str) -> str | None:
    """The path of a remote that is a folder of this machine; None for any other."""
    if remote.lower().startswith("file://"):
        return remote[len("file://") :]
    if _HELPER.match(remote) or _FORM.match(remote):
        return None
    return remote if _DRIVE.match(remote) or not _SCP.fullmatch(remote) else None


def canonical_address(remote: str) -> str | None:
    """`host/path`, the same for every address of one remote repository, without scheme, credentials, default port,
    query and `.git`. None for a folder of this machine and for an address of no known form."""
    if path_of(remote) is not None:
        return None
    helper = _HELPER.match(remote)
    address = remote[helper.end() :] if helper else remote
    if _FORM.match(address):
        if not (url := _URL.fullmatch(address)):
            return None
        scheme, host, path = url["scheme"].lower(), url["inner"] or url["host"] or "", _decoded(url["path"] or "")
        port = int(url["port"]) if url["port"] else None
    elif not helper and (scp := _SCP.fullmatch(address)):
        scheme, path, port = "ssh", scp["path"], None
        host = scp["host"] or scp["inner"]
        if host.count(":") == 1 and host.partition(":")[2].isdecimal():
            host, port = host.partition(":")[0], int(host.partition(":")[2])
    else:
        return None
    return _joined_address(helper[0] if helper else "", scheme, host.lower().rstrip("."), port, path)


def _decoded(path: str) -> str:
    """A path without percent encoding. `urllib.parse` would take a hook 5 ms to import."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), path.encode(errors=_ANY))
    return raw.decode(errors=_ANY)


def _joined_address(helper: str, scheme: str, host: str, port: int | None, path: str) -> str | None:
    if host in _HOSTS:
        host, port = _HOSTS[host], None
    segments = [segment for segment in path.split("/") if segment]
    if host == "dev.azure.com":  # ssh: v3/organisation/project/repository; https: organisation/project/_git/repository
        segments = [each for i, each in enumerate(segments) if each != "_git" and (i, each) != (0, "v3")]
    whole = "/".join(segments).removesuffix(".git").rstrip("/")
    is_known = scheme in _PORTS and not helper
    if not host or (is_known and not whole):
        return None
    place = host if port in (None, _PORTS.get(scheme)) else f"{host}:{port}"
    whole = f"{place}/{whole.lower() if host in _CASELESS else whole}"
    return whole if is_known else f"{helper}{scheme}://{whole}"
