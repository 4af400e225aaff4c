"""A FastAPI app with a Resonate server under /resonate, on one SQLite file.

Run it with ``uvicorn examples.mounted_in_fastapi:app``; workers connect to http://localhost:8000/resonate.
"""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI

from resonate_core.asgi import ServerSettings, create_app

resonate = create_app(
    os.environ.get("SHOP_DB", "shop.db"),  # or a URL: postgresql://...
    server=ServerSettings(url="http://localhost:8000/resonate"),
)

app = FastAPI(lifespan=resonate.lifespan)  # the store is open, ticks and deliveries run, as long as the app does
app.mount("/resonate", resonate)


@app.post("/orders/{order}")
async def place(order: str) -> dict[str, Any]:
    """Starts an order: its task is dispatched to the group `shop` at once."""
    store = resonate.store
    head = {"corrId": order, "version": "2026-04-01"}
    tags = {"resonate:target": "poll://any@shop"}
    data = {"id": f"order.{order}", "timeoutAt": store.now + 86_400_000, "tags": tags}
    answer: dict[str, Any] = await store.apply_async({"kind": "promise.create", "head": head, "data": data})
    return {"state": answer["data"]["promise"]["state"]}
