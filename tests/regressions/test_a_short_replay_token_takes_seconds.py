"""A replay token of 562 characters took 4.4 s to decode.

Its tape was one number of 400,000 bytes, and each byte was added to a number that grew with it. Numbers, their count and the bytes
of a tape are bounded now, on both sides: what `encode` takes, `decode` takes.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64encode

import pytest

from resonate_core.testing import Choices, explore
from resonate_core.testing.tokens import MOST_NUMBERS, PREFIX, decode, encode


def token_of(body: bytes) -> str:
    """A token with a right checksum around any bytes."""
    packed = zlib.compress(body, 9)
    return PREFIX + urlsafe_b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode().rstrip("=")


@pytest.mark.parametrize(
    "body",
    [
        b"\x01a" + b"\xff" * 400_000 + b"\x01",
        b"\x01a" + b"\xff" * 40 + b"\x01",
        b"\xff" * 400_000 + b"\x01",
        b"\x01a" + b"\x01" * (MOST_NUMBERS + 1),
        b"\x01a" + b"\x81\x01" * (MOST_NUMBERS + 1),
        b"\x01a" + b"\xff" * 5,
        b"\x01a" + b"\xff" * 15_000_000,
        b"\x7fa",
        b"\x00" * 100_000_000,
    ],
    ids=[
        "long number",
        "number of 41 bytes",
        "long length",
        "count",
        "count of two bytes",
        "cut off",
        "long and cut off",
        "name cut off",
        "bomb",
    ],
)
def test_a_token_beyond_the_bounds_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="token must be a whole token"):
        decode(token_of(body))


@pytest.mark.parametrize("tape", [[2**256 - 1, 1], [0] * 5 + [1], [1] * MOST_NUMBERS])
def test_what_is_encoded_is_decoded(tape: list[int]) -> None:
    assert decode(encode("a", tape)) == ("a", tape)


@pytest.mark.parametrize("tape", [[2**256], [1] * (MOST_NUMBERS + 1), [-1]])
def test_a_tape_beyond_the_bounds_is_not_encoded(tape: list[int]) -> None:
    with pytest.raises(ValueError, match="tape must have"):
        encode("a", tape)


def test_a_choice_beyond_the_bounds_is_refused_before_a_token_needs_it() -> None:
    choices = Choices.from_tape([])
    assert choices.integer(0, 2**256 - 1) == 0
    with pytest.raises(ValueError, match="high must be less than low plus 2\\^256"):
        choices.integer(0, 2**256)
    with pytest.raises(ValueError, match="limit must be from 1 to"):
        explore(lambda choices: None, limit=MOST_NUMBERS + 1)
