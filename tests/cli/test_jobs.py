"""The requests that the commands on jobs and queues send, and what they print: the same for a file and a URL."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_in_states import HOUR, fill, opened, running
from protocol_server import FAR, Run

import resonate_core as rc


@pytest.fixture(params=["file", "url"])
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store with jobs, and the flags that name it."""
    with opened(request.param, request, tmp_path) as (store, store_flags):
        fill(store)
        yield store, store_flags


def decoded(value: dict[str, str]) -> object:
    return json.loads(base64.b64decode(value["data"]))


def ids(document: dict[str, Any]) -> list[str]:
    return [job["id"] for job in document["jobs"]]


def test_enqueue_gives_the_job_every_option(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    options = [
        "--id",
        "n",
        "--queue",
        "q",
        "--priority",
        3,
        "--tag",
        "a=b",
        "--process-in",
        "90s",
        "--good-until",
        FAR,
        "--timeout",
    ]
    options += ["5m", "--deadline", FAR + 1, "--retention", "2h", "--max-retries", 7, "--retry-policy", "exponential:1s,cap=1h"]
    options += ["--retry-on", "Timeout", "--on-exhausted", "failed", "--lifecycle", "asynq", "--unique-key", "k"]
    options += ["--unique-for", "10m", "--sent-at", "1000", "--header", "h=1", "--cancel-with-awaiters"]
    job = run("jobs", "enqueue", "email:send", "--payload", '{"to": "ü"}', *options, *store_flags, "--json").json["job"]
    assert (decoded(job["payload"]), job["payload"]["headers"], job["tags"]) == ({"to": "ü"}, {"h": "1"}, {"a": "b"})
    policy = job["retryPolicy"]
    assert (policy["kind"], policy["base"], policy["cap"], policy["codes"]) == ("exponential", 1000, HOUR, ["Timeout"])
    expected = {
        "id": "n",
        "queue": "q",
        "type": "email:send",
        "state": "scheduled",
        "priority": 3,
        "goodUntil": FAR,
        "timeout": 300_000,
        "deadline": FAR + 1,
        "retention": 2 * HOUR,
        "maxRetries": 7,
        "onExhausted": "failed",
        "uniqueKey": "k",
        "uniqueFor": 600_000,
        "sentAt": 1000,
    }
    assert {name: job[name] for name in expected} == expected
    (stored,) = [promise["job"] for promise in store.snapshot()["promises"] if promise["id"] == "n"]
    assert stored["cancelWithAwaiters"] is True  # of the lifecycle asynq it is not the default


def test_enqueue_takes_what_is_not_given_from_the_queue(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    made = run("jobs", "enqueue", "x", *store_flags, "--json").json["job"]
    assert (made["queue"], made["state"], made["maxRetries"]) == ("default", "pending", 25)
    assert "retention" not in made
    assert made["id"].startswith("job:")
    run("queues", "set", "short", "--max-retries", 2, "--retention", "1h", "--priority", 7, *store_flags)
    made = run("jobs", "enqueue", "x", "--queue", "short", *store_flags, "--json").json["job"]
    assert (made["maxRetries"], made["retention"], made["priority"]) == (2, HOUR, 7)
    made = run("jobs", "enqueue", "x", "--queue", "short", "--retention", "keep", *store_flags, "--json").json["job"]
    assert "retention" not in made
    at = run("jobs", "enqueue", "x", "--process-at", FAR, *store_flags, "--json").json["job"]
    assert (at["state"], at["processAt"]) == ("scheduled", FAR)


def test_the_same_again_is_shown_and_another_is_a_conflict(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    again = ["jobs", "enqueue", "email:send", "--id", "mail-1", "--queue", "mail"]
    assert run(*again, "--payload", '{"to":"ada"}', *store_flags).code == 0
    assert run(*again, "--payload", "2", *store_flags).code == 5
    held = run("jobs", "enqueue", "email:send", "--queue", "mail", "--unique-key", "ada", *store_flags)
    assert held.code == 5
    assert "mail-1" in held.err


def test_list(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued

    def found(*filters: object) -> list[str]:
        return ids(run("jobs", "list", *filters, *store_flags, "--json").json)

    assert found() == ["again", "busy", "dead", "done", "mail-1", "mail-2", "mail-3"]
    assert found("--queue", "mail") == ["mail-1", "mail-2", "mail-3"]
    assert found("--type", "email:send") == ["mail-1", "mail-2"]
    assert found("--state", "archived") == ["dead"]
    assert found("--tag", "team=blue") == ["mail-1"]
    assert found("--unique-key", "ada") == ["mail-1"]
    assert found("--id", "d*") == ["dead", "done"]
    assert found("--queue", "mail", "--state", "scheduled") == ["mail-3"]
    page = run("jobs", "list", "--limit", 3, *store_flags, "--json").json
    assert ids(page) == ["again", "busy", "dead"]
    assert found("--limit", 3, "--cursor", page["cursor"]) == ["done", "mail-1", "mail-2"]
    assert found("--limit", 2, "--all") == found()


def test_a_list_for_a_pipe(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    rows = {row[0]: row for row in (line.split("\t") for line in run("jobs", "list", *store_flags).out.splitlines())}
    assert rows["mail-2"][1:6] == ["mail", "email:send", "pending", "10", "0/25"]
    assert rows["dead"][3:7] == ["archived", "50", "0/0", ""]
    assert rows["dead"][-1] == "Broken: no paper"
    assert rows["busy"][6] == "w1"
    assert rows["again"][8].endswith("Z") and rows["again"][9] == ""
    assert rows["done"][8] == "" and rows["done"][9].endswith("Z")
    more = run("jobs", "list", "--limit", 1, *store_flags)
    assert more.out.count("\n") == 1
    assert "--cursor" in more.err


def test_show(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    shown = run("jobs", "show", "again", *store_flags, "--json").json
    assert shown == {"job": store.jobs.get("again").to_dict()}
    lines = [line.split("\t") for line in run("jobs", "show", "again", *store_flags).out.splitlines()]
    record = {line[0]: line[1] for line in lines if line[0] != "attempt"}
    assert (record["state"], record["retryPolicy"], record["error.code"]) == ("retry", "fixed:1h", "Timeout")
    assert record["error.message"] == "no answer"
    assert record["nextRetryAt"].endswith("Z")
    (attempt,) = [line for line in lines if line[0] == "attempt"]
    assert attempt[1:4] == ["1", "failed", "w1"]
    assert attempt[-1] == "Timeout: no answer"
    done = {line.split("\t")[0]: line.split("\t")[1] for line in run("jobs", "show", "done", *store_flags).out.splitlines()}
    assert done["result"] == '{"pages":3}'
    mail = run("jobs", "show", "mail-1", *store_flags).out
    assert 'payload\t{"to":"ada"}\n' in mail and "tags\tteam=blue\n" in mail


@pytest.mark.parametrize(
    ("word", "id", "state"),
    [
        ("run", "dead", "pending"),
        ("run", "again", "pending"),
        ("run", "mail-3", "pending"),
        ("archive", "mail-1", "archived"),
        ("archive", "again", "archived"),
        ("cancel", "mail-3", "cancelled"),
        ("cancel", "busy", "cancelled"),
        ("cancel", "dead", "cancelled"),
    ],
)
def test_one_job(run: Run, queued: tuple[rc.Store, list[str]], word: str, id: str, state: str) -> None:
    store, store_flags = queued
    assert run("jobs", word, id, *store_flags, "--json").json["job"]["state"] == state
    assert store.jobs.get(id).state == state
    again = run("jobs", word, id, *store_flags)
    assert (again.code, again.out) == (5, "")


def test_delete_one(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    assert run("jobs", "delete", "dead", *store_flags).out == "deleted\n"
    assert run("jobs", "delete", "mail-1", *store_flags, "--json").json == {}
    for id in ("dead", "mail-1"):
        assert run("jobs", "show", id, *store_flags).code == 4
    assert run("jobs", "delete", "dead", *store_flags).code == 4
    assert run("jobs", "delete", "busy", *store_flags).code == 5


def test_several_jobs_each_by_itself(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    ran = run("jobs", "run", "dead", "nobody", "mail-1", "again", *store_flags)
    assert ran.code == 4
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["dead", "again"]
    assert ran.err.count("\n") == 2 and "nobody" in ran.err and "mail-1" in ran.err
    assert [store.jobs.get(id).state for id in ("dead", "again")] == ["pending", "pending"]
    cancelled = run("jobs", "cancel", "dead", "again", *store_flags, "--json")
    assert cancelled.code == 0
    assert [(one["id"], one["status"], one["job"]["state"]) for one in cancelled.json["jobs"]] == [
        ("dead", 200, "cancelled"),
        ("again", 200, "cancelled"),
    ]
    deleted = run("jobs", "delete", "mail-1", "busy", "mail-2", *store_flags, "--json")
    assert (deleted.code, deleted.err) == (5, "")
    assert [(one["id"], one["status"], "error" in one) for one in deleted.json["jobs"]] == [
        ("mail-1", 200, False),
        ("busy", 409, True),
        ("mail-2", 200, False),
    ]
    assert run("jobs", "delete", "dead", "again", *store_flags).out == "dead\tdeleted\nagain\tdeleted\n"


def test_all_that_match(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    job = running(store, "dead-2", max_retries=0)
    store.jobs.fail("dead-2", job.version, "Broken")
    assert (
        run("jobs", "run", "--all", "--state", "archived", "--queue", "mail", "--yes", *store_flags).out == "0 jobs pending again\n"
    )
    assert run("jobs", "run", "--all", "--state", "archived", "--queue", "work", "-y", *store_flags).out == "2 jobs pending again\n"
    assert run("jobs", "archive", "--all", "--state", "retry", "--yes", *store_flags, "--json").json == {"count": 1}
    assert run("jobs", "cancel", "--all", "--type", "email:news", "--yes", *store_flags).out == "1 job cancelled\n"
    assert run("jobs", "cancel", "--all", "--tag", "team=blue", "--yes", *store_flags, "--json").json == {"count": 1}
    assert (
        run("jobs", "delete", "--all", "--state", "cancelled", "--queue", "mail", "--yes", *store_flags).out == "2 jobs deleted\n"
    )
    assert ids(run("jobs", "list", *store_flags, "--json").json) == ["again", "busy", "dead", "dead-2", "done", "mail-2"]


def test_more_than_one_request_does(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    store.jobs.enqueue_many("many", range(2100), queue="many", max_retries=0)
    assert run("jobs", "archive", "--all", "--state", "pending", "--queue", "many", "-y", *store_flags, "--json").json == {
        "count": 2100
    }
    assert (
        run("jobs", "run", "--all", "--state", "archived", "--type", "many", "-y", *store_flags).out == "2100 jobs pending again\n"
    )
    assert run("jobs", "delete", "--all", "--state", "pending", "--queue", "many", "-y", *store_flags, "--json").json == {
        "count": 2100
    }
    assert len(store.jobs.search(queue="many")) == 0


def test_what_is_referred_to_is_deleted_later_or_stays(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    store.jobs.complete("awaited", running(store, "awaited").version)
    for workflow, job in (("w1", "awaited"), ("w2", "mail-1")):
        task = store.tasks.create(workflow, FAR, pid="p", ttl=HOUR, target="poll://any@g").task
        store.tasks.suspend(workflow, task.version, [job])
    assert run("jobs", "delete", "--all", "--state", "pending", "--queue", "mail", "-y", *store_flags, "--json").json == {
        "count": 1
    }
    assert run("jobs", "show", "mail-1", *store_flags).code == 0
    assert run("jobs", "delete", "mail-1", *store_flags).code == 5
    for count in (2, 0):
        assert run("jobs", "delete", "--all", "--state", "completed", "-y", *store_flags, "--json").json == {"count": count}
    assert run("jobs", "show", "done", *store_flags).code == 4


def test_stats(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    store.queues.pause("mail")
    mail, work = run("jobs", "stats", *store_flags, "--json").json["queues"]
    assert (mail["name"], mail["paused"], mail["counts"]["pending"], mail["counts"]["scheduled"]) == ("mail", True, 2, 1)
    assert {state: count for state, count in work["counts"].items() if count} == {
        "retry": 1,
        "archived": 1,
        "completed": 1,
        "running": 1,
    }
    assert [(day["processed"], day["failed"]) for day in work["days"]] in ([(3, 2)], [(2, 1), (1, 1)], [(1, 0), (2, 2)])
    assert [one["name"] for one in run("jobs", "stats", "--queue", "work", *store_flags, "--json").json["queues"]] == ["work"]
    assert run("jobs", "stats", "--queue", "work", "--days", 0, *store_flags, "--json").json["queues"][0]["days"] == []
    lines = [line.split("\t") for line in run("jobs", "stats", *store_flags).out.splitlines()]
    assert lines[0][:6] == ["queue", "mail", "paused", "1", "0", "2"]
    assert lines[1][:3] == ["queue", "work", ""]
    assert all(line[:2] == ["day", "work"] for line in lines[2:])
    assert sum(int(line[3]) for line in lines[2:]) == 3


def test_queues(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    options = ["--weight", 6, "--concurrency", 4, "--rate", "100/1m,burst=20", "--lifecycle", "asynq", "--timeout", "90s"]
    made = run(
        "queues", "set", "mail", *options, "--retention", "keep", "--retry-policy", "fixed:1s,1m", *store_flags, "--json"
    ).json["queue"]
    assert (made["weight"], made["concurrency"], made["lifecycle"]) == (6, 4, "asynq")
    assert made["rate"] == {"limit": 100, "per": 60_000, "burst": 20}
    assert made["defaults"]["timeout"] == 90_000
    assert made["defaults"]["retention"] is None
    assert made["defaults"]["retryPolicy"]["intervals"] == [1000, 60_000]
    added = run("queues", "set", "mail", "--max-retries", 3, *store_flags, "--json").json["queue"]["defaults"]
    assert (added["maxRetries"], added["timeout"]) == (3, 90_000)
    shown = dict(line.split("\t") for line in run("queues", "pause", "mail", *store_flags).out.splitlines())
    assert (shown["paused"], shown["rate"], shown["defaults.timeout"]) == ("paused", "100/1m,burst=20", "90s")
    assert (shown["defaults.retention"], shown["defaults.retryPolicy"]) == ("keep", "fixed:1s,1m")
    listed = [line.split("\t") for line in run("queues", "list", *store_flags).out.splitlines()]
    assert [line[:3] for line in listed] == [["mail", "paused", "6"], ["work", "", "1"]]
    assert "paused\t" not in run("queues", "resume", "mail", *store_flags).out
    show = run("queues", "show", "mail", *store_flags, "--json").json
    assert (show["queue"]["paused"], show["stats"]["counts"]["pending"]) == (False, 2)
    assert "queue\tmail\t\t1\t0\t2\t0" in run("queues", "show", "mail", *store_flags).out
    clear = [part for name in ("concurrency", "rate", "lifecycle", "defaults") for part in ("--clear", name)]
    bare = run("queues", "set", "mail", *clear, *store_flags, "--json").json["queue"]
    assert not {"concurrency", "rate", "lifecycle"} & set(bare)
    assert not bare.get("defaults")
    assert bare["weight"] == 6
    assert run("queues", "set", "new", "--weight", 2, *store_flags).code == 0
    assert [one["name"] for one in run("queues", "list", *store_flags, "--json").json["queues"]] == ["mail", "new", "work"]


def test_a_paused_queue_gives_nothing(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    run("queues", "pause", "mail", *store_flags)
    assert len(store.jobs.claim("mail", worker="w", lease=1000)) == 0
    run("queues", "resume", "mail", *store_flags)
    assert [job.id for job in store.jobs.claim("mail", worker="w", lease=1000)] == ["mail-2"]


def test_a_workflow_with_jobs(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    tags = {"resonate:origin": "order", "resonate:parent": "order"}
    store.promises.create("order", FAR)
    store.promises.create("order.0", FAR, tags=tags)
    for number, (queue, options) in enumerate([("flow", {}), ("flow", {"process_in": HOUR}), ("dead", {"max_retries": 0})], 1):
        store.jobs.enqueue(f"step:{number}", id=f"order.{number}", queue=queue, tags=tags, **options)
    (claimed,) = store.jobs.claim("dead", worker="w9", lease=HOUR)
    store.jobs.start(claimed.id, claimed.version)
    store.jobs.fail(claimed.id, claimed.version, "Broken")
    calls = {one["id"]: one for one in run("tree", "order", *store_flags, "--json").json["calls"]}
    assert calls["order.0"]["job"] is None
    assert [calls[f"order.{number}"]["job"]["state"] for number in (1, 2, 3)] == ["pending", "scheduled", "archived"]
    drawn = run("tree", "order", *store_flags).out
    assert "order.1  pending  step:1" in drawn and "waits for a worker of queue flow" in drawn
    assert "order.2  scheduled  step:2" in drawn and "due in queue flow at" in drawn
    assert "order.3  archived  step:3" in drawn and "archived until `jobs run`, after Broken" in drawn
