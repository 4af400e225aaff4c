"""Processes forked after `rc.connect`, or after a worker of a URL was made, used one connection together.

The answer to a request of one process reached another, which returned a wrong job or raised NoEnvelope. Each process now opens
connections of its own. A worker made before a fork had one name in all processes, and ran in none if it ran in the parent.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.testing import serving

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

PROGRAM = """
import asyncio, os, sys, threading, warnings
import resonate_core as rc
from resonate_core.worker import Worker

warnings.simplefilter("ignore")
place, kind = sys.argv[1:3]
CHILDREN, JOBS = 5, 12

def ids(k):
    return [f"{k}-{i}" for i in range(JOBS)]

def check(asked, job):
    assert (job.id, job.payload.json()) == (asked, {"of": asked}), f"asked for {asked}, given {job!r}"

def in_children(body):
    children = []
    for k in range(CHILDREN):
        child = os.fork()
        if not child:
            try:
                body(k)
            except BaseException as error:
                print(f"process {k}: {error!r}", flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    body("parent")
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * CHILDREN

def sync():
    client = rc.connect(place, retry_for=0)
    client.jobs.enqueue("x", id="warm")

    def body(k):
        for id in ids(k):
            check(id, client.jobs.enqueue("x", {"of": id}, id=id))
            check(id, client.jobs.get(id))
        client.promises.create(f"p-{k}", timeout=60_000)
        threading.Timer(0.2, lambda: client.promises.resolve(f"p-{k}", k)).start()
        assert client.result(f"p-{k}", timeout=30) == k
        client.close()
    in_children(body)

async def some(aio, k):
    for id, job in zip(ids(k), await asyncio.gather(*(aio.jobs.enqueue("x", {"of": id}, id=id) for id in ids(k)))):
        check(id, job)
    await aio.promises.create(f"p-{k}", timeout=60_000)
    waiting = asyncio.create_task(aio.result(f"p-{k}", timeout=30))
    await asyncio.sleep(0.1)
    await aio.promises.resolve(f"p-{k}", k)
    assert await waiting == k

def loops():
    client = rc.connect(place, retry_for=0)
    asyncio.run(some(client.aio, "warm"))
    in_children(lambda k: asyncio.run(some(client.aio, k)))

def in_one_loop(aio):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(some(aio, "warm"))
    for k in range(CHILDREN):  # one after the other: the processes share what the loop waits for
        child = os.fork()
        if not child:
            try:
                loop.run_until_complete(some(aio, k))
            except BaseException as error:
                print(f"process {k}: {error!r}", flush=True)
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def one_loop():
    in_one_loop(rc.connect(place, retry_for=0).aio)

def store_in_one_loop():
    in_one_loop(rc.Store(place).aio)

def inside_a_loop():
    client = rc.connect(place, retry_for=0)

    async def main():
        await some(client.aio, "warm")
        in_children(lambda k: None if k == "parent" else asyncio.run(some(client.aio, k)))
        await some(client.aio, "parent")
    asyncio.run(main())

def store():
    store = rc.Store(place)
    asyncio.run(some(store.aio, "warm"))
    in_children(lambda k: asyncio.run(some(store.aio, k)))

def worker():
    worker = Worker(place)
    task = worker.task("x")(lambda of: of)
    task.enqueue({"of": "warm"}, id="warm")
    names = []

    def body(k):
        for id in ids(k):
            check(id, task.enqueue({"of": id}, id=id))
        with worker:
            client = rc.connect(place)
            assert [client.result(id, timeout=30) for id in ids(k)] == ids(k)
    with worker:
        pass
    in_children(body)

def running():
    worker = Worker(place)
    task = worker.task("x")(lambda of: of)
    task.enqueue({"of": "warm"}, id="warm")
    with worker:  # it runs in the parent, and again in each child
        def body(k):
            for id in ids(k):
                check(id, task.enqueue({"of": id}, id=id))
            if k != "parent":
                with worker:
                    client = rc.connect(place)
                    assert [client.result(id, timeout=30) for id in ids(k)] == ids(k)
        in_children(body)

def names():
    free, named = Worker(), Worker(name="mine")
    read, write = os.pipe()
    for _ in range(CHILDREN):
        if not os.fork():
            os.write(write, f"{free.name} {named.name} {free.settings.name}\\n".encode())
            os._exit(0)
        os.wait()
    os.close(write)
    with open(read) as pipe:
        lines = [line.split() for line in pipe]
    assert len({free.name, *(line[0] for line in lines)}) == 1 + CHILDREN, lines
    assert all(line[1] == "mine" and line[0] == line[2] for line in lines), lines

globals()[kind]()
print("ran", flush=True)
"""


def run(place: str, kind: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, place, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["sync", "loops", "one_loop", "inside_a_loop", "worker", "running"])
def test_each_process_of_a_server_gets_its_own_answers(kind: str) -> None:
    with rc.Store() as store, serving(store) as server:
        run(server.url, kind)


@pytest.mark.parametrize("kind", ["store", "store_in_one_loop"])
def test_each_process_of_a_file_gets_its_own_answers(tmp_path: Path, kind: str) -> None:
    run(str(tmp_path / "a.db"), kind)


def test_a_worker_has_a_name_in_each_process() -> None:
    run("", "names")
