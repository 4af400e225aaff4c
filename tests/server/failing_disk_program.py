"""An app on a file whose disk fails at its n-th write or sync, for every n, with several requests at once.

failing_disk_program.py LIBRARY FOLDER, with the library preloaded, prints a JSON line for each n
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import logging
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from resonate_core import ManualClock, Store
from resonate_core.asgi import PushSettings, create_app
from server.app_calls import call

FAR = 10**15
WRITES, SYNCS = 0, 1
MOST = 40


def envelope(kind: str, id: str, **data: Any) -> bytes:
    head = {"corrId": f"c-{kind}-{id}", "version": "2026-04-01"}
    return json.dumps({"kind": kind, "head": head, "data": {"id": id, **data}}).encode()


async def one(disk: Any, path: Path, what: int, n: int) -> dict[str, Any]:
    """Returns the responses to five requests at once if the n-th call fails, and the rows afterwards."""
    with Store(path, clock=ManualClock(1000), busy_timeout=50) as store:
        app = create_app(store, push=PushSettings(enabled=False))
        async with app.lifespan():
            tags = {"resonate:target": "poll://any@w"}
            first = await call(app, body=envelope("promise.create", "settled", timeoutAt=FAR))
            assert first.status == 200, first
            ids = [f"p{i}" for i in range(4)]
            work = [envelope("promise.create", id, timeoutAt=FAR, tags=tags) for id in ids]
            work.append(envelope("promise.settle", "settled", state="resolved"))
            disk.faulty_disk_arm(what, n, errno.EIO, 0)
            answers = await asyncio.gather(*(call(app, body=one) for one in work))
            reached = disk.faulty_disk_calls(what) >= n
            disk.faulty_disk_disarm()
            problems = []
            for sent, answer in zip(work, answers, strict=True):
                asked, seen = json.loads(sent), answer.json()
                if (seen["kind"], seen["head"]["corrId"]) != (asked["kind"], asked["head"]["corrId"]):
                    problems.append(f"not the answer to {asked}: {seen}")
                if answer.status not in (200, 429, 500) or seen["head"]["status"] != answer.status:
                    problems.append(f"answered {answer}")
                if answer.status != 200 and not isinstance(seen["data"], str):
                    problems.append(f"answered {answer}")
                if answer.status != 200 and b"/" in answer.body:
                    problems.append(f"an answer names a path: {answer}")
            # The disk is well again, and so is the server.
            later = await call(app, body=envelope("promise.create", "later", timeoutAt=FAR))
            ready = await call(app, "GET", "/ready")
            if (later.status, ready.status) != (200, 200):
                problems.append(f"it did not recover: {later}, {ready}")
    statuses = [answer.status for answer in answers]
    with Store(path, clock=ManualClock(1000)) as store:
        there = {row["id"]: row["state"] for row in store.snapshot()["promises"]}
        problems += [f"{one.name}: {one.detail}" for one in store.check()]
    done = [*(id in there for id in ids), there["settled"] == "resolved"]
    problems += [f"{status} and {is_there}" for status, is_there in zip(statuses, done, strict=True) if (status == 200) > is_there]
    return {"n": n, "reached": reached, "statuses": statuses, "done": done, "problems": problems}


def main() -> None:
    logging.disable(logging.CRITICAL)
    disk = ctypes.CDLL(sys.argv[1])
    disk.faulty_disk_calls.restype = ctypes.c_long
    folder = Path(sys.argv[2]).resolve()
    disk.faulty_disk_watch(str(folder).encode(), b"")
    for what in (WRITES, SYNCS):
        for n in range(1, MOST):
            row = asyncio.run(one(disk, folder / f"{what}-{n}.db", what, n))
            print(json.dumps({"what": what, **row}), flush=True)
            if not row["reached"]:
                break


if __name__ == "__main__":
    main()
