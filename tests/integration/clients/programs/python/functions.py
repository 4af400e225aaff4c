"""The durable functions of the tests, for every published Python SDK; typescript/functions.ts has the same functions.

Their other effects are files in the folder PEER_FOLDER. A test can also stop them there: `step` waits until the file of its
gate exists.
"""

from __future__ import annotations

import asyncio
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from resonate.context import Context
from resonate.retry import Constant, Never

FOLDER = Path(os.environ["PEER_FOLDER"])
NAME = os.environ["PEER_NAME"]


def note(file: str, line: str) -> int:
    """Appends a line to a file; returns the number of its lines."""
    with (FOLDER / file).open("a+", encoding="utf-8") as out:
        out.write(line + "\n")
        out.flush()
        out.seek(0)
        return len(out.readlines())


async def greet(ctx: Context, name: str) -> str:
    """A leaf: it calls nothing. Its result has characters that are not ASCII."""
    return f"Hello, {name}! \u2713 \u2028"


async def square(ctx: Context, n: int) -> int:
    """A leaf."""
    return n * n


async def fibonacci(ctx: Context, n: int) -> int:
    """Nested calls: at each level a local and a remote child, which run at the same time."""
    if n < 2:
        return n
    local = ctx.run(fibonacci, n - 1)
    remote = ctx.rpc("fibonacci", n - 2)
    return await local + await remote


async def fan_out(ctx: Context, n: int) -> list[int]:
    """Parallel calls: n local and n remote children, all begun before the first is awaited."""
    local = [ctx.run(square, i) for i in range(n)]
    remote = [ctx.rpc("square", n + i) for i in range(n)]
    return [await child for child in local + remote]


async def countdown(ctx: Context, count: int, delay: float) -> str:
    """Repeats a step and a durable sleep."""
    for i in range(count, 0, -1):
        await ctx.run(tell, i)
        await ctx.sleep(timedelta(seconds=delay))
    return "Done!"


async def tell(ctx: Context, i: int) -> None:
    """Writes a line to a file."""
    note("countdown", str(i))


async def approval(ctx: Context, question: str) -> str:
    """Creates a promise, writes its id to a file, and waits until a client settles the promise."""
    answer = ctx.promise(timeout=timedelta(hours=1))
    (FOLDER / "asked").write_text(json.dumps({"id": await answer.id(), "question": question}), encoding="utf-8")
    try:
        return f"{question} {await answer}"
    except Exception as error:
        return f"{question} refused: {error}"


async def launch(ctx: Context, key: str) -> str:
    """Starts another workflow and does not wait for it."""
    return await ctx.detached("landing", key)


async def landing(ctx: Context, key: str) -> str:
    """The workflow that `launch` starts; it takes longer than `launch`."""
    await ctx.sleep(timedelta(seconds=0.3))
    return f"{key} landed on {await ctx.run(square, 3)}"


async def persist(ctx: Context, key: str) -> int:
    """Has a child that succeeds at the third try."""
    return await ctx.options(retry_policy=Constant(max_retries=5, delay=0)).run(flaky, key)


async def flaky(ctx: Context, key: str) -> int:
    """Fails twice."""
    tries = note(key, "tried")
    if tries < 3:
        raise RuntimeError(f"try {tries} of {key}")
    return tries


async def hopeless(ctx: Context, reason: str) -> None:
    """Fails with its child's error."""
    await ctx.options(retry_policy=Never()).run(refuse, reason)


async def careful(ctx: Context, reason: str) -> str:
    """Catches the errors of a local and a remote child."""
    seen = []
    for child in (ctx.options(retry_policy=Never()).run(refuse, reason), ctx.rpc("hopeless", reason)):
        try:
            await child
        except Exception as error:
            seen.append(str(error))
    return " and ".join(seen)


async def refuse(ctx: Context, reason: str) -> None:
    """A leaf that fails."""
    raise ValueError(reason)


async def steps(ctx: Context, key: str, count: int) -> list[int]:
    """Runs steps one after the other, with a durable sleep and a call of another worker between them."""
    made = []
    for i in range(count):
        made.append(await ctx.run(step, key, i))
        if i == 0:
            made.append(await ctx.rpc("square", 10))
        if i == 1:
            await ctx.sleep(timedelta(seconds=0.2))
    return made


async def step(ctx: Context, key: str, i: int) -> int:
    """Writes that it began, waits for its gate, writes that it ended."""
    note(key, f"{i} begun by {NAME}")
    while not (FOLDER / f"{key}.gate{i}").exists():
        await asyncio.sleep(0.02)
    note(key, f"{i} ended by {NAME}")
    return i


async def work(ctx: Context, key: str, seconds: float) -> str:
    """A leaf that takes this many seconds."""
    note(key, f"begun by {NAME}")
    await asyncio.sleep(seconds)
    return f"{key} done"


async def relay(ctx: Context, rounds: int) -> int:
    """Causes many messages: in each round, a call of another worker and a durable sleep."""
    total = 0
    for i in range(rounds):
        total += await ctx.rpc("square", i)
        await ctx.sleep(timedelta(seconds=0.4))
    return total


async def report(ctx: Context, key: str) -> int:
    """The workflow that a schedule starts; it has a child."""
    return await ctx.run(count_up, key)


async def count_up(ctx: Context, key: str) -> int:
    """Counts the lines of a file, its own included."""
    return note(key, "fired")


FUNCTIONS: list[Any] = [
    *(greet, square, fibonacci, fan_out, countdown, tell, approval, launch, landing, persist, flaky, hopeless, careful),
    *(refuse, steps, step, work, relay, report, count_up),
]
