"""A memory's id in its forms: a lower-case UUID as text, and the 16 bytes that a store keys it by. Pure."""


def to_key(id: str) -> bytes:
    """An id's 16 bytes; b"" for what is no id."""
    digits = id.replace("-", "")
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        return b""
    return key if 2 * len(key) == len(digits) == 32 else b""


def from_key(key: bytes) -> str:
    """The id of 16 bytes."""
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def canonical(id: str) -> str:
    """An id in its one form; "" for what is no id."""
    key = to_key(id)
    return from_key(key) if key else ""
