"""Stored text in answers that are read line by line."""


def one_line(text: str) -> str:
    """Text without line breaks, so that what is stored can't forge a heading or an item.

    Each line break (as `str.splitlines` defines it), with the white space around it, becomes one space. The rest is
    unchanged.
    """
    lines = text.splitlines()
    return text if lines == [text] else " ".join(line.strip() for line in lines if line.strip())
