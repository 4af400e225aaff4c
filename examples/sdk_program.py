"""An unmodified program of PyPI `resonate-sdk` on a store in this process, under a manual clock.

Two free trials run at once on two workers. Each greets its customer, sends a survey (a detached call),
sleeps for 30 days, asks a person and charges. A schedule creates a report every Monday. One worker crashes in the middle of a charge
and the other one takes over. 33 days pass; the program takes about a second, and prints the same text every time.

Run it with Python 3.12 or newer: ``python examples/sdk_program.py [FILE]``; with a file the store is a new SQLite file there.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from resonate.context import Context
from resonate.resonate import Resonate

import resonate_core as rc
from resonate_core.connection import Connection

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)

clock = rc.ManualClock(start=int(NEW_YEAR.timestamp() * 1000))
store = rc.Store(sys.argv[1] if len(sys.argv) > 1 else None, clock=clock, check=True)


@dataclass
class Site:
    """Where a function runs: what the functions of one worker share."""

    name: str
    connection: Connection
    dies_in_a_charge: bool


def say(who: str, what: str) -> None:
    """Prints one line of the timeline."""
    instant = datetime.fromtimestamp(clock.now / 1000, tz=timezone.utc)
    print(f"{instant:%a %d %b %H:%M}  {who:<9} {what}")


# -- the durable program: nothing below knows that there is no server ------------------------------------------------------


async def trial(ctx: Context, customer: str) -> str:
    """A free trial of 30 days: the root function."""
    await ctx.run(greet, customer)
    await ctx.options(timeout=timedelta(days=10)).detached("survey", customer)
    await ctx.sleep(timedelta(days=30))
    decision = ctx.promise(timeout=timedelta(days=7))
    await ctx.run(ask, customer, await decision.id())
    price = await decision
    return await ctx.run(charge, customer, int(price))


def greet(ctx: Context, customer: str) -> None:
    """A local step."""
    say(ctx.get_dependency(Site).name, f"greets {customer}")


async def survey(ctx: Context, customer: str) -> None:
    """Continues independently of the trial."""
    await ctx.sleep(timedelta(days=7))
    await ctx.run(send_survey, customer)


def send_survey(ctx: Context, customer: str) -> None:
    """A local step of the survey."""
    say(ctx.get_dependency(Site).name, f"asks {customer} how the first week was")


def ask(ctx: Context, customer: str, question: str) -> None:
    """A local step: tells a person which promise waits for an answer."""
    say(ctx.get_dependency(Site).name, f"asks the office what {customer} pays: {question!r}")


async def charge(ctx: Context, customer: str, price: int) -> str:
    """A local step that one worker does not survive."""
    site = ctx.get_dependency(Site)
    say(site.name, f"charges {customer} {price} EUR")
    if site.dies_in_a_charge:
        say(site.name, "dies")
        site.connection.crash()
        await asyncio.sleep(0)  # never resumes
    return f"{customer} paid {price} EUR"


async def report(ctx: Context) -> None:
    """What the schedule starts."""
    trials = [p for p in store.promises.search("trial-*") if ":" not in p.id]
    say(ctx.get_dependency(Site).name, f"reports: {sum(p.state == 'pending' for p in trials)} of {len(trials)} trials are open")


# -- the workers, and what happens to them ---------------------------------------------------------------------------------


def worker(name: str, *, dies_in_a_charge: bool) -> tuple[Connection, Resonate]:
    """Returns one worker of the group "shop", which is all that a program needs to change to run here."""
    connection = Connection(store, group="shop", pid=name)
    resonate = connection.resonate()
    for function in (trial, survey, report):
        resonate.register(function)
    resonate.with_dependency(Site(name, connection, dies_in_a_charge))
    return connection, resonate


async def main() -> None:
    """Plays the story."""
    _, shop = worker("worker-1", dies_in_a_charge=True)
    two, other_shop = worker("worker-2", dies_in_a_charge=False)

    await shop.schedule("monday", "0 9 * * MON", "report")
    long_enough = timedelta(days=60)
    shop.options(timeout=long_enough).run("trial-ada", trial, "Ada")
    shop.options(timeout=long_enough).run("trial-bob", trial, "Bob")
    await two.advance(timedelta(days=30))

    for customer, price in (("ada", 30), ("bob", 20)):
        await two.advance(timedelta(days=1))
        question = store.promises.search(f"trial-{customer}:*", state="pending")[0]
        say("office", f"answers {question.id!r}: {price}")
        store.promises.resolve(question.id, price)
        result = await two.run_until(await other_shop.get(f"trial-{customer}"))
        say("office", f"hears that {result}")

    await two.advance(timedelta(days=1))
    await other_shop.schedules.delete("monday")
    for resonate in (shop, other_shop):
        await resonate.stop()

    say("store", f"{len(store.promises.search())} promises, {len(store.check())} violations")


if __name__ == "__main__":
    asyncio.run(main())
