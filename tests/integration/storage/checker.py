"""Compares a store with the answers that its writers got.

    checker.py STORE < answers

Prints the numbers of answers, of lost answers, of broken invariants, and of unblocks that are missing in the outbox.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import resonate_core as rc

STATES = {"pending": {"pending"}, "listening": {"pending", "resolved"}, "unblocked": {"resolved"}, "resolved": {"resolved"}}


def main(path: str, answers: Iterable[str]) -> int:
    """Returns the exit status: 0 if nothing is lost and no invariant is broken."""
    answered = lost = unblocks_lost = 0
    broken = [] if "://" in path else [str(problem) for problem in rc.check_file(path)]
    with rc.Store(path, read_only=True) as store:
        broken += [f"{one.name} ({one.id})" for one in store.check()]
        unblocked = {
            message.message["data"]["promise"]["id"] for message in store.messages() if message.message["kind"] == "unblock"
        }
        for line in answers:
            what, *names = line.split()
            for name in names:
                answered += 1
                try:
                    state = store.promises.get(name).state
                except rc.errors.NotFound:
                    state = "absent"
                if what == "acquired":
                    lost += store.tasks.get(name).version < 1 if state != "absent" else 1
                else:
                    lost += state not in STATES[what]
                if what == "unblocked":
                    unblocks_lost += name not in unblocked
    print(f"answered {answered}, lost {lost}, broken invariants {len(broken)}, unblocks lost {unblocks_lost}")
    for problem in broken[:10]:
        print(problem)
    return 0 if lost == unblocks_lost == len(broken) == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin))
