"""Git's remotes: the address in a repository's configuration, and one name for all forms of an address. Pure.

It needs the standard library alone, because hooks import it before anything else.
"""

import re
from typing import Final

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
                _refused("a key")
            kind, _, name = section.partition(".")
            if kind == "remote" and name and key[1].lower() == "url" and value:
                urls.setdefault(name, value)
        else:
            _refused("a line")
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
                letters.append(_ESCAPES.get(following) or _refused("an escape"))
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
        _refused("an open quote")
    return "".join(letters[:length]), at


def _refused(reason: str) -> str:
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
    return _name(helper[0] if helper else "", scheme, host.lower().rstrip("."), port, path)


def _decoded(path: str) -> str:
    """A path without percent encoding. `urllib.parse` would take a hook 5 ms to import."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), path.encode(errors=_ANY))
    return raw.decode(errors=_ANY)


def _name(helper: str, scheme: str, host: str, port: int | None, path: str) -> str | None:
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
