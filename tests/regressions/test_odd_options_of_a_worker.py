"""`Worker(queues=True)` was "'bool' object is not iterable", and other options of the wrong type were taken in silence.

Each option is tried with each odd value. A refusal names the option and shows the value; a bool is never a number. Options that the
store judges are refused where they are given, also by `using`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Retry, Snooze, Worker

NAN = float("nan")
ODD: list[Any] = [True, -1, 2.5, NAN, None, "text", b"bytes", "", [], {}, object]


def of(*taken: Any) -> list[Any]:
    """The odd values, except for those that the option takes. Compared by type too: True is not 1."""
    return [each for each in ODD if not any(type(each) is type(one) and each == one for one in taken)]


def worker(**options: Any) -> Worker:
    return Worker(rc.Store(clock=rc.ManualClock()), **options)


#: The values that each option takes, of those above.
OF_WORKER: dict[str, list[Any]] = {
    "queues": of("text"),
    "concurrency": of(),
    "lifecycle": of(None),
    "name": of(None, "text"),
    "lease": of(),
    "run_lease": of(None),
    "strict": of(True),
    "batch": of(),
    "poll_interval": of(),
    "heartbeat": of(None),
    "grace": of(),
    "tracing": of(True, None),
    "environment": of(None),
}
OF_JOBS: dict[str, list[Any]] = {
    "queue": of(None, "text"),
    "priority": of(None),
    "timeout": of(None),
    "max_retries": of(None),
    "retry_policy": of(None),
    "on_exhausted": of(None),
    "retention": of(None),
    "lifecycle": of(None),
    "headers": of(None, {}),
    "tags": of(None, {}),
    "unique_for": of(None),
    "good_for": of(None),
    "group": of(None, "text"),
    "cancel_with_awaiters": of(None, True),
}
OF_ONE_JOB: dict[str, list[Any]] = {
    "id": of(None, "text"),
    "process_at": of(None),
    "process_in": of(None),
    "good_until": of(None),
    "deadline": of(None),
    "unique_key": of(None, "text"),
}
OF_TASKS: dict[str, list[Any]] = {"retry_on": of(None), "unpack": of(None, True), "upcast": of(None, object)}


def cells(table: dict[str, list[Any]]) -> list[Any]:
    return [pytest.param(option, value, id=f"{option}={value!r}") for option, values in table.items() for value in values]


def refused(call: Callable[[], Any], option: str, value: Any) -> None:
    with pytest.raises((rc.errors.Invalid, TypeError)) as caught:
        call()
    said = str(caught.value)
    assert option in said and repr(value) in said, said


@pytest.mark.parametrize(("option", "value"), cells(OF_WORKER))
def test_of_a_worker(option: str, value: Any) -> None:
    refused(lambda: worker(**{option: value}), option, value)


@pytest.mark.parametrize("value", of("text"), ids=repr)
def test_queues_in_a_list_and_weights(value: Any) -> None:
    refused(lambda: worker(queues=["a", value]), "queues", value)
    refused(lambda: worker(queues={"a": value}), "queues", value)
    if not isinstance(value, (list, dict)):
        refused(lambda: worker(queues={value: 1}), "queues", value)


def test_queues_are_read_once() -> None:
    assert worker(queues=(name for name in ("a", "b"))).settings.queues == ["a", "b"]
    assert worker(queues={"a": 2}).settings.queues == {"a": 2} and worker(queues=("a",)).settings.queues == ["a"]


@pytest.mark.parametrize("value", of(None, "text"), ids=repr)
def test_where_the_jobs_are(value: Any) -> None:
    refused(lambda: Worker(value), "store_or_url", value)
    refused(lambda: worker().bind(value), "store_or_url", value)


@pytest.mark.parametrize("value", of("text", None), ids=repr)
def test_a_token_is_not_shown(value: Any) -> None:
    with pytest.raises((rc.errors.Invalid, TypeError), match=r"token must be .*not shown here"):
        Worker("http://127.0.0.1:1", token=value).client  # noqa: B018
    with pytest.raises((rc.errors.Invalid, TypeError), match=r"token must be .*not shown here"):
        rc.connect("http://127.0.0.1:1", token=value)


@pytest.mark.parametrize(("option", "value"), cells(OF_TASKS))
def test_of_a_task(option: str, value: Any) -> None:
    refused(lambda: worker().task("x", **{option: value})(lambda n: n), option, value)
    if option != "unpack":
        refused(lambda: worker().batch_task("x", **{option: value})(lambda ns: None), option, value)


@pytest.mark.parametrize(("option", "value"), cells(OF_JOBS))
def test_of_the_jobs_of_a_task(option: str, value: Any) -> None:
    made = worker()
    refused(lambda: made.task("x", **{option: value})(lambda: None), option, value)
    refused(lambda: made.batch_task("x", **{option: value})(lambda ns: None), option, value)
    refused(lambda: made.periodic("@daily", "x", unique_key="k", **{option: value}), option, value)
    refused(lambda: made.cron("@daily", unique_key="k", **{option: value})(lambda: None), option, value)
    assert not {"x"} & made.tasks.keys() and made.periodics == []


@pytest.mark.parametrize(("option", "value"), cells({**OF_JOBS, **OF_ONE_JOB}))
def test_of_using(option: str, value: Any) -> None:
    task = worker().task("x")(lambda: None)
    refused(lambda: task.using(**{option: value}), option, value)
    with pytest.raises((rc.errors.Invalid, TypeError), match=r"must|has to|missing|needs"):
        task.enqueue(**{option: value})


@pytest.mark.parametrize("value", of("text", None, object), ids=repr)
def test_types_of_jobs(value: Any) -> None:
    made = worker()
    refused(lambda: made.task(value)(lambda: None), "type", value)
    refused(lambda: made.batch_task(value)(lambda ns: None), "type", value)
    refused(lambda: made.enqueue(value), "type", value)
    refused(lambda: made.periodic("@daily", value), "task", value)
    assert not made.tasks


@pytest.mark.parametrize("value", of(object), ids=repr)
def test_handlers(value: Any) -> None:
    for register in (worker().task, worker().batch_task):
        refused(lambda register=register: register("x")(value), "handler of type 'x'", value)


@pytest.mark.parametrize("value", of("text", None), ids=repr)
def test_of_a_periodic_job(value: Any) -> None:
    refused(lambda: worker().periodic(value, "x"), "cron", value)
    refused(lambda: worker().periodic("@daily", "x", name=value), "name of a periodic job", value)
    refused(lambda: worker().periodic("@daily", "x", tz=value), "tz", value)
    refused(lambda: worker().cron(value)(lambda: None), "cron", value)
    refused(lambda: worker().cron("@daily", name=value)(lambda: None), "name of a periodic job", value)
    with pytest.raises(rc.errors.Invalid, match='"CRON_TZ=text": must name a time zone'):
        worker().periodic("@daily", "x", tz="text")


@pytest.mark.parametrize("value", of(True), ids=repr)
def test_flags_of_calls(value: Any) -> None:
    refused(lambda: worker().run_until_idle(advance=value), "advance", value)
    refused(lambda: worker().run(signals=value), "signals", value)


@pytest.mark.parametrize("value", [*of(None), 10**30], ids=repr)
def test_numbers_of_calls(value: Any) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "limit": lambda given: worker().run_until_idle(limit=given),
        "grace": worker().stop,
        "after": Retry,
        "delay": Snooze,
    }
    for option, call in calls.items():
        if option != "grace" and value == 10**30:
            continue
        refused(lambda call=call: call(value), option, value)


@pytest.mark.parametrize("option", ["weight", "concurrency", "rate", "groups", "lifecycle", "defaults"])
@pytest.mark.parametrize("value", of(None, {}), ids=repr)
def test_options_of_a_queue_name_the_option(option: str, value: Any) -> None:
    with pytest.raises((rc.errors.Invalid, TypeError), match=f"^{option} must be "):
        rc.Store(clock=rc.ManualClock()).queues.set("q", **{option: value})


@pytest.mark.parametrize(
    ("member", "value"),
    [(member, value) for member in ("limit", "per", "burst") for value in of(*([None] if member == "burst" else []))],
)
def test_members_of_a_rate_name_the_member(member: str, value: Any) -> None:
    with pytest.raises(rc.errors.Invalid, match=member):
        rc.Store(clock=rc.ManualClock()).queues.set("q", rate={"limit": 1, "per": 1000, member: value})
