"""An order workflow on simulated time, printed as a timeline.

One order fans out into three steps and suspends until they are done. The worker that packs crashes, its lease expires and another
worker takes over. A timer of two days delays the shipment; a fork of the store shows what would happen if the customer cancelled.
A nightly schedule reports through the whole week. Nothing waits in real time: the week takes milliseconds, and every run prints the same
text.

    python examples/order_workflow.py
"""

from __future__ import annotations

import datetime as dt
import io
import json

import resonate_core as rc

MONDAY = int(dt.datetime(2026, 1, 5, 9, 0, tzinfo=dt.timezone.utc).timestamp() * 1000)
SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

ORDERS = "poll://any@orders"  # the target of whole orders
STEPS = "poll://any@steps"  # the target of their steps


WORDS = {  # texts of internal steps by kind
    "promise_timeout": "{id}: its deadline is reached",
    "listener_drain": "{id} is settled: a message for {address} is queued",
    "callback_drain": "{id} is settled: its awaiter {awaiter} is woken",
    "lease_expiry": "{id}: the lease has expired, the task is pending again",
    "dispatch": "{id}: dispatched to {address}",
    "schedule": "{id}: fires and creates {promise_id}",
}


class Timeline:
    """Prints requests of workers and people, and indented below them the internal steps of the engine.

    The engine's part is read from a recording of the store, so it is complete and in order.
    """

    def __init__(self, store: rc.Store) -> None:
        self.store = store
        self.trace = io.StringIO()
        store.record(self.trace)
        self.printed = 0  # characters of the trace
        self.moment = ""

    def say(self, who: str, what: str) -> None:
        """Prints a line of the story, after what the engine did up to here."""
        self.catch_up()
        self.line(self.store.now, f"{who:<9} {what}")

    def catch_up(self) -> None:
        """Prints the internal steps that were recorded since the last line of the story."""
        text = self.trace.getvalue()
        news, self.printed = text[self.printed :], len(text)
        for event in map(json.loads, news.splitlines()):
            kind, _, step = event["kind"].partition(".")
            if kind == "step":
                self.line(event["now"], "    " + WORDS[step].format(id=event["req"]["id"], **event["res"]))

    def line(self, at: int, text: str) -> None:
        """Prints one line, with its instant where that is another than the line before has."""
        moment = f"{dt.datetime.fromtimestamp(at / 1000, tz=dt.timezone.utc):%a %d %b %H:%M:%S}"
        print(f"{moment if moment != self.moment else '':<19}  {text}".rstrip())
        self.moment = moment


class Shop:
    """The store, its clock, and everybody who works on it."""

    def __init__(self) -> None:
        self.clock = rc.ManualClock(start=MONDAY)
        self.store = rc.Store(clock=self.clock, check=True)
        self.timeline = Timeline(self.store)
        self.say = self.timeline.say

    def take(self, task_id: str, worker: str, ttl: int) -> int:
        """A worker takes a task that is offered; the version under which it holds it is its fencing token."""
        return self.store.tasks.acquire(task_id, self.store.tasks.get(task_id).version, pid=worker, ttl=ttl).task.version

    def wait_until(self, instant: int) -> None:
        """Time passes, from one thing that is due to the next; the office files each report that comes up."""
        while (due := self.store.next_due()) is not None and due <= instant:
            self.clock.advance_to(due)
            for report in self.store.promises.search("report.*", state="pending"):
                orders = self.store.promises.search("order-*", tags={"kind": "order"})
                pending = sum(order.state == "pending" for order in orders)
                self.say("office", f"files the report: {pending} of {len(orders)} orders open")
                self.store.promises.resolve(report.id, {"open": pending})
        self.clock.advance_to(instant)


def fan_out(shop: Shop) -> None:
    """The order comes in and is split into three steps, then it sleeps."""
    store = shop.store
    shop.say("customer", "orders two kettles")
    tags = {"kind": "order", "resonate:target": ORDERS}
    store.promises.create("order-7", timeout=30 * DAY, param={"kettles": 2}, tags=tags)

    shop.say("clerk", "takes the order and splits it: charge, pack, label")
    version = shop.take("order-7", "clerk", ttl=5 * MINUTE)
    steps = ["order-7.charge", "order-7.pack", "order-7.label"]
    for step in steps:
        store.tasks.fence_create("order-7", version, step, timeout=DAY, tags={"resonate:target": STEPS})

    shop.say("clerk", "suspends until one of them is done")
    store.tasks.suspend("order-7", version, awaiting=steps)


def work_and_crash(shop: Shop) -> None:
    """Two steps are done, the third is lost with its worker and done again by another."""
    store, clock = shop.store, shop.clock
    charge = shop.take("order-7.charge", "ann", ttl=MINUTE)
    label = shop.take("order-7.label", "bob", ttl=MINUTE)
    pack = shop.take("order-7.pack", "cleo", ttl=MINUTE)
    shop.say("workers", "ann takes the charge, bob the label, cleo the packing; each lease is 60 s")

    clock.advance(20 * SECOND)
    shop.say("ann", "has charged the card")
    store.tasks.fulfill("order-7.charge", charge, {"charged": "84.00 EUR"})
    shop.say("bob", "has printed the label")
    store.tasks.fulfill("order-7.label", label, "label.pdf")

    shop.say("clerk", "takes the order up again and awaits the label")
    version = shop.take("order-7", "clerk", ttl=5 * MINUTE)
    answer = store.tasks.suspend("order-7", version, awaiting=["order-7.label"])
    shop.say("clerk", f"goes on at once, since it is there ({answer.status}); suspends until the parcel is packed")
    store.tasks.suspend("order-7", version, awaiting=["order-7.pack"])

    shop.say("cleo", "crashes while packing")
    clock.advance(40 * SECOND)
    shop.say("dan", "takes the packing over")
    takeover = shop.take("order-7.pack", "dan", ttl=MINUTE)
    shop.say("cleo", "comes back and says that it is packed")
    try:
        store.tasks.fulfill("order-7.pack", pack, "too late")
    except rc.Conflict as refusal:
        shop.say("cleo", f"is refused: {refusal.status}, {refusal.message}")
    shop.say("dan", "has packed")
    store.tasks.fulfill("order-7.pack", takeover, "parcel-1")


def cool_off_and_ship(shop: Shop) -> None:
    """A timer of two days, and a customer who is notified of the result. Meanwhile a fork shows a cancellation."""
    store = shop.store
    shop.say("clerk", "waits two days, in case the customer thinks better of it")
    version = shop.take("order-7", "clerk", ttl=5 * MINUTE)
    timer = {"resonate:timer": "true"}  # its deadline resolves it
    store.tasks.fence_create("order-7", version, "order-7.cooling-off", timeout=2 * DAY, tags=timer)
    store.tasks.suspend("order-7", version, awaiting=["order-7.cooling-off"])
    store.promises.register_listener("order-7", "mail://customer")

    elsewhere = rc.ManualClock(start=store.now)
    other = store.fork(clock=elsewhere)
    other.promises.cancel("order-7")
    elsewhere.advance(2 * DAY)
    here, there = store.promises.get("order-7"), other.promises.get("order-7")
    shop.say("what if", f"the customer cancelled? In a fork, two days on: {there.state}. Here: {here.state}")

    shop.wait_until(store.promises.get("order-7.cooling-off").timeout_at)
    shop.say("clerk", "ships: the order is done")
    version = shop.take("order-7", "clerk", ttl=5 * MINUTE)
    store.tasks.fulfill("order-7", version, {"shipped": "parcel-1"})
    for message in store.take_messages(addresses=["mail://*"]):
        promise = message["message"]["data"]["promise"]
        shop.say("mail", f"to {message['address'].removeprefix('mail://')}: {promise['id']} is {promise['state']}")


def main() -> None:
    """Plays the week."""
    shop = Shop()
    print("A week on simulated time. Indented: what the engine does on its own.\n")
    shop.store.schedules.create("report", "0 2 * * *", promise_timeout=HOUR)
    fan_out(shop)
    work_and_crash(shop)
    cool_off_and_ship(shop)
    shop.wait_until(MONDAY + 7 * DAY)

    reports = shop.store.promises.search("report.*", state="resolved")
    shop.say("office", f"has filed {len(reports)} reports this week")
    broken = shop.store.check()
    shop.say("check", "every property of the protocol holds" if not broken else f"broken: {broken}")
    if broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
