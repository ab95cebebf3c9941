"""The contract of every place for users' files."""

import pytest

from steeltrap.errors import InvalidInput, NotFound, TooLarge
from steeltrap.model import UserRef
from steeltrap.ports import FileStore
from steeltrap.text.limits import check_file_name

LIMIT = 1000

HOSTILE = [
    "",
    ".",
    "..",
    "/etc/passwd",
    "../other.json",
    "a/../../other.json",
    "a/..",
    "a//b",
    "a/",
    "/",
    ".hidden",
    "a/.hidden",
    "..\\other.json",
    "a\\b",
    "a\x00b",
    "é.json",
    "\u2024\u2024/other.json",
    "\uff0e\uff0e/other.json",
    "x" * 256,
    "a/" * 200 + "b",
]


class FilesContract:
    """A test file earns it by a fixture `files`, which makes a FileStore, and a class that inherits this one."""

    def test_what_is_written_is_read_again(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        ana.write("memories.json", b"first")
        ana.write("backup/2026/memories.json.gz", b"\x00\xff")
        assert ana.read("memories.json", max_bytes=LIMIT) == b"first"
        assert ana.read("backup/2026/memories.json.gz", max_bytes=LIMIT) == b"\x00\xff"
        assert ana.names() == ["backup/2026/memories.json.gz", "memories.json"]

    def test_writing_again_replaces_the_whole_file(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        ana.write("memories.json", b"a long first content")
        ana.write("memories.json", b"short")
        assert ana.read("memories.json", max_bytes=LIMIT) == b"short"
        assert ana.names() == ["memories.json"]

    def test_an_empty_file_is_a_file(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        ana.write("empty", b"")
        assert ana.read("empty", max_bytes=0) == b""

    def test_an_unknown_name_is_not_found(self, files: FileStore) -> None:
        with pytest.raises(NotFound, match=r"missing\.json"):
            files.files(UserRef("ana")).read("missing.json", max_bytes=LIMIT)
        assert files.files(UserRef("ana")).names() == []

    def test_no_more_than_asked_for_is_read(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        ana.write("memories.json", b"x" * 11)
        assert len(ana.read("memories.json", max_bytes=11)) == 11
        with pytest.raises(TooLarge, match="10"):
            ana.read("memories.json", max_bytes=10)

    def test_a_name_that_leads_elsewhere_is_refused_in_a_sentence(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        files.files(UserRef("ben")).write("other.json", b"of ben")
        for name in HOSTILE:
            with pytest.raises(InvalidInput, match=r"\.$"):
                ana.write(name, b"x")
            with pytest.raises(InvalidInput, match=r"\.$"):
                ana.read(name, max_bytes=LIMIT)
            assert ana.names() == [], ascii(name)
        assert files.files(UserRef("ben")).read("other.json", max_bytes=LIMIT) == b"of ben"

    @pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:30])
    def test_such_a_name_does_not_reach_a_store(self, name: str) -> None:
        with pytest.raises(InvalidInput, match=r"backup/memories\.json"):
            check_file_name(name)

    @pytest.mark.parametrize("name", ["a/b/c/d/e/f.json", "x" * 201, "a b", "a:b", "a\nb", "memories.json\n"])
    def test_neither_does_one_that_other_systems_would_refuse(self, name: str) -> None:
        with pytest.raises(InvalidInput):
            check_file_name(name)

    @pytest.mark.parametrize(
        "name", ["memories.json", "backup/2026-01-01/memories.json.gz", "a/b/c/d/e.json", "x" * 200]
    )
    def test_a_plain_name_does(self, files: FileStore, name: str) -> None:
        files.files(UserRef("ana")).write(check_file_name(name), b"x")
        assert files.files(UserRef("ana")).names() == [name]

    def test_a_file_and_a_folder_of_one_name_are_refused(self, files: FileStore) -> None:
        ana = files.files(UserRef("ana"))
        ana.write("backup", b"x")
        with pytest.raises(InvalidInput):
            ana.write("backup/memories.json", b"x")
        ana.write("folder/memories.json", b"x")
        with pytest.raises(InvalidInput):
            ana.write("folder", b"x")

    @pytest.mark.parametrize(
        "other", [("ben", ""), ("ana", "acme"), ("ANA", ""), ("../ana", ""), ("", "ana"), ("an", "a")]
    )
    def test_one_users_files_are_nobody_elses(self, files: FileStore, other: tuple[str, str]) -> None:
        files.files(UserRef("ana")).write("memories.json", b"of ana")
        user, tenant = other
        theirs = files.files(UserRef(user, tenant))
        assert theirs.names() == []
        with pytest.raises(NotFound):
            theirs.read("memories.json", max_bytes=LIMIT)

    def test_forgetting_a_user_removes_every_file_and_nobody_elses(self, files: FileStore) -> None:
        files.files(UserRef("ana")).write("a.json", b"of ana")
        files.files(UserRef("ana")).write("backup/b.json", b"of ana")
        files.files(UserRef("ana", "acme")).write("a.json", b"of another")
        assert files.forget_user(UserRef("ana")) is True
        assert files.files(UserRef("ana")).names() == []
        assert files.files(UserRef("ana", "acme")).names() == ["a.json"]
        assert files.forget_user(UserRef("ana")) is False
        files.files(UserRef("ana")).write("a.json", b"new")
        assert files.files(UserRef("ana")).names() == ["a.json"]
