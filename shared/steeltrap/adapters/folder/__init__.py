"""Users' files in folders of the local disk: one folder per user, which no name given by a client leaves."""

from .files import FolderFiles

__all__ = ["FolderFiles"]
