"""Stored text inside answers that are read line by line."""


def one_line(text: str) -> str:
    """Text without line breaks, so that what is stored can't forge a heading or an item.

    A break of any kind that Unicode or ASCII knows (`str.splitlines`), with the white space around it,
    becomes one space; the rest stays as it is.
    """
    lines = text.splitlines()
    return text if lines == [text] else " ".join(line.strip() for line in lines if line.strip())
