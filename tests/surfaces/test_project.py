"""Projects: the folders of one repository are one project, whoever cloned it where; everything else is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steeltrap import project
from steeltrap.project import Project, project_of
from steeltrap.text.limits import check_scope

REMOTE = "https://git.example/acme/widgets.git"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, without the machine's settings of git."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_CONFIG_NOSYSTEM"]:
        monkeypatch.delenv(name)
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True, capture_output=True)


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "First")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def known(folder: Path) -> Project:
    project = project_of(folder)
    assert project is not None
    assert check_scope(project.scope) == project.scope
    return project


def test_clones_by_https_and_ssh_are_one_project_and_other_repositories_are_others(tmp_path: Path) -> None:
    first = known(repository(tmp_path / "widgets", "https://ana:s3cret@git.example/acme/widgets.git"))
    second = known(repository(tmp_path / "elsewhere/my-clone", "git@git.example:acme/widgets"))
    other = known(repository(tmp_path / "other/widgets", "https://git.example/emca/widgets"))
    assert first.scope == second.scope == known(tmp_path / "widgets/.git").scope
    assert other.scope != first.scope
    assert (first.name, second.name) == ("widgets", "my-clone")
    assert first.scope.startswith("git/widgets-")
    assert "s3cret" not in str(first)


def test_every_folder_below_and_a_link_to_one_belong_to_the_project(tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets", REMOTE)
    (top / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(top / "a")
    assert known(top) == known(top / "a/b") == known(tmp_path / "link/b") == known(top / "a/../a")


def test_the_remote_origin_decides_else_the_first(tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets")
    alone = known(top)
    git(top, "remote", "add", "upstream", "https://git.example/up/widgets")
    upstream = known(top)
    git(top, "remote", "add", "backup", "https://git.example/backup/widgets")
    assert known(top) == upstream != alone
    git(top, "remote", "add", "origin", REMOTE)
    assert known(top).scope == known(repository(tmp_path / "clone", REMOTE)).scope != upstream.scope


@pytest.mark.parametrize("remote", [None, REMOTE])
def test_worktrees_share_a_project(remote: str | None, tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets", remote)
    git(top, "worktree", "add", str(tmp_path / "trees/fix"))
    assert known(tmp_path / "trees/fix") == known(top)
    assert known(top).name == "widgets"


def test_worktrees_of_a_bare_repository_share_a_project(tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets")
    work = tmp_path / "work"
    git(tmp_path, "clone", "--quiet", "--bare", str(top), str(work / ".bare"))
    git(work / ".bare", "remote", "remove", "origin")
    (work / ".git").write_text("gitdir: ./.bare\n")
    git(work, "worktree", "add", str(work / "a"))
    git(work, "worktree", "add", str(work / "b"))
    assert known(work) == known(work / "a") == known(work / "b") != known(top)
    assert known(work).name == "work"


def test_repositories_without_a_remote_are_told_apart_by_where_they_are(tmp_path: Path) -> None:
    first, second = repository(tmp_path / "a/widgets"), repository(tmp_path / "b/widgets")
    assert known(first).scope != known(second).scope
    assert known(first).name == known(second).name == "widgets"


def test_clones_of_a_folder_share_a_project_with_each_other(tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets")
    git(tmp_path, "clone", "--quiet", str(top), str(tmp_path / "one"))
    git(tmp_path, "clone", "--quiet", f"file://{top}/.git", str(tmp_path / "two"))
    git(tmp_path / "two", "remote", "set-url", "origin", "../widgets")
    assert known(tmp_path / "one").scope == known(tmp_path / "two").scope == known(top).scope


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part, top = repository(tmp_path / "part"), repository(tmp_path / "widgets", REMOTE)
    git(top, "submodule", "--quiet", "add", str(part), "libs/part")
    assert known(top / "libs").scope == known(top).scope
    assert known(top / "libs/part").scope == known(part).scope != known(top).scope
    git(top / "libs/part", "remote", "remove", "origin")
    assert known(top / "libs/part").scope not in (known(part).scope, known(top).scope)


def test_an_address_that_is_not_understood_leaves_the_folder_to_decide(tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets")
    alone = known(top)
    git(top, "remote", "add", "origin", "https://ana:s3/cret@git.example/x")
    assert known(top) == alone


def test_a_home_folder_that_is_a_repository_is_no_project_and_what_is_inside_it_may_be(home: Path) -> None:
    git(home, "init", "--quiet")
    git(home, "remote", "add", "origin", "https://git.example/ana/dotfiles")
    (home / "notes/2026").mkdir(parents=True)
    assert project_of(home) is None
    assert project_of(home / "notes/2026") is None
    assert known(repository(home / "code/widgets", REMOTE)).name == "widgets"


def test_a_repository_above_the_home_folder_is_no_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet")
    assert project_of(tmp_path) is None
    assert project_of(home) is None
    monkeypatch.setenv("HOME", "/nowhere")
    assert project_of(home) is not None
    assert project_of(Path("/")) is None


def test_the_environment_of_another_repositorys_git_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, other = repository(tmp_path / "widgets", REMOTE), repository(tmp_path / "other", "https://git.example/o/o")
    expected = known(top)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert known(top) == expected


def test_git_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "widgets", REMOTE)
    monkeypatch.setenv("PATH", "/nowhere")
    assert known(top).name == "widgets"


def broken(top: Path, how: str) -> Path:
    """A folder whose repository git would not open, or that has none."""
    git_folder, config = top / ".git", top / ".git/config"
    if how == "no repository":
        git_folder.rename(top / "old")
    elif how == "an empty .git":
        git_folder.rename(top / "old")
        git_folder.mkdir()
    elif how == "an empty file .git":
        git_folder.rename(top / "old")
        git_folder.write_text("")
    elif how == "a gitdir that is gone":
        git_folder.rename(top / "old")
        git_folder.write_text("gitdir: /nowhere/at/all\n")
    elif how == "a gitdir with a NUL":
        git_folder.rename(top / "old")
        git_folder.write_text("gitdir: a\0b\n")
    elif how == "a broken configuration":
        config.write_text('[remote "origin"\nurl = x\n')
    elif how == "a configuration that is a folder":
        config.unlink()
        config.mkdir()
    elif how == "a configuration that is a pipe":
        config.unlink()
        os.mkfifo(config)
    elif how == "a huge configuration":
        config.write_text("#" * (1 << 21))
    elif how == "links in a circle":
        (top / "circle").symlink_to(top / "circle")
        return top / "circle"
    elif how == "a bare repository":
        git(top, "clone", "--quiet", "--bare", ".", "../bare.git")
        return top.parent / "bare.git"
    else:
        return top / "not" / "there" if how == "no folder" else Path("a\0b")
    return top


@pytest.mark.parametrize(
    "how",
    [
        "no repository",
        "an empty .git",
        "an empty file .git",
        "a gitdir that is gone",
        "a gitdir with a NUL",
        "a broken configuration",
        "a configuration that is a folder",
        "a configuration that is a pipe",
        "a huge configuration",
        "a bare repository",
        "a name with a NUL",
    ],
)
def test_what_git_would_not_open_is_no_project_and_no_error(how: str, tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets", REMOTE)
    assert project_of(top) is not None
    assert project_of(broken(top, how)) is None


@pytest.mark.parametrize("how", ["no folder", "links in a circle"])
def test_a_folder_that_is_not_there_belongs_to_the_repository_around_it(how: str, tmp_path: Path) -> None:
    top = repository(tmp_path / "widgets", REMOTE)
    assert project_of(broken(top, how)) == known(top)


def test_an_unreadable_repository_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "widgets", REMOTE)

    def refused(path: Path, most: int) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(project, "read_regular", refused)
    assert project_of(top) is None


@pytest.mark.parametrize(
    ("folder", "name", "words"),
    [
        ("two\nlines", "two lines", "git/two-lines-"),
        ("ワイド", "ワイド", "git/"),
        ("x" * 200, "x" * 64, f"git/{'x' * 64}-"),
        ("a b", "a b", "git/a-b-"),
    ],
)
def test_any_name_of_a_folder_gives_a_scope_and_a_name_on_one_line(
    folder: str, name: str, words: str, tmp_path: Path
) -> None:
    project = known(repository(tmp_path / folder))
    assert project.name == name
    assert project.scope.startswith(words)


def test_a_folder_whose_name_is_not_text_is_a_project_too(tmp_path: Path) -> None:
    project = known(repository(Path(os.fsdecode(os.fsencode(tmp_path) + b"/wid\xffgets"))))
    assert project.name.encode() == b"wid gets"


def test_nothing_but_the_standard_library_is_imported() -> None:
    code = "import sys; before = set(sys.modules); import steeltrap.project; print(*set(sys.modules) - before)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert {name for name in said.split() if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "steeltrap",
        "steeltrap.project",
        "steeltrap.local_files",
        "steeltrap.version",
    }
