"""`resonate-core workflows rehearse`: changed code on the histories of all workflows in flight, for a file and a URL."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_in_states import opened, terminal
from protocol_server import Run

import resonate_core as rc
from resonate_core.worker import Worker

VERSIONS = {
    "old": """
        receipt = await charge(order)
        answer = await receive("approval", type=str)
        return [receipt, answer]
    """,
    "planted": """
        receipt = await charge(order)
        await insure(order)  # the place
        answer = await receive("approval", type=str)
        return [receipt, answer]
    """,
    "mended": """
        receipt = await charge(order)
        if patched("insurance"):
            await insure(order)
        answer = await receive("approval", type=str)
        return [receipt, answer]
    """,
    "nosy": """
        receipt = await charge(order)
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.4)
        return [receipt]
    """,
}

MODULE = """
import asyncio, time
from resonate_core.worker import Worker
from resonate_core.workflow import patched, receive, run, step
from resonate_core.workflow.blocking import receive as receive_here, run as run_here

worker = Worker(queues="shop")

@step
async def charge(order: str) -> str:
    with open({log!r}, "a") as log:
        log.write("charge\\n")
    return f"receipt of {{order}}"

@step
async def insure(order: str) -> str:
    with open({log!r}, "a") as log:
        log.write("insure\\n")
    return order

@worker.workflow("order:fulfil", queue="shop")
async def fulfil(order: str) -> list[str]:
{code}

@worker.workflow("order:refund", queue="shop")
def refund(order: str) -> str:
    run_here(str.upper, order)
    return receive_here("reason", type=str)

@worker.task("plain", queue="shop")
def plain() -> None: ...

nothing = Worker()
other = object()
"""


class Shop:
    """Programs of a shop in several versions, and the worker of one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.txt"
        self.log.touch()
        for name, code in VERSIONS.items():
            body = textwrap.indent(textwrap.dedent(code).strip(), "    ")
            (folder / f"shop_{name}.py").write_text(MODULE.format(log=str(self.log), code=body))

    def worker(self, name: str, store: rc.Store) -> Worker:
        """The worker of a version, on a store."""
        module = importlib.import_module(f"shop_{name}")
        worker: Worker = module.worker
        worker.bind(store)
        return worker


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield Shop(folder)
    for name in [each for each in sys.modules if each.startswith("shop_")]:
        del sys.modules[name]


@pytest.fixture(params=["file", "url"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    with opened(request.param, request, tmp_path) as (store, flags):
        yield store, flags


def fill(shop: Shop, store: rc.Store) -> None:
    """Workflows of the old code: two that wait, one that has been answered, one that was not started, one of a `def`, a plain job."""
    worker = shop.worker("old", store)
    fulfil, refund, plain = (worker.tasks[name] for name in ("order:fulfil", "order:refund", "plain"))
    for id in ("o1", "o2", "o3"):
        fulfil.using(id=id).delay(id)  # type: ignore[call-arg]
    refund.using(id="r1").delay("r1")  # type: ignore[call-arg]
    worker.run_until_idle()
    store.workflows.send("o3", "approval", "yes")
    fulfil.using(id="o4").delay("o4")  # type: ignore[call-arg]
    plain.using(id="p1").delay()
    shop.log.write_text("")


def lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def dump(store: rc.Store) -> Any:
    return [job.to_dict() for job in store.jobs.search()], [each.to_dict() for each in store.promises.search("*", limit=1000)]


def test_which_go_on_and_which_diverge(run: Run, shop: Shop, store: tuple[rc.Store, list[str]]) -> None:
    opened_store, flags = store
    fill(shop, opened_store)
    before = dump(opened_store)
    same = run("workflows", "rehearse", "shop_old:worker", "--app-dir", shop.folder, *flags)
    assert same.code == 0, same.err
    rows = lines(same.out)
    assert [row[:5] for row in rows] == [
        ["o1", "order:fulfil", "waiting", "waits", "for receive approval (o1:2)"],
        ["o2", "order:fulfil", "waiting", "waits", "for receive approval (o2:2)"],
        ["o3", "order:fulfil", "pending", "returns", "returns"],
        ["o4", "order:fulfil", "pending", "continues", "with charge (o4:1)"],
        ["r1", "order:refund", "waiting", "waits", "for receive reason (r1:2)"],
    ]
    assert rows[0][5].startswith(str(shop.folder / "shop_old.py:"))
    assert same.err == "5 workflows in flight: 3 waits, 1 returns, 1 continues\n"

    planted = run("workflows", "rehearse", "shop_planted:worker", "--app-dir", shop.folder, *flags)
    assert planted.code == 1
    found = {row[0]: row[3:] for row in lines(planted.out)}
    assert [id for id, row in found.items() if row[0] == "diverges"] == ["o1", "o2", "o3"]
    place = next(at for at, line in enumerate((shop.folder / "shop_planted.py").read_text().splitlines(), 1) if "the place" in line)
    assert f"o1:2 is insure at {shop.folder / 'shop_planted.py'}:{place}, and receive approval is recorded" in found["o1"][1]
    assert found["o4"][:2] == ["continues", "with charge (o4:1)"]

    mended = run("workflows", "rehearse", "shop_mended:worker", "--app-dir", shop.folder, *flags)
    assert mended.code == 0
    assert {row[3] for row in lines(mended.out)} == {"waits", "returns", "continues"}
    assert shop.log.read_text() == "", "no step ran"
    assert dump(opened_store) == before, "nothing was written"


def test_for_programs(run: Run, shop: Shop, store: tuple[rc.Store, list[str]]) -> None:
    opened_store, flags = store
    fill(shop, opened_store)
    found = run("workflows", "rehearse", "shop_planted:worker", "--app-dir", shop.folder, "--json", *flags)
    assert found.code == 1 and found.err == ""
    assert found.json["counts"] == {"diverges": 3, "continues": 1, "waits": 1}
    by_id = {each["id"]: each for each in found.json["workflows"]}
    assert {name: by_id["o1"][name] for name in ("type", "queue", "state", "outcome")} == {
        "type": "order:fulfil",
        "queue": "shop",
        "state": "waiting",
        "outcome": "diverges",
    }
    assert "insure" in by_id["o1"]["message"] and "next" not in by_id["o1"]
    assert by_id["r1"]["next"] == [
        {"id": "r1:2", "name": "receive reason", "begun": True, "place": by_id["r1"]["next"][0]["place"]},
    ]


def test_filters(run: Run, shop: Shop, store: tuple[rc.Store, list[str]]) -> None:
    opened_store, flags = store
    fill(shop, opened_store)
    for filters, ids in (
        (["--type", "order:refund"], ["r1"]),
        (["--id", "o*"], ["o1", "o2", "o3", "o4"]),
        (["--queue", "other"], []),
        (["--queue", "shop", "--id", "*1"], ["o1", "r1"]),
    ):
        found = run("workflows", "rehearse", "shop_old:worker", "--app-dir", shop.folder, *filters, *flags)
        assert [row[0] for row in lines(found.out)] == ids, filters
        assert found.code == 0
    assert run("workflows", "rehearse", "shop_old:worker", "--app-dir", shop.folder, "--id", "no*", *flags).err == (
        "0 workflows in flight\n"
    )


def test_archived_ones_say_whether_the_code_is_mended(run: Run, shop: Shop, store: tuple[rc.Store, list[str]]) -> None:
    opened_store, flags = store
    fill(shop, opened_store)
    shop.worker("planted", opened_store).run_until_idle()
    assert opened_store.jobs.get("o3").state == "archived"
    for name, outcome in (("planted", "diverges"), ("mended", "returns")):
        found = run("workflows", "rehearse", f"shop_{name}:worker", "--app-dir", shop.folder, "--id", "o3", *flags)
        assert lines(found.out)[0][2:4] == ["archived", outcome]


def test_code_that_awaits_what_is_no_call(
    run: Run, shop: Shop, store: tuple[rc.Store, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_store, flags = store
    fill(shop, opened_store)
    monkeypatch.setattr("resonate_core.cli.workflows_rehearse._LIMIT", 0.05)
    found = run("workflows", "rehearse", "shop_nosy:worker", "--app-dir", shop.folder, "--id", "o1", *flags)
    assert found.code == 1
    row = lines(found.out)[0]
    assert row[3] == "unknown" and "awaits something that is no call" in row[4] and "shop_nosy.py:" in row[4]


def test_misuse(run: Run, shop: Shop, store: tuple[rc.Store, list[str]]) -> None:
    _, flags = store
    for place, more, said in (
        ("shop_old:nothing", [], "has no workflows"),
        ("shop_old:other", [], "has no run()"),
        ("shop_old:worker", ["--type", "plain"], "has no workflow 'plain'; it has order:fulfil, order:refund"),
        ("shop_old", [], "is not written as MODULE:NAME"),
        ("shop_none:worker", [], "there is no module"),
    ):
        wrong = run("workflows", "rehearse", place, "--app-dir", shop.folder, *more, *flags)
        assert wrong.code == 2 and said in wrong.err, wrong.err


def test_a_file_is_only_read(run: Run, shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with rc.Store(path) as store:
        fill(shop, store)
    path.chmod(0o444)
    found = run("workflows", "rehearse", "shop_mended:worker", "--app-dir", shop.folder, "--db", path)
    assert found.code == 0, found.err
    assert len(lines(found.out)) == 5
    absent = run("workflows", "rehearse", "shop_mended:worker", "--app-dir", shop.folder, "--db", tmp_path / "none.db")
    assert absent.code == 3 and not (tmp_path / "none.db").exists()


def test_a_terminal_counts_those_that_do_the_same(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with rc.Store(path) as store:
        fill(shop, store)
    with terminal("workflows", "rehearse", "shop_planted:worker", "--app-dir", shop.folder, "--db", path, columns=200) as shown:
        shown.read_until("o1 (order:fulfil, waiting) diverges: o1:2 is insure", "what they do", "such as", "5 workflows in flight")
    with terminal("workflows", "rehearse", "shop_old:worker", "--app-dir", shop.folder, "--db", path, columns=200) as shown:
        shown.read_until("2", "order:fulfil", "waits for receive approval", "o1")


def test_thousands_of_workflows_in_little_memory(run: Run, shop: Shop, tmp_path: Path) -> None:
    import tracemalloc

    from resonate_core.cli.target import Access, FileTarget
    from resonate_core.cli.workflows_rehearse import rehearsals

    path = tmp_path / "shop.db"
    with rc.Store(path, durability="normal") as store:
        worker = shop.worker("old", store)
        worker.tasks["order:fulfil"].enqueue_many([{"order": str(number)} for number in range(600)])
        worker.run_until_idle()
    workflow = {"order:fulfil": worker.tasks["order:fulfil"]}
    with FileTarget(path, Access.READ) as target:
        count, most, first = 0, 0, 0
        tracemalloc.start()
        try:
            for rehearsal in rehearsals(target, workflow):  # type: ignore[arg-type]
                count += 1
                assert rehearsal.outcome == "waits"
                if count % 100 == 0:
                    used, _ = tracemalloc.get_traced_memory()
                    first = first or used
                    most = max(most, used)
        finally:
            tracemalloc.stop()
    assert count == 600
    assert most < first + 4_000_000
