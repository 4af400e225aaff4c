"""A search for `*` + 1,020 × `a` + `b*` over 5,000 ids of 2 KB took 13 s: matching went back by one character after each mismatch.

`cpp/tests/glob_test.cpp` counts the comparisons; here the results are compared with those of a matcher written from the definition.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.wire import DialectClient


def matches(pattern: str, text: str) -> bool:
    """Matches by the set of reachable positions in the pattern: at a star the id's next character may belong to it or not."""

    def closed(positions: set[int]) -> set[int]:
        for at in sorted(positions):
            while at < len(pattern) and pattern[at] == "*":
                at += 1
                positions.add(at)
        return positions

    positions = closed({0})
    for character in text:
        stays = {at for at in positions if at < len(pattern) and pattern[at] == "*"}
        positions = closed(stays | {at + 1 for at in positions if at < len(pattern) and pattern[at] == character})
    return len(pattern) in positions


@pytest.mark.parametrize("noun", ["promise", "task", "schedule", "job"])
def test_random_patterns(store: Any, noun: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    client = DialectClient(store)
    ids = {"".join(chance.choices("abé", weights=(5, 4, 1), k=chance.randint(1, 12))) for _ in range(200)}
    for id in sorted(ids):
        if noun == "schedule":
            client.schedule(id, cron="0 0 1 1 *").must()
        elif noun == "job":
            client.send("job.enqueue", {"id": id, "type": "t"}).must()
        else:
            client.create(id, target="poll://any@g").must()
    found = 0
    for _ in range(300):
        pattern = "".join(chance.choices("ab*é", weights=(4, 3, 4, 1), k=chance.randint(0, 9)))
        expected = sorted((id for id in ids if matches(pattern, id)), key=str.encode)
        got = [one["id"] for one in client.search(noun, id=pattern, limit=1000).must()[f"{noun}s"]]
        assert got == expected, pattern
        found += len(got)
    assert found > 300, "the patterns match something"


def test_a_long_pattern_on_long_ids(store: Any) -> None:
    client = DialectClient(store)
    for number in range(20):
        client.create(f"{'a' * 2000}{number:02d}").must()
    assert client.found("promise", id="*" + "a" * 1020 + "b*") == []
    assert client.found("promise", id="*" + "a" * 1020 + "*07") == ["a" * 2000 + "07"]
