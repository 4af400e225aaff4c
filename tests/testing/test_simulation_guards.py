"""A simulation replaces what is not deterministic, or refuses it and names its line; outside of a simulation nothing has changed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime
import logging
import os
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from resonate_core.testing.simulation import NotDeterministic, NotSimulated, check_determinism, simulate
from resonate_core.worker import Worker


def drawn() -> list[Any]:
    return [
        time.time(),
        time.time_ns(),
        time.monotonic(),
        time.perf_counter_ns(),
        datetime.datetime.now(datetime.timezone.utc),
        datetime.datetime.now(),
        datetime.date.today(),
        random.random(),
        random.Random().random(),
        random.SystemRandom().random(),
        uuid.uuid4(),
        uuid.uuid1(),
        secrets.token_hex(8),
        os.urandom(8),
    ]


def test_clocks_and_chance_come_from_the_simulation():
    async def scenario(world):
        await world.sleep("1 day")
        return drawn()

    first, again, other = (simulate(scenario, seed=seed).value for seed in (1, 1, 2))
    assert first == again
    assert first[:4] == [86_400.0, 86_400_000_000_000, 86_400.0, 86_400_000_000_000]
    assert first[4] == datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)
    assert all(one != two for one, two in zip(first[7:], other[7:], strict=True))


def test_a_process_with_a_skewed_clock_sees_it_everywhere():
    async def program() -> None:
        await asyncio.sleep(10)
        seen.append((time.time(), datetime.datetime.now(datetime.timezone.utc).timestamp(), time.monotonic()))

    async def scenario(world):
        world.process("p", program)
        world.skew("p", "1 h")
        await world.sleep("1 min")

    seen: list[tuple[float, float, float]] = []
    simulate(scenario)
    assert seen == [(3610.0, 3610.0, 10.0)]


def test_afterwards_everything_is_as_before():
    async def scenario(world):
        random.seed(1)
        raise KeyError("failed")

    names = [time.time, time.sleep, os.urandom, uuid.uuid1, threading.Thread.start, random.Random.seed, socket.getaddrinfo]
    state, propagated = random.getstate(), logging.getLogger("resonate_core").propagate
    with pytest.raises(KeyError):
        simulate(scenario)
    assert [time.time, time.sleep, os.urandom, uuid.uuid1, threading.Thread.start, random.Random.seed, socket.getaddrinfo] == names
    assert "connect" not in vars(socket.socket)
    assert random.getstate() == state
    assert logging.getLogger("resonate_core").propagate is propagated
    assert abs(datetime.datetime.now().timestamp() - time.time()) < 60
    assert time.time() > 1_700_000_000


def test_other_threads_keep_the_real_ones():
    seen: list[float] = []
    inside, done = threading.Event(), threading.Event()

    def beside() -> None:
        inside.wait(10)
        seen.append(time.time())
        time.sleep(0)
        done.set()

    thread = threading.Thread(target=beside)
    thread.start()

    async def scenario(world):
        inside.set()
        assert done.wait(10)
        return time.time()

    assert simulate(scenario).value == 0
    thread.join()
    assert seen[0] > 1_700_000_000


def with_socket(use: Callable[[socket.socket], object]) -> None:
    with socket.socket() as made:
        use(made)


REFUSED: dict[str, Callable[[], Any]] = {
    "time.sleep": lambda: time.sleep(1),
    "a thread": lambda: threading.Thread(target=print).start(),
    "a thread pool": lambda: concurrent.futures.ThreadPoolExecutor().submit(print),
    "a look-up of a host": lambda: socket.create_connection(("example.org", 80)),
    r"a socket \(connect\)": lambda: with_socket(lambda each: each.connect(("127.0.0.1", 9))),
    r"a socket \(bind\)": lambda: with_socket(lambda each: each.bind(("127.0.0.1", 0))),
    "a program of its own": lambda: subprocess.run(["true"], check=False),
    "os.fork": lambda: os.fork(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_simulated_is_refused_with_its_line(what):
    async def scenario(world):
        with pytest.raises(NotSimulated):  # the run fails all the same
            REFUSED[what]()

    with pytest.raises(
        NotSimulated, match=rf"{what.replace(' pool', '')}.* cannot be simulated(.|\n)*test_simulation_guards.py:\d+"
    ):
        simulate(scenario)


def test_a_handler_that_sleeps_fails_the_run():
    def make(store: Any) -> Worker:
        worker = Worker(store)
        worker.task("slow")(lambda: time.sleep(1))
        return worker

    async def scenario(world):
        world.worker("a", make)
        await world.call("s", "slow")
        await world.settled("s", within="1 min")

    with pytest.raises(NotSimulated, match=r"use `await asyncio.sleep\(...\)` in an asynchronous function"):
        simulate(scenario)


def test_a_log_is_no_output_of_a_simulation(capfd):
    async def scenario(world):
        logging.getLogger("resonate_core.worker").error("a fault")

    simulate(scenario)
    assert capfd.readouterr() == ("", "")


def test_two_runs_that_differ_are_told_apart():
    count = iter(range(100))

    async def scenario(world):
        await asyncio.sleep(1)
        world.store.promises.create(f"p{next(count)}", timeout=1000)

    with pytest.raises(NotDeterministic, match=r"differ first in line \d+(.|\n)*\"p0\"(.|\n)*\"p1\"(.|\n)*before: 1000.000 step"):
        check_determinism(scenario)
    with pytest.raises(NotDeterministic):
        simulate(scenario, twice=True)

    lengths = iter([1, 2])

    async def longer(world):
        for _ in range(next(lengths)):
            await asyncio.sleep(1)

    with pytest.raises(NotDeterministic):
        check_determinism(longer)


def test_a_failure_is_part_of_the_trace():
    async def scenario(world):
        await asyncio.sleep(1)
        raise ValueError("always")

    assert check_determinism(scenario)[-1] == "ValueError: always"
