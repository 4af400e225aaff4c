"""Texts to and from JSON: escaped characters, texts that errors quote, escapes that are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import resonate_core as rc

TEXTS = [
    *(chr(control) for control in range(0x20)),
    '"',
    "\x7f",
    "\x80",
    "\u07ff\u0800",
    "\ud7ff\ue000\uffff",
    "\U00010000",
    "\U0001f601",  # both surrogates are odd numbers
    "\U0003ffff\U00040000",
    "\U0010ffff",
    *("a" * before + "\\" + "b" * (15 - before) for before in range(16)),
]


def ask(text: str) -> Any:
    return json.loads(rc.Store(clock=rc.ManualClock(), check=True).apply_json(text.encode()))


def create(tags: str, timeout: str = "100") -> str:
    head = '{"corrId":"c","version":"2026-04-01"}'
    return f'{{"kind":"promise.create","head":{head},"data":{{"id":"p","timeoutAt":{timeout},"param":{{}},"tags":{tags}}}}}'


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("plain", [True, False], ids=["escaped", "as_it_is"])
def test_a_text_returns_as_it_was(text: str, plain: bool) -> None:
    reply = ask(create(json.dumps({"k": text}, ensure_ascii=plain)))
    assert reply["data"]["promise"]["tags"] == {"k": text}


def test_an_error_names_the_place_in_a_list() -> None:
    data = {"pid": "w", "tasks": [{"id": "a", "version": 1}, {"id": "b", "version": "x"}]}
    head = {"corrId": "c", "version": "2026-04-01"}
    assert "tasks[1].version" in ask(json.dumps({"kind": "task.heartbeat", "head": head, "data": data}))["data"]


@pytest.mark.parametrize("before", ["", "a"])
def test_an_error_cuts_a_long_text_between_characters(before: str) -> None:
    error = ask(create("{}", timeout=json.dumps(before + "\u00e9" * 60)))["data"]
    quoted = json.loads(error[error.index('"') : error.rindex('"') + 1])
    assert quoted == before + "\u00e9" * (40 - len(before)) + "..."


@pytest.mark.parametrize("half", [r"\ud800", r"\ud800\u0041", r"\ud800\ud800", r"\udc00", r"a\udc00\ud800", r"\ud83d\\ude01"])
def test_half_a_pair_of_surrogates_is_a_wrong_value_and_not_broken_json(half: str) -> None:
    reply = ask(create(f'{{"k":"{half}"}}'))
    assert (reply["kind"], reply["head"]["corrId"], reply["head"]["status"]) == ("promise.create", "c", 400)
    assert "not valid Unicode" in reply["data"]
