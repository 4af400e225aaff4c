"""A Starlette app with a Resonate server under /resonate.

Run it with ``uvicorn examples.mounted_in_starlette:app``; workers connect to http://localhost:8000/resonate.
"""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app

resonate = create_app(
    os.environ.get("SHOP_DB", "shop.db"),  # or a URL: postgresql://...
    server=ServerSettings(url="http://localhost:8000/resonate"),
)


def state(request: Request) -> JSONResponse:
    """Returns the state of an order. Starlette runs it in a thread, since it reads the file."""
    try:
        return JSONResponse({"state": resonate.store.promises.get(f"order.{request.path_params['order']}").state})
    except rc.NotFound:
        return JSONResponse({"error": "there is no such order"}, 404)


app = Starlette(routes=[Route("/orders/{order}", state), Mount("/resonate", resonate)], lifespan=resonate.lifespan)
