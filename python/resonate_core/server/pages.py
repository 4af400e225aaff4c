"""The pages outside the protocol: /health, /ready and /metrics."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import StoreError
from .authorizer import REASONS

if TYPE_CHECKING:
    from .._core import Store, Violation
    from .authorizer import Authorizer
    from .metrics import Metrics
    from .runtime import Runtime
    from .settings import ServerSettings

__all__ = ["Pages"]

_log = logging.getLogger("resonate_core.server")

#: Seconds after which a store that does not answer is not ready.
_READY_TIMEOUT = 5
#: What /ready says of a problem, by its name. It needs no token, so the text holds no id.
_DETAILS = {
    "schedule_set_aside": "{count} of the schedules cannot be fired: `resonate-core check` names them and says why",
    "clock_ahead": "the store has seen an instant ahead of its clock: `resonate-core check` says by how much",
    "submission_refused": "{count} of the submitted requests were refused: `resonate-core check` names them and says why",
}


class Pages:
    """Answers requests for these pages.

    Args:
        store: The store.
        settings: Which of them are served.
        authorizer: Decides who may read the metrics.
        metrics: The counters.
        runtime: Returns what runs on the event loop of the caller.
    """

    def __init__(
        self, store: Store, settings: ServerSettings, authorizer: Authorizer, metrics: Metrics, runtime: Callable[[], Runtime]
    ) -> None:
        self._store = store
        self._settings = settings
        self._authorizer = authorizer
        self._metrics = metrics
        self._runtime = runtime
        pages = {"/health": self._health, "/ready": self._ready} | ({"/metrics": self._show_metrics} if settings.metrics else {})
        self.paths = frozenset(pages)
        self.app = Starlette(routes=[Route(path, page) for path, page in pages.items()])

    async def _health(self, request: Request) -> Response:
        return Response()

    async def _ready(self, request: Request) -> Response:
        runtime = self._runtime()
        try:
            problems = _summary(await asyncio.wait_for(runtime.reading.call(self._store.problems), _READY_TIMEOUT))
        except (StoreError, asyncio.TimeoutError) as error:
            _log.warning("not ready: %s", error or f"the store did not answer within {_READY_TIMEOUT} s")
            return _readiness(False, [{"name": "store", "detail": "the store does not answer; the server's log says why"}])
        driven = runtime.driving is None or not runtime.driving.done()
        if not driven or runtime.driver.problem is not None:
            problems.append({"name": "driver", "detail": "ticks and deliveries fail; the server's log says why"})
        return _readiness(driven, problems)

    async def _show_metrics(self, request: Request) -> Response:
        if not self._settings.metrics_open:
            status = self._authorizer.status_of_metrics(request.scope)
            if status != 200:
                return JSONResponse({"error": REASONS[status]}, status)
        runtime, metrics = self._runtime(), self._metrics
        try:
            await runtime.reading.call(lambda: metrics.read(self._store, runtime.counting))
        except StoreError as error:  # the other metrics show that the store fails
            _log.warning("the store failed: its metrics keep their previous values: %s", error)
        runtime.show(metrics)
        text, content_type = metrics.exposition()
        return Response(text, media_type=content_type)


def _summary(problems: Iterable[Violation]) -> list[dict[str, str]]:
    """One entry for each name of a problem, in order of the names."""
    counted = Counter(problem.name for problem in problems)
    return [{"name": name, "detail": _DETAILS.get(name, name).format(count=count)} for name, count in sorted(counted.items())]


def _readiness(ready: bool, problems: list[dict[str, str]]) -> Response:
    """The reply of /ready. It needs no token, so it holds no id, path or text of an error."""
    body = json.dumps({"ready": ready, "problems": problems}, separators=(",", ":"))
    return Response(body + "\n", 200 if ready else 503, media_type="application/json")
