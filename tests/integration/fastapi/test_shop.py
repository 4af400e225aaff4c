"""The shop of `examples/fastapi_shop` as processes: on a file and on PostgreSQL, in one process and in several, and killed."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from shop_process import PATIENCE, ShopProcess

import resonate_core as rc

Make = Callable[..., ShopProcess]


@pytest.fixture
def make(shop_store: str, tmp_path: Path) -> Iterator[Make]:
    """Makes processes of the shop, and stops them."""
    made: list[ShopProcess] = []

    def make_one(**options: Any) -> ShopProcess:
        made.append(ShopProcess(shop_store, tmp_path / f"log-{len(made)}", **options))
        return made[-1]

    yield make_one
    for process in made:
        process.stop()


def client(shop: ShopProcess) -> httpx.Client:
    return httpx.Client(base_url=shop.url, trust_env=False, timeout=PATIENCE)


def place(pages: httpx.Client, item: str = "tea") -> str:
    answer = pages.post("/orders", json={"item": item, "email": "ada@example.org"})
    assert answer.status_code == 201, answer.text
    id: str = answer.json()["id"]
    return id


def result_of(pages: httpx.Client, order: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while True:
        answer = pages.get(f"/orders/{order}/result", params={"wait": 5}).raise_for_status().json()
        if answer["state"] != "pending":
            return dict(answer)
        assert time.monotonic() < end, "the order is not fulfilled"


def rows(store: str, query: str) -> list[tuple[Any, ...]]:
    """Returns rows of the shop's own tables."""
    if "://" in store:
        with psycopg.connect(store) as connection:
            return list(connection.execute(query).fetchall())
    connection = sqlite3.connect(store)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def check_fulfilled(store: str, order: str) -> None:
    """Each part of the order was done once, and nothing crashed."""
    with rc.Store(store) as opened:
        assert opened.check() == []
        assert list(opened.problems()) == []
        workflow = opened.jobs.get(f"order-{order}")
        assert (workflow.type, workflow.state) == ("order:fulfil", "completed")
        assert {attempt["outcome"] for attempt in workflow.attempts} == {"suspended", "completed"}
        steps = list(opened.workflows.history(workflow.id))
        assert [step.name for step in steps] == ["pack", "sleep", "job order:mail", "transaction hand_over"]
        assert {step.state for step in steps} == {"resolved"}
        assert [attempt["outcome"] for attempt in opened.jobs.get(steps[2].id).attempts] == ["completed"]
    check_once(store, order)


def check_once(store: str, order: str) -> None:
    """The order is shipped, and has one mail; no parcel was counted twice."""
    assert rows(store, f"SELECT status FROM shop_orders WHERE id = '{order}'") == [("shipped",)]
    assert rows(store, f"SELECT count(*) FROM shop_mails WHERE order_id = '{order}'") == [(1,)]
    shipped = rows(store, "SELECT count(*) FROM shop_orders WHERE status = 'shipped'")
    assert rows(store, "SELECT parcels FROM shop_customers WHERE email = 'ada@example.org'") == shipped


def test_an_order_from_the_page_to_its_result(shop_store: str, make: Make) -> None:
    shop = make().start()
    with client(shop) as pages:
        assert "<form" in pages.get("/").text
        order = place(pages)
        assert f"Order {order}" in pages.get(f"/orders/{order}").text
        lines: list[str] = []
        while "event: done" not in lines:  # a stream ends after a while, and the browser opens the next one
            with pages.stream("GET", f"/orders/{order}/events") as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                lines += list(stream.iter_lines())
        done = json.loads(lines[lines.index("event: done") + 1].removeprefix("data: "))
        assert done["state"] == "resolved"
        assert done["value"] == {"order": order, "parcel": f"parcel of {order}", "mail": "mailed in attempt 1", "parcels": "1"}
        assert result_of(pages, order)["status"] == "shipped"
        refused = pages.post("/orders", json={"item": "coffee", "email": "ada@example.org"})  # its transaction is rolled back
        assert refused.status_code == 409
        assert pages.get("/orders/none").status_code == 404
        assert pages.post("/orders", json={"item": "", "email": "nobody"}).status_code == 422
    shop.stop()
    check_fulfilled(shop_store, order)
    assert rows(shop_store, "SELECT id FROM shop_orders") == [(order,)]
    with rc.Store(shop_store) as store:
        assert [job.id for job in store.workflows.search()] == [f"order-{order}"]


def test_a_workflow_survives_a_kill_between_its_enqueue_and_its_run(shop_store: str, make: Make) -> None:
    pages_alone = make(worker=False).start()
    with client(pages_alone) as pages:
        order = place(pages)
        assert pages.get(f"/orders/{order}/result").json()["state"] == "pending"
    pages_alone.kill()
    assert rows(shop_store, "SELECT status FROM shop_orders") == [("placed",)]
    shop = make().start()
    with client(shop) as pages:
        assert result_of(pages, order)["value"]["mail"] == "mailed in attempt 1"
    shop.stop()
    check_fulfilled(shop_store, order)


def test_a_workflow_survives_a_kill_of_its_process(shop_store: str, make: Make) -> None:
    """The process is killed as soon as the first step has begun. Its leases expire, and the next process continues."""
    first = make().start()
    with client(first) as pages:
        order = place(pages)
        end = time.monotonic() + PATIENCE
        while rows(shop_store, f"SELECT status FROM shop_orders WHERE id = '{order}'") == [("placed",)]:
            assert time.monotonic() < end, first.log.read_text()
            time.sleep(0.005)
    first.kill()
    shop = make().start()
    with client(shop) as pages:
        assert result_of(pages, order)["state"] == "resolved"
    shop.stop()
    check_once(shop_store, order)


def test_several_processes_of_pages_and_a_worker_of_its_own(shop_store: str, make: Make) -> None:
    make(worker=False).start().stop()  # makes the tables, which several processes at once must not
    shop = make(worker=False).start("--workers", "2")
    worker = make().start_worker()
    orders = []
    for _ in range(6):  # each on a new connection, so that both processes get some
        with client(shop) as pages:
            orders.append(place(pages))
    with client(shop) as pages:
        assert [result_of(pages, order)["state"] for order in orders] == ["resolved"] * 6
    worker.check_alive()
    worker.stop()
    shop.stop()
    for order in orders:
        check_fulfilled(shop_store, order)
