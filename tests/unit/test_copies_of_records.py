"""Results are compared by content: so are equality, hashes, pickles and copies, and their reprs show it."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest

import resonate_core as rc
from random_records import random_records

TARGET = "poll://any@workers"


def results(start: int = 0) -> dict[str, Any]:
    """One result of each class that is compared by content."""
    clock = rc.ManualClock(start)
    store = rc.Store(clock=clock)
    made: dict[str, Any] = {}
    made["Promise"] = store.promises.create("p", timeout=1000, param={"a": 1}, tags={"resonate:external": "true"})
    made["Value"] = made["Promise"].param
    branch = {"resonate:branch": "b"}
    store.promises.create("sibling", timeout=9000, tags=branch)
    store.promises.create("settled", timeout=9000, tags={"resonate:external": "true"})
    store.promises.resolve("settled", 1)
    made["Claim"] = store.tasks.create("t", pid="w", ttl=60_000, timeout=90_000, target=TARGET, tags=branch)
    made["Task"] = made["Claim"].task
    made["Fenced"] = store.tasks.fence_create("t", 1, "child", timeout=500)
    made["Suspension"] = store.tasks.suspend("t", 1, ["settled"])
    made["Schedule"] = store.schedules.create("s", "@hourly", promise_timeout=60)
    made["PromiseBatch"] = store.promises.create_many([f"m{i}" for i in range(7)], start + 1000)
    made["PromisePage"] = store.promises.search(limit=2)
    made["TaskPage"] = store.tasks.search()
    made["SchedulePage"] = store.schedules.search()
    made["Job"] = store.jobs.enqueue("type", 1, id="j")
    store.queues.set("slow", rate={"limit": 1, "per": 1000})
    store.jobs.enqueue_many("type", [1, 2], ids=["s1", "s2"], queue="slow")
    made["JobBatch"] = store.jobs.claim("slow", 2, worker="w", lease=1000)
    made["JobHeartbeat"] = store.jobs.heartbeat("w", [("gone", 1)])
    made["Message"] = rc.Message.from_dict(
        {"address": "a", "message": {"kind": "execute", "head": {}, "data": {"task": {"id": "t", "version": 1}}}, "queuedAt": start}
    )
    made["Violation"] = rc.Violation.from_dict({"name": "orphan_tasks", "id": "t", "detail": "no promise"})
    made["Fired"] = clock.advance(2000)[0]
    return made


NAMES = sorted(results())
READY_AT = results()["JobBatch"].next_at


def test_of_every_class() -> None:
    assert [type(made).__name__ for _, made in sorted(results().items())] == NAMES
    suspension = results()["Suspension"]
    assert (suspension.status, [promise.id for promise in suspension.preload]) == (300, ["sibling"])
    assert READY_AT is not None


@pytest.mark.parametrize("name", NAMES)
def test_equal_by_content(name: str) -> None:
    first, second = results()[name], results()[name]
    assert first is not second and first == second and (first != second) is False and hash(first) == hash(second)
    assert {first: 1}[second] == 1
    assert first != name and (first == name) is False
    others = [other for other_name, other in results().items() if other_name != name]
    assert first not in others


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(name: str, protocol: int) -> None:
    made = results()[name]
    again = pickle.loads(pickle.dumps(made, protocol))
    assert type(again) is type(made) and again == made and hash(again) == hash(made) and repr(again) == repr(made)


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_the_object_itself(name: str) -> None:
    made = results()[name]
    assert copy.copy(made) is made and copy.deepcopy(made) is made
    assert copy.deepcopy({"a": [made]})["a"][0] is made


@pytest.mark.parametrize("seed", range(8))
def test_random_records_are_pickled(seed: int) -> None:
    records = list(random_records(seed))
    assert pickle.loads(pickle.dumps(records)) == records


def test_another_process_reads_a_pickle() -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    made = results()["Claim"]
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(made), capture_output=True, check=True)
    assert done.stdout.decode().strip() == repr(made)


def test_a_pickle_that_was_changed_is_refused() -> None:
    promise = results()["Promise"]
    forged = pickle.dumps(promise, 0).replace(b"timeoutAt", b"timeoutBt")
    with pytest.raises(rc.errors.Invalid, match="timeoutAt is missing"):
        pickle.loads(forged)


def test_setstate_does_not_change_a_record() -> None:
    promise = rc.Store(clock=rc.ManualClock()).promises.create("a", timeout=1000)
    state = promise.to_dict() | {"id": "b"}
    promise.__setstate__(state)
    assert promise.id == "a"


def test_pages_differ_by_their_records_and_cursors() -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create_many(["a", "b"], 1000)
    page = store.promises.search()
    assert page == store.promises.search()
    first = store.promises.search(limit=1)
    assert first.cursor and first != page
    store.promises.resolve("b")
    assert first == store.promises.search(limit=1)  # it does not show b
    assert page != store.promises.search()
    only = store.promises.search("a")
    assert list(only) == list(first) and only.cursor is None and only != first


def test_representations() -> None:
    made = results()
    shown = {name: repr(made[name]) for name in NAMES}
    assert shown["PromisePage"] == "PromisePage of 2 records: 'child', 'm0'; cursor='m0'"
    assert shown["PromiseBatch"] == "PromiseBatch of 7 records: 'm0', 'm1', 'm2', 'm3', 'm4', ..."
    assert shown["TaskPage"] == "TaskPage of 1 record: 't'"
    assert shown["JobBatch"] == f"JobBatch of 1 record: 's1'; next_at={READY_AT}"
    assert shown["JobHeartbeat"] == "JobHeartbeat(cancelled=[], lost=['gone'])"
    assert shown["Claim"] == f"Claim(task={made['Claim'].task!r}, promise={made['Claim'].promise!r}, preload=['sibling'])"
    assert shown["Fenced"] == f"Fenced(promise={made['Fenced'].promise!r}, preload=['sibling'])"
    assert shown["Suspension"] == "Suspension(suspended=False, status=300, preload=['sibling'])"
    assert repr(rc.Store(clock=rc.ManualClock()).promises.search()) == "PromisePage of 0 records"


@pytest.mark.parametrize("name", NAMES)
def test_html(name: str) -> None:
    html = results()[name]._repr_html_()
    assert html.startswith("<table>") and html.endswith("</table>")


def test_html_names_what_a_reply_contains() -> None:
    made = results()
    assert all(text in made["Claim"]._repr_html_() for text in ("<caption>Task", "<caption>Promise", "sibling"))
    assert "child" in made["Fenced"]._repr_html_() and "sibling" in made["Fenced"]._repr_html_()
    assert "sibling" in made["Suspension"]._repr_html_() and "gone" in made["JobHeartbeat"]._repr_html_()
