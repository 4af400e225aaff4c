"""The token of a run: its scenario's name and its tape, as text that can be copied."""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

__all__ = ["LARGEST_NUMBER", "MOST_NUMBERS", "PREFIX", "decode", "encode"]

#: What each token begins with.
PREFIX = "rct_"

#: The most choices of a tape, and the largest of them: a token of a few characters must not cost seconds or fill the memory.
MOST_NUMBERS, LARGEST_NUMBER = 2_000_000, 2**256 - 1
#: The most bytes of a number, of a tape and its name.
_MOST_BYTES, _LARGEST = 37, 16_000_000

#: The bytes of a number, whose eighth bit says that more follow; or several numbers of one byte.
_BYTES = re.compile(rb"[\x80-\xff]+[\x00-\x7f]|[\x00-\x7f]+")
#: What follows the prefix. The decoder of Python passes over any other character, so a token could hold escape sequences of a terminal.
_TEXT = re.compile(r"[A-Za-z0-9_-]*")


def encode(name: str, tape: Sequence[int]) -> str:
    """Return the token of a run.

    Its bytes are a checksum of four, then the name and the tape, compressed. Zeros at the end of the tape are left out: beyond its end
    each choice is the simplest.

    Args:
        name: Of the scenario.
        tape: The values of the choices: at most `MOST_NUMBERS`, each from 0 to `LARGEST_NUMBER`.

    Raises:
        ValueError: The tape is longer, or has another value, or name and tape have more than 16,000,000 bytes.

    Example:
        >>> decode(encode("shop:order", [0, 300, 1, 0]))
        ('shop:order', [0, 300, 1])
    """
    end = len(tape)
    while end and tape[end - 1] == 0:
        end -= 1
    if end > MOST_NUMBERS or any(not 0 <= value <= LARGEST_NUMBER for value in tape[:end]):
        raise ValueError(f"tape must have at most {MOST_NUMBERS} values, each from 0 to 2^256 - 1, got {end} values")
    text = name.encode()
    body = bytearray(_number(len(text)))
    body += text
    for value in tape[:end]:
        body += _number(value)
    if len(body) > _LARGEST:
        raise ValueError(f"tape must have at most {_LARGEST} bytes with the name, got {len(body)}")
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
        if not _TEXT.fullmatch(text, len(PREFIX)):
            raise ValueError("character")
        raw = urlsafe_b64decode(text[len(PREFIX) :] + "=" * (-(len(text) - len(PREFIX)) % 4))
        if zlib.crc32(raw[4:]) != int.from_bytes(raw[:4], "big"):
            raise ValueError("checksum")
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(raw[4:], _LARGEST)
        if unpacker.unconsumed_tail:
            raise ValueError("size")
        length, start = _length(body)
        name = body[start : start + length].decode()
        return name, _numbers(body, start + length)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError(f"token must be a whole token, got {token[:40]!r} of {len(text)} characters: copy it again") from error


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth bit says that more follow."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _length(body: bytes) -> tuple[int, int]:
    """Return the length of the name, and where the name begins."""
    length, start = 0, 0
    while start < len(body) and start < _MOST_BYTES:
        length |= (body[start] & 0x7F) << 7 * start
        start += 1
        if body[start - 1] < 0x80:
            if length > len(body) - start:
                break
            return length, start
    raise ValueError("name")


def _numbers(body: bytes, start: int) -> list[int]:
    """Return the numbers from `start` on."""
    if body[start:] and body[-1] >= 0x80:  # before the search: each of its matches then ends, so that it reads each byte once
        raise ValueError("cut off")
    found: list[int] = []
    for match in _BYTES.finditer(body, start):
        part = match[0]
        if part[0] < 0x80:
            found += part
        else:
            if len(part) > _MOST_BYTES:
                raise ValueError("range")
            value = 0
            for byte in reversed(part):
                value = value << 7 | byte & 0x7F
            found.append(value)
        if len(found) > MOST_NUMBERS or found[-1] > LARGEST_NUMBER:
            raise ValueError("range")
    return found
