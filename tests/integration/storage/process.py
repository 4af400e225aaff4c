"""One of several processes on one file: sends random requests and prints the requests and their answers.

process.py FILE NAME SEED REQUESTS
"""

from __future__ import annotations

import json
import random
import sys
import time

import resonate_core as rc

FAR = 10**12
TASKS, PROMISES = 6, 6


def request(chance: random.Random, name: str) -> dict:
    """A random request on one of a few promises and tasks that all processes use."""
    task, promise = f"t{chance.randrange(TASKS)}", f"p{chance.randrange(PROMISES)}"
    version = chance.randrange(4)
    kind, data = chance.choice(
        [
            ("promise.create", {"id": promise, "timeoutAt": FAR, "param": {"data": name}, "tags": {}}),
            ("promise.settle", {"id": promise, "state": chance.choice(["resolved", "rejected"]), "value": {"data": name}}),
            ("promise.get", {"id": promise}),
            (
                "promise.create",
                {"id": task, "timeoutAt": FAR, "param": {"data": name}, "tags": {"resonate:target": "poll://any@w"}},
            ),
            ("task.acquire", {"id": task, "version": version, "pid": name, "ttl": FAR}),
            ("task.acquire", {"id": task, "version": version, "pid": name, "ttl": FAR}),
            ("task.release", {"id": task, "version": version}),
            ("task.get", {"id": task}),
        ]
    )
    return {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}


def main() -> None:
    path, name, seed, requests = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    store = rc.Store(path, clock=rc.ManualClock(0), durability="normal", busy_timeout=60_000)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(requests):
        asked = request(chance, name)
        begin = time.monotonic_ns()
        told = store.apply(asked)
        print(json.dumps([begin, time.monotonic_ns(), asked, told]), flush=True)
    store.close()


if __name__ == "__main__":
    main()
