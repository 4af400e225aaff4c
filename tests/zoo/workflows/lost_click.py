"""A workflow mails a link, and then makes the promise that a click settles: a click that is faster finds no promise, and is lost.

Fixed: the promise is made before the mail is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from datetime import timedelta
from typing import Any

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import promise, run
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    async def mail(id: str) -> None:
        outside.values["link"] = id
        await asyncio.sleep(0.5)  # until the mail server says goodbye

    async def wait(clicked: Any) -> str:
        try:
            await clicked
        except TimeoutError:
            return "given up"
        return "confirmed"

    @worker.workflow("confirm")
    async def confirm(number: str) -> str:
        if mended:
            clicked = promise(timeout=timedelta(days=3))
            await run(mail, clicked.id)
            return await wait(clicked)
        await run(mail, "workflow-1:2")
        return await wait(promise(timeout=timedelta(days=3)))

    return confirm


def click(store: Any, outside: Outside, mended: bool) -> None:
    link = outside.values.get("link")
    if link is not None and not outside.values.get("clicked") and list(store.promises.search(link)):
        store.promises.resolve(link)
        outside.values["clicked"] = True


async def customer(world: Any, outside: Outside, mended: bool) -> None:
    while "link" not in outside.values:
        await asyncio.sleep(0.1)
    await asyncio.sleep(random.choice([0, 60, 3600]))
    outside.values["clicked"] = True
    with contextlib.suppress(rc.NotFound):  # the page says: this link is not valid
        world.store.promises.resolve(outside.values["link"])


def holds(outside: Outside, state: str, result: Any) -> None:
    assert not outside.values.get("clicked") or result == "confirmed", f"the customer has clicked, and is {result}"


PLAY = Play(declare, holds, people=click, customer=customer)
