"""Where a text that is too long for one memory is cut: between paragraphs, else lines, else words. Pure."""

from typing import Final

_SEPARATORS: Final = ("\n\n", "\n", " ")


def pieces(text: str, most: int) -> list[str]:
    """The text in pieces of at most `most` bytes of UTF-8, which together are all of it but the space at the cuts."""
    found: list[str] = []
    data = text.encode()
    while len(data) > most:
        window = data[:most]
        end = next((at for separator in _SEPARATORS if (at := window.rfind(separator.encode())) > most // 2), most)
        while end > 0 and end < len(data) and data[end] & 0xC0 == 0x80:  # inside of a character
            end -= 1
        found.append(data[:end].decode())
        data = data[end:]
    found.append(data.decode())
    return [piece.strip() for piece in found if piece.strip()]
