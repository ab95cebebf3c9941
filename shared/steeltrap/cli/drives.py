"""Folders on which files don't behave as on a disk of this machine: drives of a network, and folders that a program
syncs."""

import os
import subprocess
import sys
from pathlib import Path, PurePath
from typing import Final

_NETWORK: Final = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs afpfs webdav davfs ceph glusterfs lustre afs ncpfs 9p".split()
    + [
        f"fuse.{name}"
        for name in ("sshfs", "rclone", "s3fs", "gcsfuse", "blobfuse2", "goofys", "mount-s3", "glusterfs")
    ]
)
_SYNCED: Final = (
    ("dropbox", "Dropbox"),
    ("onedrive", "OneDrive"),
    ("icloud", "iCloud"),
    ("mobile documents", "iCloud"),
    ("com~apple~clouddocs", "iCloud"),
    ("cloudstorage", "a cloud drive of macOS"),
    ("google drive", "Google Drive"),
    ("googledrive", "Google Drive"),
    ("nextcloud", "Nextcloud"),
)
"""Beginnings of the names that such programs give their folders, which people seldom change."""


def syncing_program(folder: PurePath) -> str | None:
    """The program that syncs a folder, as far as its path tells."""
    for part in reversed(folder.parts):
        for beginning, program in _SYNCED:
            if part.lower().startswith(beginning):
                return program
    return None


def network_drive(folder: Path) -> str | None:
    """The kind of network drive that a folder, which is there, is on; None for a disk of this machine."""
    if sys.platform == "win32":
        return _windows_drive(folder)
    system = file_system(os.path.realpath(folder), _mounts())
    return system if system in _NETWORK else None


def file_system(path: str, mounts: str) -> str | None:
    """The kind of file system of a path by lines of mounts: those of /proc/self/mounts, or of macOS's `mount`."""
    longest: tuple[int, str | None] = (-1, None)
    for line in mounts.splitlines():
        if " (" in line and " on /" in line:
            _, _, rest = line.partition(" on ")
            point, _, options = rest.rpartition(" (")
            kind = options.split(",")[0].rstrip(")")
        else:
            fields = line.split(" ")
            if len(fields) < 3:
                continue
            point, kind = fields[1].encode().decode("unicode_escape"), fields[2]
        within = point.rstrip("/") + "/"
        if f"{path}/".startswith(within) and len(within) >= longest[0]:  # of mounts over each other the last is seen
            longest = (len(within), kind)
    return longest[1]


def _mounts() -> str:
    try:
        if sys.platform == "darwin":
            return subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False).stdout
        return Path("/proc/self/mounts").read_text()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _windows_drive(folder: Path) -> str | None:
    drive = os.path.splitdrive(os.path.realpath(folder))[0]
    if drive.startswith("\\\\"):
        return "SMB"
    import ctypes

    is_remote = ctypes.windll.kernel32.GetDriveTypeW(f"{drive}\\") == 4  # type: ignore[attr-defined,unused-ignore]
    return "SMB" if is_remote else None
