"""The requests that each command sends, and what it prints: the same for a file and a URL."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from protocol_server import FAR, Run, Server

import resonate_core as rc


def decoded(value: dict[str, str]) -> object:
    return json.loads(base64.b64decode(value["data"]))


def test_a_promise_from_create_to_settle(run: Run, store_flags: list[str]) -> None:
    made = run(
        "promises",
        "create",
        "p",
        *store_flags,
        "--timeout",
        FAR,
        "--param",
        '{"a": "ü"}',
        "--tag",
        "x=y=z",
        "--header",
        "h=1",
        "--json",
    )
    promise = made.json["promise"]
    assert made.code == 0
    assert (promise["state"], promise["timeoutAt"], promise["tags"]) == ("pending", FAR, {"x": "y=z"})
    assert (decoded(promise["param"]), promise["param"]["headers"]) == ({"a": "ü"}, {"h": "1"})
    assert run("promises", "resolve", "p", *store_flags, "--value", "[1]", "--json").json["promise"]["state"] == "resolved"
    got = run("promises", "get", "p", *store_flags, "--json").json["promise"]
    assert decoded(got["value"]) == [1]
    again = run("promises", "reject", "p", *store_flags, "--value", "2", "--json")
    assert (again.code, again.json["promise"]["state"]) == (0, "resolved")


@pytest.mark.parametrize(("word", "state"), [("resolve", "resolved"), ("reject", "rejected"), ("cancel", "rejected_canceled")])
def test_the_words_for_settling(run: Run, store_flags: list[str], word: str, state: str) -> None:
    assert run("promises", word, "open", *store_flags, "--json").json["promise"]["state"] == state


def test_settle_takes_a_state(run: Run, store_flags: list[str]) -> None:
    assert run("promises", "settle", "open", "--state", "rejected", *store_flags, "--json").json["promise"]["state"] == "rejected"
    assert run("promises", "settle", "open", "--state", "rejected_timedout", *store_flags).code == 2


def test_idempotency_keys(run: Run, store_flags: list[str]) -> None:
    assert run("promises", "create", "k", *store_flags, "--key", "one").code == 0
    assert run("promises", "create", "k", *store_flags, "--key", "one").code == 0
    assert run("promises", "create", "k", *store_flags, "--key", "two").code == 5
    assert run("promises", "resolve", "k", *store_flags, "--key", "one").code == 0
    assert run("promises", "resolve", "k", *store_flags, "--key", "two").code == 5


def test_data_from_a_file_from_standard_input_and_raw(run: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"from": "file"}')
    made = run("promises", "create", "f", "--db", db, "--param", f"@{tmp_path / 'in.json'}", "--json").json
    assert decoded(made["promise"]["param"]) == {"from": "file"}
    made = run("promises", "create", "s", "--db", db, "--param", "-", "--json", stdin='"piped"').json
    assert decoded(made["promise"]["param"]) == "piped"
    made = run("promises", "create", "r", "--db", db, "--param", "no json", "--raw", "--json").json
    assert made["promise"]["param"]["data"] == "no json"


def test_searches_page_by_page_and_all(run: Run, store_flags: list[str]) -> None:
    for number in range(5):
        run("promises", "create", f"many-{number}", *store_flags, "--tag", "many=yes")
    page = run("promises", "search", *store_flags, "--tag", "many=yes", "--limit", 2, "--json").json
    assert [one["id"] for one in page["promises"]] == ["many-0", "many-1"]
    rest = run("promises", "search", *store_flags, "--tag", "many=yes", "--cursor", page["cursor"], "--json").json
    assert [one["id"] for one in rest["promises"]] == ["many-2", "many-3", "many-4"]
    every = run("promises", "search", *store_flags, "--id", "many-*", "--limit", 2, "--all", "--json").json
    assert [one["id"] for one in every["promises"]] == [f"many-{n}" for n in range(5)]
    assert "cursor" not in every
    assert [one["id"] for one in run("promises", "search", *store_flags, "--state", "resolved", "--json").json["promises"]] == [
        "done"
    ]
    shown = run("promises", "search", *store_flags, "--limit", 1)
    assert shown.out.startswith("done\tresolved\t")
    assert "--cursor" in shown.err


def test_a_task_from_creation_to_the_end(run: Run, store_flags: list[str]) -> None:
    made = run("tasks", "create", "t", *store_flags, "--pid", "w", "--target", "poll://any@g", "--ttl", "1m", "--json").json
    assert (made["task"]["state"], made["task"]["version"], made["task"]["ttl"]) == ("acquired", 1, 60_000)
    assert run("tasks", "heartbeat", "t=1", "--pid", "w", *store_flags, "--json").json == {}
    assert run("tasks", "heartbeat", "--pid", "w", *store_flags).out == "renewed what it holds\n"
    waiting = run("tasks", "suspend", "t", "-v", 1, "--await", "open", *store_flags, "--json")
    assert (waiting.code, waiting.json) == (0, {"suspended": True})
    assert run("promises", "resolve", "open", *store_flags).code == 0
    again = run("tasks", "acquire", "t", "-v", 1, "--pid", "w2", *store_flags, "--json").json
    assert (again["task"]["version"], again["task"]["pid"]) == (2, "w2")
    ready = run("tasks", "suspend", "t", "-v", 2, "--await", "done", *store_flags, "--json")
    assert (ready.code, ready.json["suspended"]) == (0, False)
    assert run("tasks", "release", "t", "-v", 2, *store_flags).out == "released\n"
    assert run("tasks", "halt", "t", *store_flags).code == 0
    assert run("tasks", "get", "t", *store_flags, "--json").json["task"]["state"] == "halted"
    assert run("tasks", "continue", "t", *store_flags).code == 0
    assert run("tasks", "acquire", "t", "-v", 2, "--pid", "w", *store_flags).code == 0
    ended = run("tasks", "fulfill", "t", "-v", 3, "--value", "7", *store_flags, "--json").json
    assert (ended["promise"]["state"], decoded(ended["promise"]["value"])) == ("resolved", 7)
    found = run("tasks", "search", "--state", "fulfilled", *store_flags, "--json").json["tasks"]
    assert [one["id"] for one in found] == ["t"]


def test_schedules(run: Run, store_flags: list[str]) -> None:
    made = run(
        "schedules", "create", "s", "--cron", "@hourly", "--timeout", "2h", "--target", "poll://any@g", *store_flags, "--json"
    ).json["schedule"]
    assert (made["cron"], made["promiseTimeout"], made["promiseTags"]) == (
        "@hourly",
        7_200_000,
        {"resonate:target": "poll://any@g"},
    )
    assert run("schedules", "get", "s", *store_flags, "--json").json["schedule"] == made
    assert [one["id"] for one in run("schedules", "search", *store_flags, "--json").json["schedules"]] == ["nightly", "s"]
    assert run("schedules", "delete", "s", *store_flags).out == "deleted\n"
    assert run("schedules", "delete", "s", *store_flags).code == 4


def test_listeners_and_callbacks(run: Run, store_flags: list[str]) -> None:
    assert run("promises", "callback", "open", "job", *store_flags, "--json").json["promise"]["id"] == "open"
    assert run("promises", "listen", "open", "poll://uni@g/i", *store_flags, "--json").json["promise"]["id"] == "open"
    assert run("promises", "callback", "open", "done", *store_flags).code == 6


def test_the_older_dialect(run: Run, store_flags: list[str]) -> None:
    old = [*store_flags, "--dialect", "2025-01-15"]
    assert run("promises", "get", "open", *old, "--json").json["promise"]["value"] == {"headers": {}, "data": ""}
    assert run("promises", "callback", "open", "job", *old).code == 0
    assert run("promises", "listen", "open", "poll://uni@g/i", *old).code == 0
    assert run("tasks", "acquire", "job", "-v", 0, "--pid", "w", *old, "--json").json["kind"] == "invoke"
    assert run("tasks", "suspend", "job", "-v", 0, "--await", "open", *old, "--json").json["suspended"] is True
    assert run("promises", "search", *old).code == 6
    assert run("promises", "get", "open", *store_flags, "--dialect", "1999").code == 2


def test_waiting(run: Run, store_flags: list[str]) -> None:
    done = run("promises", "wait", "done", *store_flags, "--json")
    assert (done.code, done.json["promise"]["state"]) == (0, "resolved")
    late = run("promises", "wait", "open", "--limit", "30ms", *store_flags, "--json")
    assert (late.code, late.out) == (1, "")
    assert "still pending" in late.error["error"]
    run("promises", "reject", "open", *store_flags)
    refused = run("promises", "wait", "open", *store_flags, "--json")
    assert (refused.code, refused.json["promise"]["state"]) == (1, "rejected")
    assert run("promises", "wait", "nobody", *store_flags).code == 4


def test_waiting_ends_with_what_another_process_does(run: Run, store_flags: list[str]) -> None:
    settle = [sys.executable, "-m", "resonate_core", "promises", "resolve", "open", *store_flags]
    with subprocess.Popen(settle, stdout=subprocess.DEVNULL) as other:
        waited = run("promises", "wait", "open", "--limit", "60s", *store_flags, "--json")
    assert (other.returncode, waited.code, waited.json["promise"]["state"]) == (0, 0, "resolved")


def test_invoke_makes_the_root_that_clients_make(run: Run, store_flags: list[str]) -> None:
    asked = [
        "invoke",
        "order.9",
        "--func",
        "ship",
        "--arg",
        "1",
        "--arg",
        '"tea"',
        "--kwarg",
        "fast=true",
        "--target",
        "shop",
        "--timeout",
        FAR,
    ]
    promise = run(*asked, *store_flags, "--json").json["promise"]
    assert decoded(promise["param"]) == {"func": "ship", "args": [1, "tea"], "kwargs": {"fast": True}, "version": 1}
    lineage = {f"resonate:{name}": "order.9" for name in ("origin", "prefix", "branch", "parent")}
    assert promise["tags"] == {**lineage, "resonate:scope": "global", "resonate:target": "poll://any@shop"}
    assert run("tasks", "get", "order.9", *store_flags, "--json").json["task"]["state"] == "pending"
    late = run(*asked, "--wait", "--limit", "20ms", *store_flags)
    assert late.code == 1
    assert run(*asked, "--limit", "20ms", *store_flags).code == 2
    run("promises", "resolve", "order.9", *store_flags)
    assert run(*asked, "--wait", *store_flags).code == 0


def test_messages_of_a_file(run: Run, db: Path) -> None:
    (message,) = run("messages", "--db", db, "--json").json["messages"]
    assert (message["address"], message["kind"], message["id"], message["version"]) == ("poll://any@shop", "execute", "job", 0)
    assert message["message"]["data"] == {"task": {"id": "job", "version": 0}}
    assert run("messages", "--db", db).out.startswith("poll://any@shop\texecute\tjob\t0\t0\t")


def test_messages_of_a_server_need_its_debug_operations(run: Run, server: Server) -> None:
    refused = run("messages", "--url", server.url, "--json")
    assert (refused.code, refused.out, refused.error["status"]) == (7, "", 403)
    assert "serve --debug" in refused.error["error"]
    server.store = rc.Store(debug=True)
    server.store.promises.create("job", FAR, tags={"resonate:target": "poll://any@shop"})
    (message,) = run("messages", "--url", server.url, "--json").json["messages"]
    assert (message["address"], message["kind"], message["id"], message["version"]) == ("poll://any@shop", "execute", "job", 0)


def test_the_life_of_a_file(run: Run, db: Path, tmp_path: Path) -> None:
    checked = run("check", db, "--json")
    assert (checked.code, checked.json) == (0, {"file": str(db), "sound": True, "problems": []})
    copied = run("backup", db, tmp_path / "copy.db", "--json")
    assert (copied.code, copied.json["bytes"]) == (0, (tmp_path / "copy.db").stat().st_size)
    assert run("promises", "get", "done", "--db", tmp_path / "copy.db").code == 0
    again = run("backup", db, tmp_path / "copy.db")
    assert again.code == 1
    assert "copy.db" in again.err
    assert run("purge", "--db", db, "--older-than", "1d", "--yes", "--json").json["deleted"] == 0
    assert run("purge", "--db", db, "--before", rc.SystemClock().now, "--yes", "--json").json["deleted"] == 1
    assert run("vacuum", "--db", db, "--json").json["file"] == str(db)
    assert run("promises", "get", "done", "--db", db).code == 4
    assert run("purge", "--db", db).code == 2


def test_bench_says_what_it_measured(run: Run, store_flags: list[str]) -> None:
    done = run("bench", *store_flags, "-c", 2, "-n", 3, "--json")
    assert done.code == 0
    assert [(row["kind"], row["requests"]) for row in done.json["results"]] == [
        ("promise.create", 6),
        ("promise.get", 6),
        ("promise.settle", 6),
        ("all", 18),
    ]
    assert "2 " in done.json["measured"]
    left = done.json["left"].rpartition(" ")[2]
    found = run("promises", "search", "--tag", left, "--state", "resolved", *store_flags, "--json").json
    assert len(found["promises"]) == 6
