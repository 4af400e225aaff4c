"""Rule (d): results are encoded and decoded to the annotated type in the first run, too; one without JSON is a recorded failure."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from workflow_runs import drained, last, states

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, gather, receive, result, run, sleep, step


@dataclass
class Parcel:
    id: str
    weights: list[int]
    sent: datetime.date | None = None


class Colour(enum.Enum):
    RED = "red"


@step
async def any_of(kind: str) -> Any:
    return {
        "tuple": (1, 2),
        "dict": {1: "a"},
        "nested": [{"a": (1,)}],
        "none": None,
        "float": 1.5,
        "bytes": b"raw",
        "date": datetime.date(2026, 2, 1),
    }[kind]


@step
async def parcel() -> Parcel:
    return Parcel("p-1", [1, 2], datetime.date(2026, 2, 1))


@step
async def money() -> decimal.Decimal:
    return decimal.Decimal("1.10")


@step
async def raw() -> bytes:
    return b"\x00\xff"


@step
async def value() -> rc.Value:
    return rc.Value({"content-type": "text/plain"}, "cmF3")


@step
async def numbers() -> tuple[int, ...]:
    return (1, 2)


@step
async def colour() -> Colour:
    return Colour.RED


@step
async def unannotated():  # type: ignore[no-untyped-def]
    return {"a": (1, 2)}


def test_values_are_the_same_in_the_first_run_and_in_a_replay(store: rc.Store, worker: Worker) -> None:
    seen: list[list[Any]] = []

    @worker.workflow("w")
    async def w() -> None:
        found = [await each() for each in (parcel, money, raw, value, numbers, colour, unannotated)]
        found += [await any_of(kind) for kind in ("tuple", "dict", "nested", "none", "float", "bytes", "date")]
        seen.append(found)
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    first, replayed = seen
    assert [type(each) for each in first] == [type(each) for each in replayed]
    assert first[0] == replayed[0] == Parcel("p-1", [1, 2], datetime.date(2026, 2, 1))
    assert first[1:3] == replayed[1:3] == [decimal.Decimal("1.10"), b"\x00\xff"]
    assert first[3].bytes() == replayed[3].bytes() == b"raw" and first[3].headers == replayed[3].headers
    assert first[4:] == replayed[4:]
    assert first[4:8] == [(1, 2), Colour.RED, {"a": [1, 2]}, [1, 2]]
    assert first[8:] == [{"1": "a"}, [{"a": [1]}], None, 1.5, b"raw", "2026-02-01"]


def test_a_step_gives_a_copy_of_what_the_function_returned(store: rc.Store, worker: Worker) -> None:
    """A later change of the object changes no record, and so no replay."""
    kept: list[list[int]] = []

    @step
    async def listed() -> list[int]:
        kept.append([1])
        return kept[-1]

    @worker.workflow("w")
    async def w() -> list[int]:
        found = await listed()
        kept[0].append(2)
        return found

    w.delay()
    assert last(worker) == [1]


@step
async def claims_an_int() -> int:
    return "five"  # type: ignore[return-value]


@step
async def claims_nothing() -> None:
    return 5  # type: ignore[return-value]


@step
async def claims_a_parcel() -> Parcel:
    return {"id": 5}  # type: ignore[return-value]


class Broken:
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


def loop() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


WITHOUT_JSON = {
    "object": object,
    "broken": Broken,
    "set of objects": lambda: {object()},
    "nan": lambda: float("nan"),
    "infinity": lambda: [float("inf")],
    "loop": loop,
    "surrogate": lambda: "\ud800",
    "surrogate inside": lambda: {"a": ["\ud800"]},
    "surrogate in a key": lambda: {"\ud800": 1},
    "coroutine function": lambda: test_values_are_the_same_in_the_first_run_and_in_a_replay,
    "wrong type": claims_an_int,
    "not None": claims_nothing,
    "wrong dataclass": claims_a_parcel,
    "too long a number": lambda: 10**5000,
}


@pytest.mark.parametrize("made", WITHOUT_JSON.values(), ids=list(WITHOUT_JSON))
@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_a_result_without_json_is_a_recorded_failure_and_its_effect_is_not_repeated(
    clock: rc.ManualClock, tmp_path: Any, made: Any, storage: str
) -> None:
    effects: list[str] = []
    seen: list[StepFailed] = []

    async def effect() -> Any:
        effects.append("done")
        found = made()
        return await found if hasattr(found, "__await__") else found

    stepped = step(name="effect", retries=5)(effect)
    hints = getattr(getattr(made, "__wrapped__", None), "__annotations__", None)
    if hints:
        effect.__annotations__.update(hints)
        stepped = step(name="effect", retries=5)(effect)

    with rc.Store(None if storage == "memory" else tmp_path / "a.db", clock=clock) as store:
        worker = Worker(store)

        @worker.workflow("w")
        async def w() -> str:
            try:
                await stepped()
            except StepFailed as failed:
                seen.append(failed)
                await sleep(1)
                return failed.code
            return "no failure"

        w.using(id="w").delay()
        assert last(worker) == "InvalidResult"
        assert effects == ["done"]
        assert states(store, "w")["1"] == "rejected"
    first, replayed = seen
    assert (first.code, first.message) == (replayed.code, replayed.message)
    assert "effect" in first.message and len(first.message) < 10_000


def test_a_result_that_the_store_refuses_is_a_recorded_failure(
    store: rc.Store, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one beyond the limit of a server: the effect has happened, and must not be repeated."""
    effects: list[str] = []

    @step
    async def large() -> str:
        effects.append("done")
        return "x" * 100

    @worker.workflow("w")
    async def w() -> str:
        try:
            await large()
        except StepFailed as failed:
            await sleep(1)
            return failed.code
        return "no failure"

    from resonate_core.worker.store_client import StoreClient

    plain = StoreClient.record

    def limited(self: StoreClient, id: str, version: int, steps: Any) -> Any:
        if any(len(str(each.get("value", ""))) > 90 and each["state"] == "resolved" for each in steps):
            raise rc.Invalid("value must have at most 90 bytes")
        return plain(self, id, version, steps)

    monkeypatch.setattr(StoreClient, "record", limited)
    w.using(id="w").delay()
    assert last(worker) == "InvalidResult"
    assert effects == ["done"]


def test_results_of_child_jobs_promises_and_messages_have_types(store: rc.Store, worker: Worker) -> None:
    @worker.task("pack")
    def pack() -> Parcel:
        return Parcel("p-2", [3])

    @worker.workflow("w")
    async def w() -> list[bool]:
        child = await pack.call()
        copied = await result("other", type=Parcel)
        message = await receive("parcel", type=Parcel)
        plain = await receive("parcel")
        return [
            child == Parcel("p-2", [3]),
            copied == Parcel("p-3", [4]),
            message == copied,
            plain == {"id": "p-3", "weights": [4]},
        ]

    store.promises.create("other", timeout=10**9)
    store.promises.resolve("other", {"id": "p-3", "weights": [4]})
    w.using(id="w").delay()
    for _ in range(2):
        store.workflows.send("w", "parcel", {"id": "p-3", "weights": [4]})
    assert last(worker) == [True] * 4


def test_a_type_that_cannot_be_read_is_refused_by_the_call(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        try:
            await receive("a", type=object())
        except TypeError as error:
            return str(error)
        return "no error"

    w.delay()
    assert "message of topic a" in last(worker)


def test_the_types_of_a_run_without_decorator_hold_too(store: rc.Store, worker: Worker) -> None:
    def at() -> uuid.UUID:
        return uuid.UUID(int=7)

    @worker.workflow("w")
    async def w() -> list[bool]:
        found = await gather(run(at), run(str.upper, "a"))
        await sleep(1)
        return [found[0] == uuid.UUID(int=7), found[1] == "A"]

    w.delay()
    assert last(worker) == [True, True]


def test_an_argument_that_cannot_be_stored_does_not_matter_to_a_step(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> int:
        return await run(len, {object()})

    w.delay()
    assert last(worker) == 1


def test_the_result_of_a_workflow_is_that_of_a_job(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> Any:
        return object()

    w.using(id="w").delay()
    (ended,) = drained(worker)
    job = store.jobs.get("w")
    assert ended.outcome == "failed" or job.state == "failed"
    assert job.error is not None and job.error["code"] == "InvalidResult"
