"""Stored text in answers that are read line by line."""

from ..text.frames import without_marks


def one_line(text: str) -> str:
    """Text without line breaks and marks of frames, so that what is stored can't forge a heading or an item, or end
    what a client puts around the answer.

    Each line break (as `str.splitlines` defines it), with the white space around it, becomes one space. The rest is
    unchanged.
    """
    lines = text.splitlines()
    return without_marks(text if lines == [text] else " ".join(line.strip() for line in lines if line.strip()))
