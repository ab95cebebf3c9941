"""Users' files in a bucket of S3: one prefix per user, which no name given by a client leaves."""

from .files import BucketFiles

__all__ = ["BucketFiles"]
