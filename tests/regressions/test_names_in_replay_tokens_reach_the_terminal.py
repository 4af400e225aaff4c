"""The name of a scenario in a replay token that a stranger made was put into the error of `explore`, whole and with its escape sequences.

It is cut and has escapes now. A token with other characters than its own is no token: Python's decoder passed over them.
"""

from __future__ import annotations

from typing import Any

import pytest

from resonate_core.testing import Choices, explore
from resonate_core.testing.pytest_explore import Explorer
from resonate_core.testing.tokens import decode, encode

FORGED = "scen\x1b]0;OWN\x07\nforged\u202e"


def passes(choices: Choices) -> None:
    choices.integer(0, 1)


def _explored(token: str) -> str:
    with pytest.raises(ValueError, match="must be") as refused:
        explore(passes, replay=token)
    return str(refused.value)


@pytest.mark.parametrize("name", [FORGED, "a" * 100_000, FORGED + "b" * 100_000])
def test_the_error_of_another_scenario(name: str) -> None:
    text = _explored(encode(name, [1]))
    assert text.isprintable()
    assert len(text) < 1000


def test_the_option_of_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer: Any = object.__new__(Explorer)
    with pytest.raises(pytest.skip.Exception) as skipped:
        explorer._token_of(passes, encode(FORGED + "b" * 100_000, [1]))
    assert str(skipped.value).isprintable()
    assert len(str(skipped.value)) < 1000


@pytest.mark.parametrize("put_in", ["\x1b[31m", "\x07", "é", "+"])
def test_other_characters_make_no_token(put_in: str) -> None:
    token = encode("a:b", [1, 2, 3])
    with pytest.raises(ValueError, match="token must be a whole token"):
        decode(token[:12] + put_in + token[12:])
    assert decode(f" {token[:12]}\n{token[12:]} ") == ("a:b", [1, 2, 3])
