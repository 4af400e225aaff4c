"""`resonate-core workflows`: list, show, tree, send, cancel and fork, the same for a file and a URL."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jobs_in_states import HOUR, opened, terminal
from protocol_server import Run

import resonate_core as rc
from resonate_core.calls.workflow_records import WORKFLOW_TAG
from resonate_core.cli import completion

NASTY = "[bold]x[/bold]:smile:\x1b[31m\r\n"
SHOWN = "[bold]x[/bold]:smile:\\x1b[31m\\r\\n"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def fill(store: rc.Store) -> None:
    """Fills a store: a workflow that waits for a message after two steps, one that was not started, and a job."""
    tags = {WORKFLOW_TAG: "true"}
    store.jobs.enqueue(
        "order:fulfil", {"order": 7}, id="order-7", queue="shop", lifecycle="workflow", tags={**tags, "team": "blue"}
    )
    (job,) = store.jobs.claim("shop", worker="w1", lease=HOUR, start=1)
    now = store.now
    charged: dict[str, Any] = {"id": "order-7:1", "state": "resolved", "value": "r-1", "tags": {"resonate:name": "charge"}}
    charged["param"] = {"startedAt": now - 1500, "attempts": 3}
    reserved: dict[str, Any] = {"id": "order-7:2", "state": "rejected", "tags": {"resonate:name": "reserve"}}
    reserved["value"] = {"code": "NoStock", "message": "sold out"}
    store.jobs.record("order-7", job.version, [charged, reserved])
    store.jobs.receive("order-7", job.version, "order-7:3", "approval", timeout_in=72 * HOUR)
    store.jobs.report("order-7", job.version, lines="charge was tried again")
    store.jobs.suspend("order-7", job.version, ["order-7:3"])
    store.jobs.enqueue("order:fulfil", id="order-8", queue="shop", lifecycle="workflow", tags=tags)
    store.jobs.enqueue("email:send", id="mail-1", queue="shop")


@pytest.fixture(params=["file", "url"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store with workflows, and the flags that name it."""
    with opened(request.param, request, tmp_path) as (store, flags):
        fill(store)
        yield store, flags


def lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def decoded(value: dict[str, str]) -> object:
    return json.loads(base64.b64decode(value["data"]))


def test_list(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    _, flags = shop
    rows = lines(run("workflows", "list", *flags).out)
    assert [row[:6] for row in rows] == [
        ["order-7", "shop", "order:fulfil", "waiting", "3", ""],
        ["order-8", "shop", "order:fulfil", "pending", "", ""],
    ]
    for filters in (["--state", "waiting"], ["--tag", "team=blue"], ["--id", "*7"], ["--limit", 1], ["--newest", "--id", "*7"]):
        found = run("workflows", "list", *filters, *flags, "--json").json["jobs"]
        assert [job["id"] for job in found] == ["order-7"], filters
    assert run("workflows", "list", "--type", "email:send", *flags).out == ""
    assert len(lines(run("workflows", "list", "--queue", "shop", "--all", *flags).out)) == 2
    assert run("workflows", "list", "--state", "waitingg", *flags).err.endswith("did you mean waiting?\n")
    wrong = run("workflows", "list", "--tag", f"{WORKFLOW_TAG}=no", *flags)
    assert (wrong.code, wrong.err) == (
        2,
        f"--tag: tags must not change {WORKFLOW_TAG}, by which workflows are found, got 'no'\n",
    )


def test_show(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    _, flags = shop
    rows = lines(run("workflows", "show", "order-7", *flags).out)
    record = {row[0]: row[1] for row in rows if row[0] not in ("step", "line")}
    assert (record["state"], record["awaits"], record["steps"]) == ("waiting", "order-7:3", "3")
    assert [row[2:] for row in rows if row[0] == "line"] == [["1", "charge was tried again"]]
    steps = [row[1:] for row in rows if row[0] == "step"]
    assert [[*row[:3], *row[5:]] for row in steps] == [
        ["order-7:1", "charge", "resolved", steps[0][5], "3", '"r-1"'],
        ["order-7:2", "reserve", "rejected", "0ms", "1", "NoStock: sold out"],
        ["order-7:3", "receive approval", "pending", "", "1", ""],
    ]
    assert steps[0][5].startswith("1.5")
    last = lines(run("workflows", "show", "order-7", "--last", 1, *flags).out)
    assert [row[1] for row in last if row[0] == "step"] == ["order-7:3"]
    assert run("workflows", "show", "order-7", "--last", 0, *flags).code == 2
    absent = run("workflows", "show", "nobody", *flags)
    assert (absent.code, absent.err) == (4, 'job "nobody" does not exist\n')


def test_show_for_programs(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    store, flags = shop
    shown = run("workflows", "show", "order-7", *flags, "--json").json
    assert shown["job"] == store.jobs.get("order-7").to_dict()
    charge, reserve, approval = shown["steps"]
    assert (charge["name"], charge["attempts"], charge["durationMs"], decoded(charge["value"])) == (
        "charge",
        3,
        charge["settledAt"] - charge["startedAt"],
        "r-1",
    )
    assert reserve["error"] == {"code": "NoStock", "message": "sold out", "data": None}
    assert "durationMs" not in approval and "error" not in approval and approval["name"] == "receive approval"
    assert {name: charge[name] for name in charge.keys() - {"name", "attempts", "durationMs", "startedAt"}} == (
        store.promises.get("order-7:1").to_dict()
    )


def test_tree(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    _, flags = shop
    shown = run("workflows", "tree", "order-7", *flags).out.splitlines()
    assert re.fullmatch(r"order-7  waiting  order:fulfil  \S+  waits for order-7:3 \(receive approval\)", shown[0])
    assert re.fullmatch(r'├── order-7:1  resolved  charge  \S+  "r-1"  in attempt 3', shown[1])
    assert re.fullmatch(r"├── order-7:2  rejected  reserve  \S+  NoStock: sold out", shown[2])
    assert re.fullmatch(r"└── order-7:3  pending  receive approval  \S+  waits for a message of topic approval", shown[3])
    calls = run("workflows", "tree", "order-7", *flags, "--json").json["calls"]
    assert [call["func"] for call in calls] == ["order:fulfil", "charge", "reserve", "receive approval"]


def test_send(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    store, flags = shop
    sent = run(
        "workflows", "send", "order-7", "approval", "--value", '{"by": "ü"}', "--key", "k", "--header", "a=b", *flags, "--json"
    )
    promise = sent.json["promise"]
    assert (promise["id"], decoded(promise["value"]), promise["value"]["headers"]) == (
        "order-7:@approval:k",
        {"by": "ü"},
        {"a": "b"},
    )
    assert run("workflows", "send", "order-7", "approval", "--value", "1", "--key", "k", *flags, "--json").json == sent.json
    assert store.promises.get("order-7:3").value.json() == {"by": "ü"}
    row = dict(lines(run("workflows", "send", "order-8", "note", *flags).out)[0:1])
    assert row == {"id": "order-8:@note:#1"}
    wrong = run("workflows", "send", "order-7", "a:b", *flags)
    assert wrong.code == 6 and "topic" in wrong.err
    assert run("workflows", "send", "nobody", "approval", *flags).code == 4
    store.jobs.cancel("order-8")
    assert run("workflows", "send", "order-8", "note", *flags).code == 5


def test_fork(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    store, flags = shop
    made = run("workflows", "fork", "order-7", "order-7:3", "--id", "again", *flags, "--json").json["job"]
    assert (made["id"], made["state"], made["steps"]) == ("again", "pending", 2)
    assert [step.id for step in store.jobs.history("again")] == ["again:1", "again:2"]
    row = lines(run("workflows", "fork", "order-7", "order-7:1", *flags).out)[0]
    assert row[0] == "id" and row[1].startswith("order-7-fork-")
    assert run("workflows", "fork", "order-7", "order-7:3", "--id", "again", *flags).code == 5
    assert run("workflows", "fork", "order-7", "order-7:9", *flags).code == 6
    assert run("workflows", "fork", "nobody", "nobody:1", *flags).code == 4


def test_cancel(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    store, flags = shop
    assert run("workflows", "cancel", "order-8", *flags, "--json").json["job"]["state"] == "cancelled"
    assert run("workflows", "cancel", "order-8", *flags).code == 5
    some = run("workflows", "cancel", "nobody", "order-7", *flags)
    assert (some.code, some.err) == (4, 'job "nobody" does not exist\n')
    assert store.jobs.get("order-7").state == "cancelled"


def test_cancel_all_asks_first_and_leaves_other_jobs(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    store, flags = shop
    for arguments, rule in (
        ([], "give ids, or --all"),
        (["--all"], "cancel --all needs at least one of --queue, --type and --tag"),
        (["--all", "order-7"], "exclude each other"),
        (["order-7", "--queue", "shop"], "are for --all"),
        (["--all", "--queue", "shop"], "cancel --all asks for confirmation, and standard input is no terminal: give --yes"),
    ):
        refused = run("workflows", "cancel", *arguments, *flags)
        assert refused.code == 2 and rule in refused.err, arguments
    assert store.jobs.get("order-7").state == "waiting"
    assert run("workflows", "cancel", "--all", "--queue", "shop", "--yes", *flags).out == "2 jobs cancelled\n"
    assert store.jobs.get("mail-1").state == "pending"


def test_a_person_is_asked(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "jobs.db") as store:
        fill(store)
        for answer, state in (("n", "waiting"), ("y", "cancelled")):
            with terminal("workflows", "cancel", "--all", "--queue", "shop", "--db", tmp_path / "jobs.db") as asked:
                asked.read_until("cancel 2 jobs (queue shop, tag resonate:workflow=true)? [y/N]")
                asked.type(f"{answer}\n")
                assert asked.end() == (1 if answer == "n" else 0)
            assert store.jobs.get("order-7").state == state


def test_a_workflow_that_a_person_enqueues_is_found(run: Run, shop: tuple[rc.Store, list[str]]) -> None:
    _, flags = shop
    run("jobs", "enqueue", "order:fulfil", "--id", "order-9", "--lifecycle", "workflow", "--tag", "a=b", *flags)
    (found,) = run("workflows", "list", "--id", "order-9", *flags, "--json").json["jobs"]
    assert found["tags"] == {"a": "b", WORKFLOW_TAG: "true"}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with rc.Store(tmp_path / "jobs.db") as store:
        fill(store)
    return tmp_path / "jobs.db"


def test_steps_for_a_person(db: Path) -> None:
    with terminal("workflows", "show", "order-7", "--db", db, columns=160) as shown:
        assert shown.end() == 0
    screen = COLOURS.sub("", shown.screen).replace("\r", "").splitlines()
    (head,) = [line for line in screen if line.startswith("step ")]
    assert head.split() == ["step", "name", "state", "started", "took", "ends", "attempts", "result"]
    rows = {line.split()[0]: line for line in screen if line.startswith("order-7:")}
    assert re.search(r"charge +resolved .* 1\.5\S* +3 +\"r-1\"", rows["order-7:1"])
    assert rows["order-7:2"].rstrip().endswith("NoStock: sold out")
    assert "in 2d 23h" in rows["order-7:3"] or "in 3d" in rows["order-7:3"]


def test_the_list_for_a_person(db: Path) -> None:
    with terminal("workflows", "list", "--db", db, columns=140) as shown:
        assert shown.end() == 0
    screen = COLOURS.sub("", shown.screen).replace("\r", "").splitlines()
    assert screen[0].split() == ["id", "queue", "type", "state", "when", "sent", "steps"]
    assert "for 1 other" in screen[2] and screen[-1] == "2 workflows"


@pytest.mark.parametrize("columns", [60, 100, 400])
def test_what_others_wrote_stays_text_within_the_terminal(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "nasty.db"
    with rc.Store(path) as store:
        store.jobs.enqueue(NASTY, NASTY, id=NASTY, lifecycle="workflow", tags={WORKFLOW_TAG: "true"})
        (job,) = store.jobs.claim("default", worker=NASTY, lease=HOUR, start=1)
        names = {"resonate:name": NASTY}
        failed = {"state": "rejected", "value": {"code": NASTY, "message": "a long story " * 40}}
        store.jobs.record(NASTY, job.version, [{"id": f"{NASTY}:1", "tags": names, **failed}])
        store.jobs.record(NASTY, job.version, [{"id": f"{NASTY}:2", "state": "resolved", "value": NASTY * 50}])
    for command in (["list"], ["show", NASTY]):
        with terminal("workflows", *command, "--db", path, columns=columns) as shown:
            assert shown.end() == 0
        assert "\x1b[31mx" not in shown.screen and "\x1b[31m\\r" not in shown.screen
        plain = COLOURS.sub("", shown.screen).replace("\r", "")
        assert [line for line in plain.split("\n") if len(line) > columns] == []
        assert columns < 400 or SHOWN in plain


def test_a_pipe_gets_bare_lines(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nasty.db"
    with rc.Store(path) as store:
        store.jobs.enqueue("flow", id="f", lifecycle="workflow", tags={WORKFLOW_TAG: "true"})
        (job,) = store.jobs.claim("default", worker="w", lease=HOUR, start=1)
        store.jobs.record("f", job.version, [{"id": "f:1", "tags": {"resonate:name": NASTY}, "state": "resolved", "value": NASTY}])
    out = run("workflows", "show", "f", "--db", path).out
    assert "\x1b" not in out and "\r" not in out and SHOWN in out


def test_words_of_other_programs(run: Run) -> None:
    for word, meant in (("signal", "send"), ("history", "show"), ("terminate", "cancel"), ("ls", "list")):
        assert run("workflows", word).err == f"there is no command resonate-core workflows {word}: did you mean {meant}?\n"
    assert run("workflow").err == "there is no command resonate-core workflow: did you mean workflows?\n"


def test_completion(shop: tuple[rc.Store, list[str]]) -> None:
    _, flags = shop
    params = {flags[0].removeprefix("--"): flags[1]}
    context = SimpleNamespace(params=params, command_path="resonate-core workflows show")
    assert completion.any_id(context, "") == ["order-7", "order-8"]
    context.params = {**params, "id": "order-7"}
    assert completion.step_ids(context, "order-7:") == ["order-7:1", "order-7:2", "order-7:3"]
    for id in ("nobody", None):
        context.params = {**params, "id": id}
        assert completion.step_ids(context, "") == []
