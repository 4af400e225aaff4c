"""The assertions on stores: they pass on the right state only, and their messages show similar ids and the differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import (
    assert_enqueued,
    assert_same_state,
    assert_settled,
    assert_sound,
    assert_waiting_for,
    serving,
)


def lines_of(call: Callable[[], object]) -> list[str]:
    """Returns the lines of the message of a failed assertion."""
    with pytest.raises(AssertionError) as raised:
        call()
    return str(raised.value).splitlines()


# -- assert_enqueued ------------------------------------------------------------------------------------------------------


@pytest.fixture
def mails(store: Any) -> Any:
    """Two jobs of one type and one of another."""
    store.jobs.enqueue("email:send", {"to": "ann", "lines": [1, 2]}, id="a", queue="mail", priority=7)
    store.jobs.enqueue("email:send", {"to": "bob"}, id="b", queue="mail")
    store.jobs.enqueue("sms", b"\xff", id="c")
    return store


def test_an_enqueued_job_is_returned(mails: Any) -> None:
    assert [job.id for job in assert_enqueued(mails, "email:send")] == ["a", "b"]
    assert [job.id for job in assert_enqueued(mails, "email:send", payload={"to": "bob"}, queue="mail", count=1)] == ["b"]
    assert [job.id for job in assert_enqueued(mails, "email:send", priority=7)] == ["a"]
    assert [job.id for job in assert_enqueued(mails, "email:send", payload=lambda got: len(got) == 2)] == ["a"]
    assert assert_enqueued(mails, "fax", count=0) == []


def test_a_job_counts_whatever_became_of_it(mails: Any) -> None:
    mails.jobs.cancel("b")
    assert len(assert_enqueued(mails, "email:send", count=2)) == 2
    assert [job.id for job in assert_enqueued(mails, "email:send", state="cancelled")] == ["b"]


def test_a_missing_job_shows_the_nearest_first(mails: Any) -> None:
    lines = lines_of(lambda: assert_enqueued(mails, "email:send", payload={"to": "ann", "lines": [1, 3]}, queue="mail"))
    assert lines == [
        "at least 1 job 'email:send' in queue 'mail' with payload {'to': 'ann', 'lines': [1, 3]} must be enqueued, found 0",
        "near: job 'a' of type 'email:send' in queue 'mail', pending",
        "  payload $.lines[1]: got 2, expected 3",
        "near: job 'b' of type 'email:send' in queue 'mail', pending",
        "  payload $.lines: got none, expected [1, 3]",
        "  payload $.to: got 'bob', expected 'ann'",
        "near: job 'c' of type 'sms' in queue 'default', pending",
        "  type: got 'sms', expected 'email:send'",
        "  queue: got 'default', expected 'mail'",
        "  payload $: got '/w==', expected {'to': 'ann', 'lines': [1, 3]}",
    ]


def test_a_misspelt_type_finds_its_neighbour(mails: Any) -> None:
    lines = lines_of(lambda: assert_enqueued(mails, "email:sent"))
    assert lines[1:3] == [
        "near: job 'a' of type 'email:send' in queue 'mail', pending",
        "  type: got 'email:send', expected 'email:sent'",
    ]


def test_too_many_jobs_are_listed(mails: Any) -> None:
    lines = lines_of(lambda: assert_enqueued(mails, "email:send", count=1))
    assert lines[0] == "exactly 1 job 'email:send' must be enqueued, found 2"
    assert [line[:14] for line in lines[1:]] == ["found: job 'a'", "found: job 'b'"]
    assert lines_of(lambda: assert_enqueued(mails, "sms", count=0))[0].endswith("found 1")


def test_a_function_of_the_payload_is_named(mails: Any) -> None:
    def has_attachment(payload: Any) -> bool:
        return "attachment" in payload

    lines = lines_of(lambda: assert_enqueued(mails, "email:send", payload=has_attachment))
    assert "with payload has_attachment" in lines[0]
    assert "  payload {'to': 'bob'}: has_attachment returned a false value" in lines


def test_an_empty_store_says_so(store: Any) -> None:
    assert lines_of(lambda: assert_enqueued(store, "email:send"))[1:] == ["the store has no job"]


def test_a_member_that_jobs_do_not_have_is_refused(store: Any) -> None:
    with pytest.raises(TypeError, match="members must be attributes of Job, got que"):
        assert_enqueued(store, "t", que="mail")


def test_all_pages_are_read() -> None:
    with rc.Store(clock=rc.ManualClock()) as store:
        store.jobs.enqueue_many("t", range(1500))
        assert len(assert_enqueued(store, "t", count=1500)) == 1500


# -- assert_settled -------------------------------------------------------------------------------------------------------


def test_a_settled_promise_is_returned(store: Any) -> None:
    store.promises.create("a", timeout=1000)
    store.promises.resolve("a", {"n": [1]})
    assert assert_settled(store, "a").id == "a"
    assert assert_settled(store, "a", state="resolved", value={"n": [1]}).settled_at == 0
    assert_settled(store, "a", value=lambda got: got["n"])


def test_another_value_is_shown_by_its_path(store: Any) -> None:
    store.promises.create("a", timeout=1000)
    store.promises.resolve("a", {"n": [1], "m": 2})
    lines = lines_of(lambda: assert_settled(store, "a", value={"n": [3]}))
    assert lines[0].startswith("the value of promise 'a', which is resolved, must be {'n': [3]}, got {")
    assert lines[1:] == ["  $.m: got 2, expected none", "  $.n[0]: got 1, expected 3"]


def test_another_state_is_shown_with_its_instant(store: Any) -> None:
    store.promises.create("a", timeout=1000)
    store.clock.advance(1500)
    lines = lines_of(lambda: assert_settled(store, "a", state="resolved"))
    assert lines == ["promise 'a' must be resolved, is rejected_timedout since 1000", "its value is empty"]


def test_a_missing_promise_shows_similar_ids(store: Any) -> None:
    for id in ("order-1", "order-2", "zebra"):
        store.promises.create(id, timeout=1000)
    lines = lines_of(lambda: assert_settled(store, "ordr-1"))
    assert lines == ["promise 'ordr-1' must exist, does not", "similar ids: 'order-1', 'order-2'"]


def test_a_pending_task_shows_what_it_waits_for(store: Any) -> None:
    store.tasks.create("order", pid="ann", ttl=5000, timeout=60_000, target="poll://any@shop")
    assert lines_of(lambda: assert_settled(store, "order", state="resolved")) == [
        "promise 'order' must be resolved, is pending",
        "its task is acquired by 'ann', version 1, until 5000",
        "its deadline is 60000, the clock is at 0",
    ]
    store.promises.create("pack", timeout=60_000)
    store.tasks.suspend("order", 1, ["pack"])
    assert lines_of(lambda: assert_settled(store, "order"))[1:3] == [
        "its task is suspended, version 1",
        "it waits for 'pack', which is pending",
    ]
    assert "it has no task: a program must settle it" in lines_of(lambda: assert_settled(store, "pack"))


def test_a_pending_job_shows_its_last_error_and_its_retry(store: Any) -> None:
    store.jobs.enqueue("t", id="j", max_retries=2, retry_policy={"kind": "fixed", "intervals": [700]})
    store.jobs.claim("default", worker="ann", lease=1000, start=1)
    store.jobs.fail("j", 1, "SmtpDown", "no such host")
    assert lines_of(lambda: assert_settled(store, "j"))[1:] == [
        "it is a job of type 't' in queue 'default': retry, next_retry_at 700",
        "its attempt 1 of 3 at most: failed",
        "its last error is SmtpDown: no such host",
        "it has no deadline, the clock is at 0",
    ]


def test_a_failed_job_shows_its_error(store: Any) -> None:
    store.jobs.enqueue("t", id="j", max_retries=0, on_exhausted="failed")
    store.jobs.claim("default", worker="ann", lease=1000, start=1)
    store.jobs.fail("j", 1, "SmtpDown", "no such host")
    lines = lines_of(lambda: assert_settled(store, "j", state="resolved"))
    assert lines[0].startswith("promise 'j' must be resolved, is rejected since")
    assert "its error is SmtpDown: no such host" in lines


# -- assert_waiting_for ---------------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(store: Any) -> Any:
    """The task a awaits the task b, which awaits the promise c."""
    for id in ("a", "b"):
        store.tasks.create(id, pid="ann", ttl=5000, timeout=60_000, target="poll://any@shop")
    store.promises.create("c", timeout=60_000, tags={"resonate:external": "true"})
    store.tasks.suspend("a", 1, ["b"])
    store.tasks.suspend("b", 1, ["c"])
    return store


def test_a_suspended_task_waits(waiting: Any) -> None:
    assert_waiting_for(waiting, "a", "b")
    assert_waiting_for(waiting, "b", "c")


def test_an_indirect_wait_is_none_and_is_shown(waiting: Any) -> None:
    assert lines_of(lambda: assert_waiting_for(waiting, "a", "c")) == [
        "'a' must wait for 'c', does not",
        "'a' waits for 'b', which is pending",
        "'c' is pending, and awaited by 'b'",
        "indirectly it does: 'a' waits for 'b' waits for 'c'",
    ]


def test_a_woken_task_no_longer_waits(waiting: Any) -> None:
    waiting.promises.resolve("c")
    assert lines_of(lambda: assert_waiting_for(waiting, "b", "c"))[:2] == [
        "'b' must wait for 'c', does not",
        "the task of 'b' is pending, version 1",
    ]


def test_what_has_no_task_waits_for_nothing(waiting: Any) -> None:
    assert "'c' has no task" in lines_of(lambda: assert_waiting_for(waiting, "c", "a"))
    assert lines_of(lambda: assert_waiting_for(waiting, "a", "nope"))[0] == "promise 'nope' must exist, does not"


# -- assert_sound, assert_same_state --------------------------------------------------------------------------------------


def test_a_sound_store_passes(store: Any) -> None:
    store.promises.create("a", timeout=1000)
    assert_sound(store)


def test_an_unsound_store_is_described() -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("a", timeout=1000)
    snapshot = store.snapshot()
    snapshot["promises"][0]["state"] = "resolved"  # a settled promise has an instant of settlement
    store.restore(snapshot, check=False)
    names = {one.name for one in store.check()}
    assert names
    lines = lines_of(lambda: assert_sound(store))
    assert lines[0] == f"the store must be sound, check() reports {len(lines) - 1}"
    assert {line.partition(":")[0] for line in lines[1:]} == names
    assert_sound(store, ignore=names)


def test_the_states_of_two_stores(store: Any) -> None:
    store.promises.create("a", timeout=1000)
    with rc.Store(clock=rc.ManualClock()) as other:
        other.restore(store.snapshot())
        assert_same_state(store, other)
        other.promises.resolve("a", 1)
        other.promises.create("b", timeout=1000)
        lines = lines_of(lambda: assert_same_state(store, other))
    assert lines[0] == "the states must be the same, 4 differences"
    assert "promises['a'].state: got 'pending', expected 'resolved'" in lines
    assert "promises['b']: got none, expected one" in lines


# -- on a server ----------------------------------------------------------------------------------------------------------


def test_they_take_a_client_too() -> None:
    with rc.Store(clock=rc.ManualClock()) as store, serving(store) as server, server.client() as client:
        store.jobs.enqueue("t", 1, id="j")
        store.tasks.create("order", pid="ann", ttl=5000, timeout=60_000, target="poll://any@shop")
        assert_enqueued(client, "t", payload=1, count=1)
        assert "its task is acquired by 'ann', version 1" in lines_of(lambda: assert_settled(client, "order"))
        with pytest.raises(TypeError, match="store must be a Store, got Client"):
            assert_waiting_for(client, "order", "j")  # type: ignore[arg-type]
