"""The token of a run: its scenario's name and its tape, as text that can be copied."""

from __future__ import annotations

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence

__all__ = ["PREFIX", "decode", "encode"]

#: What each token begins with.
PREFIX = "rct_"

#: No more than this many bytes are decompressed: a token of a few bytes could fill the memory.
_LARGEST = 16_000_000


def encode(name: str, tape: Sequence[int]) -> str:
    """Return the token of a run.

    Its bytes are a checksum of four, then the name and the tape, compressed. Zeros at the end of the tape are left out: beyond its end
    each choice is the simplest.

    Args:
        name: Of the scenario.
        tape: The values of the choices, each at least 0.

    Example:
        >>> decode(encode("shop:order", [0, 300, 1, 0]))
        ('shop:order', [0, 300, 1])
    """
    end = len(tape)
    while end and tape[end - 1] == 0:
        end -= 1
    text = name.encode()
    body = bytearray(_number(len(text)))
    body += text
    for value in tape[:end]:
        body += _number(value)
    packed = zlib.compress(bytes(body), 9)
    return PREFIX + urlsafe_b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode().rstrip("=")


def decode(token: str) -> tuple[str, list[int]]:
    """Return the name of the scenario and the tape of a token. Space and line breaks around and inside it are ignored.

    Raises:
        ValueError: It is not a token, or not a whole one.
    """
    text = "".join(token.split())
    if not text.startswith(PREFIX):
        raise ValueError(f"token must begin with {PREFIX}, got {token[:40]!r}")
    try:
        raw = urlsafe_b64decode(text[len(PREFIX) :] + "=" * (-(len(text) - len(PREFIX)) % 4))
        if zlib.crc32(raw[4:]) != int.from_bytes(raw[:4], "big"):
            raise ValueError("checksum")
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(raw[4:], _LARGEST)
        if unpacker.unconsumed_tail:
            raise ValueError("size")
        values = _numbers(body)
        length, start = next(values)
        name = body[start : start + length].decode()
        return name, [value for value, _ in _numbers(body, start + length)]
    except (binascii.Error, zlib.error, ValueError, StopIteration) as error:
        raise ValueError(f"token must be a whole token, got {token[:40]!r} of {len(text)} characters: copy it again") from error


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth bit says that more follow."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _numbers(body: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield each number from `start` on, with the position after it."""
    value = shift = 0
    for at in range(start, len(body)):
        value |= (body[at] & 0x7F) << shift
        shift += 7
        if body[at] < 0x80:
            yield value, at + 1
            value = shift = 0
    if shift:
        raise ValueError("cut off")
