"""Code of workflows: each line that gives a warning has a comment with the call, and no other line gives one."""

# ruff: noqa
from __future__ import annotations

import asyncio
import datetime
import datetime as dt
import functools
import random
import random as rnd
import time
import time as clock
import uuid
from asyncio import create_task, wait_for
from datetime import datetime as moment
from os import urandom
from random import choice
from time import sleep as nap, time as seconds
from uuid import uuid4


def run(function, *args, **kwargs): ...


class Own:
    time = staticmethod(lambda: 1)

    def sleep(self, delay): ...

    @staticmethod
    def now(): ...


own = Own()


async def clocks(value):
    begun = time.time()  # warned: time.time
    later = clock.monotonic()  # warned: time.monotonic
    third = seconds()  # warned: time.time
    at = datetime.datetime.now()  # warned: datetime.now
    zoned = dt.datetime.now(dt.timezone.utc)  # warned: datetime.now
    today = moment.today()  # warned: datetime.today
    day = datetime.date.today()  # warned: date.today
    parsed = datetime.datetime.fromisoformat("2026-01-01")
    structured = time.gmtime(5)
    return begun + later + third + time.perf_counter() - value  # warned: time.perf_counter


async def randomness():
    a = random.random()  # warned: random.random
    b = rnd.choice([1, 2])  # warned: random.choice
    c = choice([1, 2])  # warned: random.choice
    d = uuid4()  # warned: uuid.uuid4
    e = uuid.uuid4().hex  # warned: uuid.uuid4
    f = urandom(5)  # warned: os.urandom
    g = random.Random(7).random()
    h = uuid.UUID(int=7)
    return [random.randint(1, 2) for _ in range(3)]  # warned: random.randint


async def waits():
    time.sleep(1)  # warned: time.sleep
    nap(1)  # warned: time.sleep
    await asyncio.sleep(1)  # warned: asyncio.sleep
    await asyncio.sleep(delay=1)  # warned: asyncio.sleep
    await asyncio.sleep(*[1])  # warned: asyncio.sleep
    await wait_for(own, 5)  # warned: asyncio.wait_for
    task = create_task(own)  # warned: asyncio.create_task
    await asyncio.gather(own, own)


async def passed_on(time_of_caller, time=None):
    await run(clock.time)
    await run(nap, 5)
    await run(seconds)
    await run(random.choice, [1, 2])
    await run(datetime.datetime.now)
    await run(functools.partial(nap, 5))
    later = clock.time
    table = {"now": datetime.datetime.now, "sleep": nap}
    time_of_caller()
    time.sleep(5)
    own.time()
    own.sleep(5)
    Own.now()
    callbacks = [clock.time, seconds, uuid4]
    time_of_caller(clock.time)
    time_of_caller(clock.time, seconds, key=uuid4)
    return sorted([3], key=nap)


async def nested():
    def step():
        time.sleep(5)
        return random.random()

    async def step_too():
        await asyncio.sleep(5)
        return seconds()

    shorten = lambda: time.time()
    await run(step)
    await run(step_too)


async def imports_of_its_own():
    import time as t
    from random import random as draw
    from datetime import datetime

    t.time()  # warned: time.time
    draw()  # warned: random.random
    datetime.now()  # warned: datetime.now
    t = own
    t.time()


def of_a_def():
    time.sleep(1)  # warned: time.sleep
    if time.time() > 5:  # warned: time.time
        return (
            own,
            seconds(),  # warned: time.time
        )
    return {number: random.random() for number in range(3)}  # warned: random.random


async def shadowed():
    time = own
    time.time()
    seconds = own.time
    seconds()


def around():
    from time import time as inner_time

    async def closure():
        return inner_time()  # warned: time.time

    return closure


PROGRAMS = [clocks, randomness, waits, passed_on, nested, imports_of_its_own, of_a_def, shadowed, around()]
