"""One of several processes on one store: sends random requests and prints the requests and their answers.

process.py STORE NAME SEED REQUESTS
"""

from __future__ import annotations

import json
import random
import sys
import time

import resonate_core as rc

FAR = 4 * 10**12
HEAD = {"corrId": "1", "version": "2026-04-01"}
TASKS, PROMISES = 6, 6
LIFE = 50
"""The number of requests of a process after which all processes use other ids, since settled promises change no more."""


def request(chance: random.Random, name: str, number: int) -> dict:
    """A random request, the n-th of its process, on one of a few promises and tasks that all processes use."""
    task, promise = (f"{kind}{chance.randrange(count)}.{number // LIFE}" for kind, count in (("t", TASKS), ("p", PROMISES)))
    version = chance.randrange(4)
    settlement = {"id": task, "state": chance.choice(["resolved", "rejected"]), "value": {"data": name}}
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
            ("task.acquire", {"id": task, "version": version, "pid": name, "ttl": FAR}),
            ("task.release", {"id": task, "version": version}),
            ("task.halt", {"id": task}),
            ("task.continue", {"id": task}),
            (
                "task.fulfill",
                {"id": task, "version": version, "action": {"kind": "promise.settle", "head": HEAD, "data": settlement}},
            ),
            ("task.get", {"id": task}),
            ("task.get", {"id": task}),
        ]
    )
    return {"kind": kind, "head": HEAD, "data": data}


def main() -> None:
    path, name, seed, requests = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    store = rc.Store(path, clock=rc.ManualClock(0), durability="normal", busy_timeout=60_000)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(requests):
        asked = request(chance, name, number)
        begin = time.monotonic_ns()
        seen = store.apply(asked)
        print(json.dumps([begin, time.monotonic_ns(), asked, seen]), flush=True)
    store.close()


if __name__ == "__main__":
    main()
