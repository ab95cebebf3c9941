"""Folders that a network or a syncing program has are known by their paths and mounts."""

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from steeltrap.cli import diagnosis

LINUX = r"""
/dev/sda1 / ext4 rw,relatime 0 0
server:/export /mnt/nfs nfs4 rw,vers=4.2 0 0
//server/share /mnt/my\040share cifs rw 0 0
user@host: /home/ana/remote fuse.sshfs rw 0 0
/dev/sdb1 /mnt/nfs/local ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
"""
MACOS = """
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//ana@server/share on /Volumes/My Share (smbfs, nodev, nosuid, mounted by ana)
server:/export on /Volumes/export (nfs, nodev, nosuid)
"""


@pytest.mark.parametrize(
    ("mounts", "path", "system"),
    [
        (LINUX, "/home/ana", "ext4"),
        (LINUX, "/mnt/nfs/data", "nfs4"),
        (LINUX, "/mnt/nfs2", "ext4"),
        (LINUX, "/mnt/nfs/local/data", "ext4"),
        (LINUX, "/mnt/my share/data", "cifs"),
        (LINUX, "/home/ana/remote", "fuse.sshfs"),
        (MACOS, "/Users/ana", "apfs"),
        (MACOS, "/Volumes/My Share/data", "smbfs"),
        (MACOS, "/Volumes/export", "nfs"),
        ("", "/home/ana", None),
        ("half a\n\n", "/home/ana", None),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(mounts: str, path: str, system: str | None) -> None:
    assert diagnosis.file_system(path, mounts) == system


def test_a_network_drive_is_one_and_a_disk_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagnosis.network_drive(tmp_path) is None
    monkeypatch.setattr(diagnosis, "_mounts", lambda: f"server:/export {tmp_path} nfs rw 0 0")
    assert diagnosis.network_drive(tmp_path) == "nfs"


@pytest.mark.parametrize(
    ("path", "program"),
    [
        (PurePosixPath("/home/ana/Dropbox/memories"), "Dropbox"),
        (PurePosixPath("/home/ana/Dropbox (Acme)/memories"), "Dropbox"),
        (PureWindowsPath(r"C:\Users\ana\OneDrive - Acme\memories"), "OneDrive"),
        (PurePosixPath("/Users/ana/Library/Mobile Documents/com~apple~CloudDocs/x"), "iCloud"),
        (PureWindowsPath(r"C:\Users\ana\iCloudDrive\x"), "iCloud"),
        (PurePosixPath("/Users/ana/Library/CloudStorage/GoogleDrive-a@b.example/My Drive"), "Google Drive"),
        (PurePosixPath("/Users/ana/Library/CloudStorage/Box-Box/x"), "a cloud drive of macOS"),
        (PurePosixPath("/home/ana/.steeltrap"), None),
        (PurePosixPath("/srv/my dropbox"), None),
    ],
)
def test_a_synced_folder_is_known_by_its_path(path: PurePosixPath, program: str | None) -> None:
    assert diagnosis.syncing_program(path) == program
