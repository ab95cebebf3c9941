"""Remotes: every address of one repository has one name, no credential is in it, and a configuration reads as git's."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steeltrap.project import canonical_address, path_of, remote_in

WIDGETS = "git.example/acme/widgets"


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example/acme/widgets.git",
        "https://git.example/acme/widgets",
        "https://git.example/acme/widgets/",
        "https://git.example/acme/widgets.git/",
        "https://git.example//acme//widgets.git",
        "http://git.example/acme/widgets",
        "http://git.example:80/acme/widgets",
        "https://git.example:443/acme/widgets.git",
        "https://git.example:/acme/widgets.git",
        "https://GIT.Example/acme/widgets.git",
        "HTTPS://git.example/acme/widgets.git",
        "https://git.example./acme/widgets.git",
        "https://ana@git.example/acme/widgets.git",
        "https://ana:s3cret@git.example/acme/widgets.git",
        "https://x-access-token:ghp_abc@git.example/acme/widgets.git",
        "https://oauth2:p@ss@git.example/acme/widgets.git",
        "https://git.example/acme/widgets.git?private_token=s3cret",
        "https://git.example/acme/widgets#s3cret",
        "https://git.example/acme/wid%67ets",
        "git@git.example:acme/widgets.git",
        "git@git.example:/acme/widgets.git",
        "git.example:acme/widgets",
        "GIT@GIT.EXAMPLE:acme/widgets.git",
        "[git@git.example]:acme/widgets.git",
        "[git@git.example:22]:acme/widgets.git",
        "ssh://git@git.example/acme/widgets.git",
        "ssh://git@git.example:22/acme/widgets",
        "git+ssh://git@git.example/acme/widgets",
        "ssh+git://git.example/acme/widgets",
        "git://git.example/acme/widgets.git",
        "git://git.example:9418/acme/widgets.git",
    ],
)
def test_every_address_of_a_repository_has_the_same_name(address: str) -> None:
    assert canonical_address(address) == WIDGETS
    assert path_of(address) is None


@pytest.mark.parametrize(
    ("addresses", "name"),
    [
        (
            [
                "https://github.com/Acme/Widgets",
                "git@github.com:acme/widgets.git",
                "ssh://git@ssh.github.com:443/acme/widgets",
            ],
            "github.com/acme/widgets",
        ),
        (["ssh://git@altssh.gitlab.com:443/a/b/c.git", "https://gitlab.com/A/b/c"], "gitlab.com/a/b/c"),
        (
            ["https://ana@dev.azure.com/acme/shop/_git/widgets", "git@ssh.dev.azure.com:v3/acme/shop/widgets"],
            "dev.azure.com/acme/shop/widgets",
        ),
        (["https://git.example/Acme/Widgets", "git@git.example:Acme/Widgets"], "git.example/Acme/Widgets"),
        (["https://git.example:8443/a/b"], "git.example:8443/a/b"),
        (["ssh://git@git.example:2222/a/b", "[git@git.example:2222]:a/b"], "git.example:2222/a/b"),
        (["ssh://[::1]:22/a/b", "[::1]:a/b"], "::1/a/b"),
        (["codecommit::eu-west-1://key@widgets"], "codecommit::eu-west-1://widgets/"),
        (["codecommit://widgets"], "codecommit://widgets/"),
    ],
)
def test_hosts_with_ways_of_their_own(addresses: list[str], name: str) -> None:
    assert {canonical_address(address) for address in addresses} == {name}


@pytest.mark.parametrize(
    ("remote", "path"),
    [
        ("/srv/git/widgets.git", "/srv/git/widgets.git"),
        ("../widgets", "../widgets"),
        ("widgets", "widgets"),
        ("./a:b", "./a:b"),
        ("file:///srv/git/widgets.git", "/srv/git/widgets.git"),
        ("FILE:///srv/x", "/srv/x"),
        (r"C:\git\widgets", r"C:\git\widgets"),
        ("C:/git/widgets", "C:/git/widgets"),
    ],
)
def test_a_folder_of_this_machine_is_told_apart(remote: str, path: str) -> None:
    assert path_of(remote) == path
    assert canonical_address(remote) is None


@pytest.mark.parametrize(
    "remote",
    ["https://", "https:///x", "https://host", "https://ana:pa/ss@host/x", "ext::sh -c 'connect %S'", "ssh://[::1/x"],
)
def test_an_address_of_no_known_form_has_no_name(remote: str) -> None:
    assert canonical_address(remote) is None
    assert path_of(remote) is None


WORD = st.from_regex(r"[a-z][a-z0-9_-]{0,15}", fullmatch=True)
SECRET = st.from_regex(r"[A-Z][A-Z0-9._~!$&@:-]{5,30}", fullmatch=True)


@given(WORD, WORD, WORD, SECRET, SECRET)
def test_no_credential_is_in_a_name_and_all_forms_agree(host: str, owner: str, name: str, user: str, key: str) -> None:
    forms = [
        f"https://{host}.example/{owner}/{name}",
        f"https://{user}:{key}@{host}.example/{owner}/{name}.git",
        f"ssh://{user}@{host}.example/{owner}/{name}",
        f"git@{host}.example:{owner}/{name}.git",
        f"https://{host}.example/{owner}/{name}?token={key}",
    ]
    assert {canonical_address(form) for form in forms} == {f"{host}.example/{owner}/{name}"}


@given(st.text())
@example("https://[")
@example("[" * 2000)
@example("@" * 5000 + ":")
def test_any_text_is_a_name_a_path_or_neither(remote: str) -> None:
    assert (canonical_address(remote) is None) or (path_of(remote) is None)


CONFIGS = {
    "origin wins": '[remote "upstream"]\n\turl = u\n[remote "origin"]\n\turl = o\n',
    "else the first": '[remote "b"]\nurl = first\n[remote "a"]\nurl = second\n',
    "the first url": '[remote "origin"]\nurl = one\nurl = two\n',
    "on one line": '[remote "origin"] url = o',
    "keys in any case": '[REMOTE "origin"]\nURL = o',
    "the old form": "[remote.origin]\nurl = o",
    "comments": '# c\n; c\n[remote "origin"] # c\n url = o # c\n',
    "a quoted comment": '[remote "origin"]\nurl = "a#b;c" ; d\n',
    "spaces in quotes": '[remote "origin"]\nurl =  " a " b  \n',
    "escapes": '[remote "origin"]\nurl = a\\\\b\\"c\\td\n',
    "a line goes on": '[remote "origin"]\nurl = a\\\nb\n',
    "a name with quotes": '[remote "or\\"i]gin"]\nurl = o\n',
    "carriage returns": '[core]\r\n\tbare = false\r\n[remote "origin"]\r\n\turl = o\r\n',
    "a mark of byte order": '\ufeff[remote "origin"]\nurl = o\n',
    "a key alone": '[core]\n\tbare\n[remote "origin"]\nprune \nurl = o\n',
    "no remote": "[core]\n\tbare = false\n",
    "a remote without url": '[remote "origin"]\n\tfetch = +refs/*\n',
    "nothing": "",
}
BROKEN = [
    "[remote",
    "[core]\n= x",
    "[core]\nurl x",
    '[core]\nx = "a',
    "[core]\nx = a\\q",
    "<<<<<<< HEAD\n",
    "[a b]\n",
]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_reads_as_git_reads_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(CONFIGS[name].encode())
    ask = ["git", "config", "--file", str(tmp_path / "config"), "--null", "--get-regexp", r"^remote\..*\.url$"]
    said = subprocess.run(ask, capture_output=True, check=False).stdout.decode()
    urls = [each.split("\n", 1) for each in said.split("\0") if each]
    origins = [url for name, url in urls if name == "remote.origin.url"]
    expected = next(iter(origins), urls[0][1] if urls else None)
    assert remote_in(CONFIGS[name]) == expected


@pytest.mark.parametrize("config", BROKEN)
def test_what_git_refuses_is_refused(config: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(config)
    ask = ["git", "config", "--file", str(tmp_path / "config"), "--list"]
    assert subprocess.run(ask, capture_output=True, check=False).returncode != 0
    with pytest.raises(ValueError, match="git"):
        remote_in(config)


@given(st.text(alphabet='[]remote"origin \n\turl=\\#;ab'))
def test_any_configuration_is_read_or_refused(config: str) -> None:
    with contextlib.suppress(ValueError):
        assert remote_in(config) != ""


def test_a_configuration_of_a_megabyte_is_read() -> None:
    value = "a" * 450_000
    assert remote_in(f'[remote "origin"]\n\turl = {value}') == value
    assert remote_in('[remote "origin"]\n\turl = "' + "\\\\" * 225_000 + '"') == "\\" * 225_000
    assert canonical_address("https://" + "@[" * 450_000) is None
