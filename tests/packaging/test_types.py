"""Type checkers accept good programs, and both mypy and pyright report planted mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytest.importorskip("tomllib")  # on Python 3.11 and newer

from type_checkers import mypy, pyright

#: Each line with a comment is a mistake, and the comment is the code that mypy gives it.
PROGRAM = """
from datetime import timedelta

import resonate_core as rc
from resonate_core.worker import JobEvent, JobOptions, Worker

worker = Worker()


@worker.task("email:send", max_retries=3, retention="kept")
def send(to: str, subject: str = "hello") -> str:
    return f"{subject} to {to}"


@worker.task("weigh", wieght=3)  # call-overload
def weigh(n: int) -> int:
    return n


@worker.task("keep", lifecycle="celery")  # call-overload
def keep(n: int) -> int:
    return n


@worker.on_failure
def report(event: JobEvent) -> None:
    print(event.kind, event.job.id, event.error)


@worker.on_failure  # type-var
def reports(event: int) -> None:
    print(event)


send.enqueue({"to": "ada"}, id="a", process_in=60_000, unique_key="k")
send.enqueue({"to": "ada"}, max_retry=3)  # call-arg
send.enqueue({"to": "ada"}, priority="high")  # arg-type
send.enqueue_many([{"to": "ada"}], ids=["a"])
send.enqueue_many([{"to": "ada"}], id="a")  # call-arg
send.delay("ada", subject="hi")
send.delay(to=5)  # arg-type
send.delay("ada", subjet="hi")  # call-arg
send.delay()  # call-arg
send.using(id="a").delay("ada").state
send.using(quue="mail")  # call-arg
worker.enqueue("t", 1, queue="mail")
worker.enqueue("t", 1, que="mail")  # call-arg
worker.periodic("@daily", send, {"to": "ada"}, retention="kept")
worker.periodic("@daily", send, {"to": "ada"}, retntion="kept")  # call-arg
options: JobOptions = {"queue": "mail", "timeout": 5}
wrong: JobOptions = {"queue": "mail", "timout": 5}  # typeddict-unknown-key
text: str = send("ada")
number: int = send("ada")  # assignment

store = rc.Store("shop.db")
manual = rc.Store(clock=rc.ManualClock())
store.queues.set("mail", weight=3, rate={"limit": 10, "per": 1_000}, defaults={"maxRetries": 3}, concurrency=None)
store.queues.set("mail", wieght=3)  # call-arg
store.queues.set("mail", rate={"lmit": 10, "per": 1_000})  # arg-type
store.queues.set("mail", lifecycle="celery")  # arg-type
queue: rc.QueueOptions = {"weight": 3}
store.queues.set("mail", **queue)
manual.clock.advance(timedelta(hours=1))
store.clock.advance(1_000)  # union-attr
store.jobs.enqueue("weigh", 1, max_retires=3)  # call-arg
store.promises.create("a", timeout="1 s")  # arg-type
store.promises.search(state="finished")  # arg-type
rc.Stoer("shop.db")  # attr-defined


async def main() -> None:
    await store.aio.queues.set("mail", weight=3)
    await store.aio.queues.set("mail", wieght=3)  # call-arg
    done: rc.Promise = await store.aio.promises.resolve("a", 1)
    print(done.id)
    store.aio.promises.get("a").state  # attr-defined
    with rc.connect("http://127.0.0.1:8001") as client:
        client.queues.set("mail", weight=3)
        client.queues.set("mail", wieght=3)  # call-arg
        await client.aio.jobs.enqueue("weigh", 1, queu="mail")  # call-arg
"""

WORKFLOWS = """
from datetime import datetime, timedelta
from uuid import UUID

from resonate_core.worker import Worker
from resonate_core.workflow import blocking, first, gather, now, promise, receive, result, run, sleep, step, uuid4

worker = Worker()


@step(retries=3, backoff=timedelta(seconds=1))
async def charge(order: str, cents: int) -> str:
    return f"{order}: {cents}"


@step
def weigh(order: str) -> int:
    return len(order)


@step(retires=3)  # call-overload
def misspelt(order: str) -> int:
    return 1


@worker.task("order:pack", max_retries=5)
def pack(order: str) -> str:
    return order


@worker.task("order:ship")
async def ship(order: str) -> int:
    return 1


def label(order: str) -> bytes:
    return order.encode()


@worker.workflow("order:fulfil", queue="shop")
async def fulfil(order: str, cents: int) -> dict[str, str]:
    receipt: str = await charge(order, cents)
    unawaited: str = charge(order, cents)  # assignment
    await charge(order)  # call-arg
    await weigh(order)  # misc
    weight: int = await run(weigh, order)
    await run(weigh, 7)  # call-overload
    parcel, printed = await gather(pack.call(order), run(label, order))
    one: str = parcel
    two: bytes = printed
    three: int = printed  # assignment
    await pack.call(7)  # arg-type
    maybe: int | None = await receive("b", type=int | None)
    shipped: int = await ship.call(order)
    shipping = ship.start(order)
    again: int = await shipping
    await sleep(timedelta(days=1))
    await sleep("a day")  # arg-type
    answer: str = await receive("approval", type=str, timeout=timedelta(days=3), default="no")
    number: int = await receive("approval", type=str)  # arg-type
    index, value = await first(receive("a", type=int), promise(type=int))
    both: int = index + value
    copy: int = await result("report", type=int)
    key: UUID = await uuid4()
    at: datetime = await now()
    print(unawaited, weight, one, two, three, shipped, maybe, again, number, both, copy, key, at)
    return {"receipt": receipt, "approved": answer}


@worker.workflow("order:sync")
def sync(order: str) -> str:
    weight: int = weigh(order)
    weights: list[int] = blocking.gather(blocking.start(weigh, order), blocking.start(weigh, order))
    parcel: int = pack.call(order).result()  # assignment
    message: int = blocking.receive("t", type=int)
    print(weight, weights, parcel, message)
    return order


fulfil.using(id="order-7").delay("7", 1200)
fulfil.delay("7", "1200")  # arg-type
"""

#: The codes of errors that follow from a mistake on the same line.
FOLLOWS = {"untyped-decorator"}


@pytest.fixture(params=[PROGRAM, WORKFLOWS], ids=["jobs", "workflows"])
def text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def program(text: str, tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(text)
    return tmp_path


def planted(text: str) -> dict[int, str]:
    """Returns the lines of the mistakes, with the codes of mypy."""
    return {number: line.split("  # ")[1] for number, line in enumerate(text.splitlines(), 1) if "  # " in line}


def test_enough_mistakes_are_planted(text: str) -> None:
    assert len(planted(text)) >= 10


def test_mistakes_are_red_in_mypy_and_nothing_else(text: str, program: Path) -> None:
    errors = mypy(program, "--python-version", "3.10")
    codes = {(line, text.rpartition("[")[2].rstrip("]")) for _, line, text in errors}
    assert {(line, code) for line, code in codes if code not in FOLLOWS} == set(planted(text).items()), errors


def test_mistakes_are_red_in_pyright_and_nothing_else(text: str, program: Path) -> None:
    errors = pyright(program, pythonVersion="3.10", reportUnusedExpression=False)
    assert {line for _, line, _ in errors} == set(planted(text)), errors
