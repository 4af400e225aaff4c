"""A Django project (ASGI) with a Resonate server under /resonate.

Run it with ``uvicorn examples.mounted_in_django:application``; workers connect to http://localhost:8000/resonate.
Django has no lifespan: ticks and deliveries begin with the first request to /resonate, for example a worker's poll.
"""

from __future__ import annotations

import os
from typing import Any

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app

# A project has these in its settings.py and urls.py.
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="only for this example", USE_TZ=True)
django.setup(set_prefix=False)

store = rc.Store(os.environ.get("SHOP_DB", "shop.db"))


def state(request: HttpRequest, order: str) -> JsonResponse:
    """Returns the state of an order."""
    try:
        return JsonResponse({"state": store.promises.get(f"order.{order}").state})
    except rc.NotFound:
        return JsonResponse({"error": "there is no such order"}, status=404)


urlpatterns = [path("orders/<str:order>", state)]

# This is asgi.py.
resonate = create_app(store, server=ServerSettings(url="http://localhost:8000/resonate"))
pages = get_asgi_application()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Gives /resonate to the one, and everything else to the other."""
    if scope["type"] == "http" and (scope["path"] + "/").startswith("/resonate/"):
        await resonate({**scope, "root_path": scope.get("root_path", "") + "/resonate"}, receive, send)
    elif scope["type"] == "lifespan":
        await resonate(scope, receive, send)  # where the server has one after all, so that a stop is a clean one
    else:
        await pages(scope, receive, send)
