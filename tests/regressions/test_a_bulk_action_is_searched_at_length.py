"""A bulk action of 2 MB that was answered with 200, each of its ids refused, was searched for redacted values as a whole, and its answer, too: 4 s in
which other tenants waited for the thread. Its ids have a limit together, and it has no other members."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from regressions.test_refused_actions_are_searched_at_length import searched
from ui.ui_client import client_of

LONG = "- name: password\n" * 110_000
BODIES: dict[str, dict[str, Any]] = {
    "long ids": {"ids": [f"b.{n}{LONG[:3500]}" for n in range(500)]},
    "ids of the usual limit": {"ids": [f"b.{n}{LONG[:1990]}" for n in range(500)]},
    "one long id": {"ids": [f"b.{LONG}"]},
    "another member": {"ids": [f"b.{n}" for n in range(500)], "x": LONG},
    "a list in it": {"ids": ["b.1"], "x": [LONG[:17_000]] * 110},
}


@pytest.mark.parametrize("tried", [False, True], ids=["done", "preview"])
@pytest.mark.parametrize("name", BODIES)
def test_it_is_refused(name: str, tried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), prefix="b.", redact_keys=["password"])
    sizes = searched(monkeypatch)
    answer = ui.do("bulk", {"kind": "job.cancel", **BODIES[name]}, preview=tried)
    assert answer.status_code == 400 and answer.json()["error"].startswith("data"), answer.text[:200]
    assert sum(sizes) < 300_000


@pytest.mark.parametrize("tried", [False, True], ids=["done", "preview"])
def test_the_largest_is_searched_within_bounds(tried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), prefix="b.", redact_keys=["password"])
    ids = [f"b.{n:03}{LONG[:126]}" for n in range(500)]
    assert 65_000 < sum(map(len, ids)) <= 65_536
    sizes = searched(monkeypatch)
    answer = ui.do("bulk", {"kind": "job.cancel", "ids": ids}, preview=tried)
    assert answer.status_code == 200, answer.text[:200]
    assert sum(sizes) < 1_000_000
