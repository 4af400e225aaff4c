"""Tokens: decoding returns what was encoded, and an incomplete token is refused."""

from __future__ import annotations

import random
import zlib
from base64 import urlsafe_b64encode

import pytest

from resonate_core.testing.tokens import PREFIX, decode, encode


@pytest.mark.parametrize("seed", range(20))
def test_there_and_back(seed: int):
    generator = random.Random(seed)
    tape = [generator.choice([0, 1, 127, 128, 300, 2**70]) for _ in range(generator.randrange(200))] + [1]
    name = "module.täst:scenario"
    assert decode(encode(name, tape)) == (name, tape)


def test_zeros_at_the_end_are_left_out():
    assert encode("m:f", [1, 0, 0]) == encode("m:f", [1])
    assert decode(encode("m:f", [0, 0])) == ("m:f", [])


def test_a_token_may_be_broken_into_lines():
    token = encode("m:f", list(range(100)))
    assert decode(f"  {token[:20]}\n  {token[20:]}\n") == ("m:f", list(range(100)))


def test_a_token_is_plain_text():
    token = encode("m:f", [300] * 50)
    assert token.startswith("rct_")
    assert token.removeprefix("rct_").replace("_", "a").replace("-", "a").isalnum()


@pytest.mark.parametrize("token", ["", "abc", "rct", "tok_abcd"])
def test_another_text_is_refused(token: str):
    with pytest.raises(ValueError, match="token must begin with rct_, got "):
        decode(token)


def test_a_token_that_is_cut_or_changed_is_refused():
    token = encode("m:f", list(range(1, 40)))
    for wrong in [
        *(token[:at] for at in range(len(PREFIX), len(token))),
        token[:9] + ("A" if token[9] != "A" else "B") + token[10:],
    ]:
        with pytest.raises(ValueError, match="token must be a whole token"):
            decode(wrong)


def test_a_small_token_cannot_fill_the_memory():
    packed = zlib.compress(bytes([1, 65]) + bytes(50_000_000), 9)
    bomb = PREFIX + urlsafe_b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode().rstrip("=")
    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match="token must be a whole token"):
        decode(bomb)
