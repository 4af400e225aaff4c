"""The pages of the shop: an order and its workflow begin in one transaction, and a page waits for the result."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import BaseModel, Field

from resonate_core.contrib.fastapi import BackgroundJobs, Resonate, StoreDep, combine_lifespans

from . import settings
from .orders import Order, database, session
from .pages import order_page, shop_page
from .waiting import settled
from .work import fulfil, worker, workflow_id

__all__ = ["app"]

#: Seconds after which a stream of events ends; the browser opens another one. A stop of the server waits for streams.
STREAM_LIFETIME = 20.0
#: Seconds between two looks at the status of an order.
LOOK = 1.0

resonate = Resonate(settings.STORE, worker=worker, run_worker=settings.RUN_WORKER)
app = FastAPI(title="A durable shop", lifespan=combine_lifespans(database, resonate.lifespan))
app.add_route("/ready", resonate.ready)


class NewOrder(BaseModel):
    """What a customer orders."""

    item: str = Field(min_length=1)
    email: str = Field(pattern=".+@.+")


@app.get("/")
async def shop() -> HTMLResponse:
    """The form."""
    return HTMLResponse(shop_page())


@app.post("/orders", status_code=201)
async def place(new: NewOrder, background: BackgroundJobs) -> dict[str, str]:
    """Places an order: its row and its workflow are committed together, or neither is."""
    id = uuid.uuid4().hex[:12]
    async with session.begin() as db:
        db.add(Order(id=id, item=new.item, email=new.email))
        await background.submit(db, fulfil, id, id=workflow_id(id))
        if new.item == "coffee":  # whatever fails before the commit takes the row and the workflow back
            raise HTTPException(409, "there is no coffee")
    return {"id": id, "page": f"/orders/{id}"}


async def _order(id: str) -> Order:
    async with session() as db:
        found = await db.get(Order, id)
    if found is None:
        raise HTTPException(404, f"there is no order {id}")
    return found


@app.get("/orders/{id}")
async def show(id: str) -> HTMLResponse:
    """The page of an order."""
    order = await _order(id)
    return HTMLResponse(order_page(order.id, order.item, order.status))


@app.get("/orders/{id}/events")
async def events(id: str, store: StoreDep) -> StreamingResponse:
    """Server-sent events: the status whenever it changes, and the result of the workflow."""
    await _order(id)
    return StreamingResponse(_events(id, store), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _events(id: str, store: Any) -> AsyncIterator[str]:
    status = None
    for _ in range(int(STREAM_LIFETIME / LOOK)):
        result = await settled(store, workflow_id(id), timeout=LOOK)
        order = await _order(id)
        if order.status != status:
            status = order.status
            yield f"event: status\ndata: {json.dumps(status)}\n\n"
        if result is not None:
            yield f"event: done\ndata: {json.dumps({'state': result.state, 'value': result.value.json()})}\n\n"
            return


@app.get("/orders/{id}/result")
async def result(id: str, store: StoreDep, wait: float = 0.0) -> dict[str, Any]:
    """The result as JSON; with `wait`, as a long poll of at most 30 s."""
    order = await _order(id)
    found = await settled(store, workflow_id(id), timeout=min(max(wait, 0.0), 30.0))
    if found is None:
        return {"status": order.status, "state": "pending", "value": None}
    return {"status": (await _order(id)).status, "state": found.state, "value": found.value.json()}
