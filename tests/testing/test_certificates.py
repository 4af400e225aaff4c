"""`crash_everywhere` finds each effect that a crash repeats or prevents, and passes workflows whose steps have keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import EffectsBroken, NotSimulated, crash_everywhere
from resonate_core.worker import Worker
from resonate_core.workflow import blocking, gather, promise, receive, run, sleep, step, uuid4

DAY = timedelta(days=1)


class Outside:
    """A bank and a mail server; the bank knows keys."""

    def __init__(self) -> None:
        self.effects: list[Any] = []
        self.keys: set[str] = set()

    def charge(self, order: str, key: str | None = None) -> str:
        if key is None or key not in self.keys:
            self.keys.add(str(key))
            self.effects.append(("charge", order))
        return f"receipt of {order}"

    async def mail(self, text: str, key: str) -> None:
        await asyncio.sleep(0.5)
        if key not in self.keys:
            self.keys.add(key)
            self.effects.append(("mail", text))

    def reset(self) -> None:
        self.keys.clear()


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
def worker() -> Worker:
    return Worker()


def certify(workflow: Any, outside: Outside, **options: Any) -> Any:
    return crash_everywhere(workflow, "7", effects=outside.effects, reset=outside.reset, **options)


def broken(workflow: Any, outside: Outside, **options: Any) -> dict[Any, tuple[int, int]]:
    with pytest.raises(EffectsBroken) as caught:
        certify(workflow, outside, **options)
    assert all(each.crashes and each.story for each in caught.value.defects)
    return {each.effect: (each.expected, each.times) for each in caught.value.defects}


@pytest.fixture
def fulfil(worker: Worker, outside: Outside) -> Any:
    """Charges, mails, waits for a week and for a message, and has child jobs."""
    pack = worker.task("pack", max_retries=9)(lambda order: f"parcel of {order}")

    @worker.workflow("fulfil")
    async def fulfil(order: str) -> list[Any]:
        key = str(await uuid4())
        receipt, parcel = await gather(run(outside.charge, order, key), pack.call(order))
        await sleep(7 * DAY)
        await run(outside.mail, f"{parcel} is on its way", str(await uuid4()))
        return [receipt, await receive("rating", type=int, timeout=30 * DAY, default=0)]

    return fulfil


def test_a_workflow_with_keys_is_certified(fulfil: Any, outside: Outside) -> None:
    certificate = certify(fulfil, outside, messages=[("rating", 5)])
    assert certificate.effects == Counter({("charge", "7"): 1, ("mail", "parcel of 7 is on its way"): 1})
    assert (certificate.state, certificate.result) == ("completed", ["receipt of 7", 5])
    requests = {crash.split(", ")[0] for crash in certificate.crashes}
    assert len(requests) == len(certificate.crashes)
    assert {request.split(" ")[0] for request in requests} == {"before", "after"}
    for name in ("charge", "mail", "uuid4"):
        assert any(f"({name})" in crash for crash in certificate.crashes), name
    again = certify(fulfil, outside, messages=[("rating", 5)])
    assert again == certificate, "equal in each run"


def test_an_effect_outside_of_a_step_is_found(worker: Worker, outside: Outside) -> None:
    @worker.workflow("w")
    async def w(order: str) -> None:
        outside.effects.append("seen")
        await run(outside.charge, order, str(await uuid4()))
        await sleep(DAY)

    assert broken(w, outside) == {"seen": (1, 2)}


def test_a_step_without_a_key_is_found(worker: Worker, outside: Outside) -> None:
    @worker.workflow("w")
    async def w(order: str) -> None:
        await run(outside.charge, order)
        await sleep(DAY)

    assert broken(w, outside) == {("charge", "7"): (1, 2)}
    with pytest.raises(EffectsBroken) as caught:
        certify(w, outside)
    (defect,) = caught.value.defects
    assert defect.crashes == (next(iter(defect.crashes)),)
    assert defect.crashes[0].startswith("before request") and defect.crashes[0].endswith("job.record (charge)")
    assert "('charge', '7') happened 2 times, and once without a crash, after a crash before request" in str(caught.value)
    assert any("crashes before job.record (charge)" in line for line in str(caught.value).splitlines()), "it has the story"


def test_a_key_that_is_not_recorded_is_found(worker: Worker, outside: Outside) -> None:
    import uuid

    @step
    async def charge(order: str) -> None:
        outside.charge(order, str(uuid.uuid4()))

    @worker.workflow("w")
    async def w(order: str) -> None:
        await charge(order)

    assert broken(w, outside) == {("charge", "7"): (1, 2)}


def test_an_effect_that_never_happens_is_found(worker: Worker, outside: Outside) -> None:
    @step(at_most_once=True)
    async def charge(order: str) -> None:
        await asyncio.sleep(0.1)
        outside.charge(order)

    @worker.workflow("w")
    async def w(order: str) -> None:
        await charge(order)

    found = broken(w, outside)
    assert found == {("charge", "7"): (1, 0), None: (1, 0)}
    with pytest.raises(
        EffectsBroken, match="('charge', '7') never happened, and once without a crash".replace("(", r"\(").replace(")", r"\)")
    ):
        certify(w, outside)
    with pytest.raises(EffectsBroken, match="it ends as failed, and as completed without a crash"):
        certify(w, outside)


def test_an_effect_of_a_cleanup_is_found_and_a_crash_runs_none(worker: Worker, outside: Outside) -> None:
    """It happens again if the worker crashes after it, before the workflow is completed; never because of the crash itself."""

    @worker.workflow("w")
    async def w(order: str) -> None:
        try:
            await sleep(DAY)
        except BaseException as error:
            outside.effects.append(type(error).__name__)
            raise
        finally:
            outside.effects.append("released")

    assert broken(w, outside) == {"released": (1, 2)}


def test_a_def_workflow(worker: Worker, outside: Outside) -> None:
    @worker.workflow("good")
    def good(order: str) -> str:
        key = str(blocking.uuid4())
        receipt = blocking.run(outside.charge, order, key)
        blocking.sleep(DAY)
        return receipt

    certificate = certify(good, outside)
    assert certificate.result == "receipt of 7"
    assert any("before request" in crash and "(charge)" in crash for crash in certificate.crashes)

    @worker.workflow("bad")
    def bad(order: str) -> None:
        blocking.run(outside.charge, order)

    assert broken(bad, outside) == {("charge", "7"): (1, 2)}


def test_effects_by_a_function_and_other_programs(worker: Worker, outside: Outside) -> None:
    elsewhere = Worker(queues="elsewhere")

    @elsewhere.task("pack", queue="elsewhere", max_retries=5)
    async def pack(order: str) -> str:
        outside.effects.append("packed")
        return order

    @worker.workflow("w")
    async def w(order: str) -> Any:
        asked = promise(type=str)
        await run(outside.charge, asked.id, asked.id)
        return [await asked, await pack.call(order)]

    def person(store: rc.Store) -> None:
        for open_one in store.promises.search("workflow-1:1", state="pending"):
            store.promises.resolve(open_one.id, "yes")

    before = ["an effect of another test"]
    outside.effects += before
    certificate = crash_everywhere(
        w, "7", effects=lambda: list(outside.effects), reset=outside.reset, meanwhile=person, workers=[elsewhere]
    )
    assert certificate.effects == {("charge", "workflow-1:1"): 1, "packed": 1}
    assert certificate.result == ["yes", "7"]


def test_what_the_store_refuses_meanwhile_is_no_change(worker: Worker, outside: Outside) -> None:
    """Others ask for what is not there, again after each change: their own requests are none, or they would ask for ever."""

    @worker.workflow("w")
    async def w(order: str) -> str:
        await run(outside.charge, order, str(await uuid4()))
        return await promise(type=str)

    asked = []

    def person(store: rc.Store) -> None:
        asked.append(store.clock.now)
        with contextlib.suppress(rc.NotFound):
            store.promises.resolve("workflow-1:3", "yes")

    certificate = certify(w, outside, meanwhile=person)
    assert certificate.result == "yes"
    assert len(asked) < 30 * (len(certificate.crashes) + 1)


def test_a_workflow_that_does_not_end_is_refused(worker: Worker, outside: Outside) -> None:
    @worker.workflow("w")
    async def w(order: str) -> None:
        await receive("never")

    with pytest.raises(AssertionError, match="is not settled within"):
        certify(w, outside, within="10 days")


def test_what_cannot_be_simulated_is_refused(worker: Worker, outside: Outside) -> None:
    import time

    @worker.workflow("w")
    async def w(order: str) -> None:
        await run(time.sleep, 1)

    with pytest.raises(NotSimulated, match=r"time\.sleep"):
        certify(w, outside)


@pytest.mark.parametrize("effects", [None, {"a"}, ()])
def test_wrong_effects_are_refused(fulfil: Any, effects: Any) -> None:
    with pytest.raises(rc.errors.Invalid, match="effects must be a list, or a function"):
        crash_everywhere(fulfil, "7", effects=effects)
