"""Groups of jobs on the command line: settings of queues, what is shown of gathering jobs, and requests that act on a group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_in_states import HOUR, opened, terminal
from protocol_server import FAR, Run

import resonate_core as rc

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(params=["file", "url"])
def gathering(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """Two jobs that gather for ada, one for bob, and one without a group; and the flags that name their store."""
    with opened(request.param, request, tmp_path) as (store, store_flags):
        store.queues.set("mail", groups={"grace": HOUR})
        for id, group in [("a1", "ada"), ("a2", "ada"), ("b1", "bob"), ("x", None)]:
            store.jobs.enqueue("digest", id=id, queue="mail", group=group, max_retries=0)
        yield store, store_flags


def ids(document: dict[str, Any]) -> list[str]:
    return [job["id"] for job in document["jobs"]]


def shown(text: str) -> dict[str, str]:
    return dict(line.split("\t") for line in text.splitlines())


def test_enqueue(run: Run, gathering: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = gathering
    job = run("jobs", "enqueue", "digest", "--queue", "mail", "--group", "ada", "--good-for", "2h", *store_flags, "--json").json[
        "job"
    ]
    assert (job["group"], job["gathering"], job["state"], job["goodUntil"] - job["sentAt"]) == ("ada", True, "scheduled", 2 * HOUR)
    later = run("jobs", "enqueue", "x", "--process-in", "1h", "--good-for", "90s", *store_flags, "--json").json["job"]
    assert later["goodUntil"] - later["processAt"] == 90_000


def test_show(run: Run, gathering: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = gathering
    seen = shown(run("jobs", "show", "a2", *store_flags).out)
    assert (seen["group"], seen["batch"], seen["gathering"]) == ("ada", store.jobs.get("a1").batch, "true")
    assert not {"group", "batch", "gathering"} & set(shown(run("jobs", "show", "x", *store_flags).out))
    assert "a1  scheduled  digest" in run("tree", "a1", *store_flags).out
    assert "gathers in queue mail, group ada" in run("tree", "a1", *store_flags).out


def test_a_list_for_people(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened("file", request, tmp_path) as (store, store_flags):
        store.jobs.enqueue("digest", id="alone")
        with terminal("jobs", "list", *store_flags, columns=140) as plain:
            assert plain.end() == 0
        store.jobs.enqueue("digest", id="waits", group="ada")
        with terminal("jobs", "list", *store_flags, columns=140) as grouped:
            assert grouped.end() == 0
    assert "group" not in plain.screen
    lines = COLOURS.sub("", grouped.screen).replace("\r", "").splitlines()
    assert lines[0].split() == ["id", "queue", "type", "state", "when", "sent", "group"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:-1]}
    assert rows["waits"][:4] == ["default", "digest", "scheduled", "gathering"] and rows["waits"][-1] == "ada"
    assert rows["alone"][-3] == "ago"


def test_filters(run: Run, gathering: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = gathering
    assert ids(run("jobs", "list", "--group", "ada", *store_flags, "--json").json) == ["a1", "a2"]
    assert ids(run("jobs", "list", "--group", "ad", *store_flags, "--json").json) == []
    every = ["--group", "ada", "--yes", *store_flags]
    assert run("jobs", "run", "--all", "--state", "scheduled", *every).out == "2 jobs pending again\n"
    assert run("jobs", "archive", "--all", "--state", "pending", *every).out == "2 jobs archived\n"
    assert run("jobs", "delete", "--all", "--state", "archived", *every, "--json").json == {"count": 2}
    assert run("jobs", "cancel", "--all", "--group", "bob", "--yes", *store_flags).out == "1 job cancelled\n"
    assert [(job.id, job.state) for job in store.jobs.search()] == [("b1", "cancelled"), ("x", "pending")]


def test_a_person_is_asked_about_the_group(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened("file", request, tmp_path) as (store, store_flags):
        store.jobs.enqueue("digest", id="a", group="ada")
        with terminal("jobs", "run", "--all", "--state", "scheduled", "--group", "ada", *store_flags) as asked:
            asked.read_until("run 1 job (state scheduled, group ada)? [y/N] ")
            asked.type("y\n")
            assert asked.end() == 0
        assert store.jobs.get("a").state == "pending"


def test_how_a_queue_gathers(run: Run, gathering: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = gathering

    def groups(*options: object) -> Any:
        return run("queues", "set", "mail", *options, *store_flags, "--json").json["queue"].get("groups")

    assert groups("--group-size", 5) == {"size": 5, "grace": HOUR}
    assert groups("--group-grace", "90s", "--group-max-delay", "2h") == {"size": 5, "grace": 90_000, "maxDelay": 2 * HOUR}
    assert groups("--weight", 3) == {"size": 5, "grace": 90_000, "maxDelay": 2 * HOUR}
    assert shown(run("queues", "pause", "mail", *store_flags).out)["groups"] == "size=5,grace=90s,max-delay=2h"
    assert run("queues", "list", *store_flags).out.splitlines()[0].split("\t")[-1] == "size=5,grace=90s,max-delay=2h"
    assert "groups\tsize=5,grace=90s,max-delay=2h" in run("queues", "show", "mail", *store_flags).out
    assert groups("--group-max-delay", "none") == {"size": 5, "grace": 90_000}
    assert groups("--clear", "groups", "--group-size", 7) == {"size": 7, "grace": 60_000}
    assert groups("--clear", "groups") is None
    assert "groups" not in run("queues", "show", "mail", *store_flags).out
    new = run("queues", "set", "new", "--group-max-delay", "none", *store_flags, "--json").json["queue"]["groups"]
    assert new == {"size": 1000, "grace": 60_000}


def test_groups_are_shown_to_people(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened("file", request, tmp_path) as (store, store_flags):
        store.queues.set("mail", groups={"size": 5, "grace": 1000})
        with terminal("queues", "list", *store_flags, columns=140) as seen:
            assert seen.end() == 0
    lines = COLOURS.sub("", seen.screen).replace("\r", "").splitlines()
    assert lines[0].split() == ["queue", "weight", "active", "groups"]
    assert lines[2].split() == ["mail", "1", "0", "size=5,grace=1s"]


@pytest.mark.parametrize(
    "asked, code",
    [
        ("queues set mail --group-size 0", 6),
        ("queues set mail --group-size 1001", 6),
        ("queues set mail --group-max-delay 0", 6),
        ("queues set mail --group-grace soon", 2),
        ("queues set mail --group-max-delay never", 2),
        (f"jobs enqueue x --good-for 1s --good-until {FAR}", 2),
        ("jobs enqueue x --good-for soon", 2),
        ("jobs enqueue x --good-for 0", 6),
        ("jobs run a1 --group ada", 2),
    ],
)
def test_refusals(run: Run, gathering: tuple[rc.Store, list[str]], asked: str, code: int) -> None:
    store, store_flags = gathering
    before = store.digest()
    assert run(*asked.split(), *store_flags).code == code
    assert store.digest() == before
