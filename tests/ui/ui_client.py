"""Requests to a dashboard in this process, and a state in which every view has something to show."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import httpx

import resonate_core as rc
from resonate_core.ui.app import UiApp
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal

__all__ = ["ACTIONS", "MARKER", "VIEWS", "Client", "client_of", "scene"]

#: A text that redaction must keep out of every response, and markup that must never be answered as markup.
MARKER = "s3cret-m4rker-of-the-tests"
MARKUP = "<script>alert(1)</script>"
PAGE = {"x-resonate-ui": "1", "content-type": "application/json"}

#: Every view with parameters that show something of the scene.
VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("session", {}),
    ("overview", {}),
    ("due", {}),
    ("queues", {}),
    ("queue", {"name": "mail"}),
    ("groups", {}),
    ("jobs", {}),
    ("jobs", {"state": "archived"}),
    ("jobs", {"error": "Boom"}),
    ("jobs", {"arg": "to=ada"}),
    ("jobs", {"arg": "ada"}),
    ("jobs/count", {"state": "pending"}),
    ("jobs/graph", {"id": "archived"}),
    ("job", {"id": "archived"}),
    ("job", {"id": "done", "full": "1"}),
    ("workflows", {}),
    ("workflow", {"id": "flow"}),
    ("promise", {"id": "flow", "full": "1"}),
    ("promise", {"id": "archived"}),
    ("promise", {"id": "settled"}),
    ("tasks", {}),
    ("schedules", {}),
    ("workers", {}),
    ("messages", {}),
    ("audit", {}),
    ("why", {"id": "archived"}),
    ("why", {"id": "flow"}),
    ("stuck", {}),
    ("find", {"q": "a"}),
    ("travel", {}),
]

#: Every action, each with data that the scene permits, in an order in which all succeed.
ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("job.enqueue", {"type": "send", "queue": "mail", "id": "new", "payloadJson": {"to": "bob"}}),
    ("job.rerun", {"id": "archived", "payload": {"to": "carol"}}),
    ("job.run", {"id": "archived"}),
    ("job.archive", {"id": "archived"}),
    ("job.cancel", {"id": "waiting"}),
    ("job.cancel", {"queue": "mail", "type": "none"}),
    ("job.delete", {"id": "waiting"}),
    ("bulk", {"kind": "job.cancel", "ids": ["new", "absent"]}),
    ("queue.pause", {"queue": "mail"}),
    ("queue.resume", {"queue": "mail"}),
    ("queue.set", {"queue": "mail", "concurrency": 7}),
    ("promise.create", {"id": "made", "timeoutAt": 10**15, "paramJson": {"n": 1}}),
    ("promise.settle", {"id": "flow.1", "state": "resolved", "valueJson": 42}),
    ("task.halt", {"id": "nobody"}),
    ("task.continue", {"id": "nobody"}),
    ("schedule.run", {"id": "nightly"}),
    ("schedule.run", {"id": "jobs-nightly"}),
    ("schedule.create", {"id": "hourly", "cron": "0 * * * *", "promiseId": "{{.id}}.{{.timestamp}}", "promiseTimeout": 1000}),
    ("schedule.pause", {"id": "hourly"}),
    ("schedule.resume", {"id": "hourly"}),
    ("schedule.delete", {"id": "hourly"}),
]


class Client:
    """Sends requests to an ASGI app, each on an event loop of its own.

    Args:
        app: The app.
        base: The path where it is mounted, with a slash at its end.
        headers: Sent with each request.
    """

    def __init__(self, app: Any, base: str = "/", headers: dict[str, str] | None = None) -> None:
        self.app, self.base, self.headers = app, base, headers or {}

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        """Sends one request."""
        return self.requests([(method, path, body, headers or {})])[0]

    def requests(self, requests: list[tuple[str, str, Any, dict[str, str]]]) -> list[httpx.Response]:
        """Sends several requests one after the other, on one event loop."""

        async def main() -> list[httpx.Response]:
            answers = []
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost") as client:
                for method, path, body, headers in requests:
                    content = body if isinstance(body, (bytes, str)) or body is None else json.dumps(body)
                    answers.append(
                        await client.request(method, self.base + path, content=content, headers={**self.headers, **headers})
                    )
            return answers

        return asyncio.run(main())

    def every_view(self) -> list[tuple[str, httpx.Response]]:
        """Requests every view of VIEWS."""
        paths = [f"api/{view}" + (f"?{urlencode(query)}" if query else "") for view, query in VIEWS]
        answers = self.requests([("GET", path, None, {}) for path in paths])
        return [(view, answer) for (view, _), answer in zip(VIEWS, answers, strict=True)]

    def every_action(self, **more: Any) -> list[tuple[str, httpx.Response]]:
        """Sends every action of ACTIONS."""
        bodies = [{"kind": kind, "data": data, **more} for kind, data in ACTIONS]
        answers = self.requests([("POST", "api/do", body, PAGE) for body in bodies])
        return [(kind, answer) for (kind, _), answer in zip(ACTIONS, answers, strict=True)]

    def get(self, view: str, **query: Any) -> httpx.Response:
        """Requests a view."""
        return self.request("GET", f"api/{view}" + (f"?{urlencode(query, doseq=True)}" if query else ""))

    def see(self, view: str, **query: Any) -> Any:
        """Returns the JSON of a view, which must have status 200."""
        answer = self.get(view, **query)
        assert answer.status_code == 200, (view, query, answer.text)
        return answer.json()

    def do(self, kind: str, data: dict[str, Any], **more: Any) -> httpx.Response:
        """Sends an action."""
        return self.request("POST", "api/do", {"kind": kind, "data": data, **more}, PAGE)

    def post(self, path: str, body: Any, content_type: str = "application/json") -> httpx.Response:
        """Sends another POST of the page."""
        return self.request("POST", f"api/{path}", body, {**PAGE, "content-type": content_type})


def client_of(store: rc.Store, role: str = "operate", *, prefix: str = "", **options: Any) -> Client:
    """A client of a dashboard on a store."""
    who = Principal(role, "tester", prefix=prefix, address="127.0.0.1")  # type: ignore[arg-type]
    return Client(UiApp(Dashboard(store, UiOptions(**options)), lambda scope: who))


def scene(store: Any, secret: str = "ordinary", tagged: bool = True) -> None:
    """Fill a store on a manual clock, so that every view has something to show.

    Args:
        store: An empty store.
        secret: A value of the member `password` of each payload, which errors and results quote.
        tagged: Whether a tag holds it, too.
    """
    clock, jobs = store.clock, store.jobs
    clock.advance_to(1_000_000)
    payload = {"to": "ada", "password": secret, "nested": [{"api_token": secret}], "html": MARKUP}
    store.queues.set("mail", concurrency=5)
    store.queues.set("group", groups={"size": 3, "grace": 60_000, "maxDelay": 600_000})
    for id in ("archived", "done", "running"):
        jobs.enqueue(
            "send", payload, queue="mail", id=id, max_retries=0, tags={"html": MARKUP, "password": secret if tagged else "none"}
        )
        (job,) = jobs.claim("mail", worker="ann", lease=600_000, start=1)
        if id != "done":
            jobs.report(id, job.version, progress=0.4, lines=f"card 4 of 9, password={secret}")
        if id == "archived":
            jobs.fail(
                id, job.version, "Boom", f"no such password: {secret} {MARKUP}", f"Traceback:\n  password = '{secret}'\n{MARKUP}"
            )
        elif id == "done":
            jobs.complete(id, job.version, {"password": secret, "ok": True})
    jobs.enqueue("send", payload, queue="mail", id="waiting")
    jobs.enqueue("send", payload, queue="mail", id="later", process_in=3_600_000)
    jobs.enqueue("thumb", payload, queue="group", group="album", id="gathers")
    call = {"func": "order", "args": [], "kwargs": {"password": secret, "html": MARKUP}}
    claim = store.tasks.create("flow", pid="bob", ttl=60_000, timeout=10**9, target="poll://any@shop", param=call)
    child = {"resonate:parent": "flow", "resonate:origin": "flow", "resonate:external": "true"}
    store.promises.create("flow.1", timeout=10**9, param=call, tags=child)
    jobs.enqueue("send", payload, queue="mail", id="flow.mail", tags={"resonate:parent": "flow", "resonate:origin": "flow"})
    store.tasks.suspend("flow", claim.task.version, ["flow.1", "flow.mail"])
    store.promises.create("nobody", timeout=10**9, param=call, tags={"resonate:target": "poll://any@nobody"})
    store.promises.create("settled", timeout=10**9, param=call)
    store.promises.resolve("settled", {"password": secret})
    store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000, param=call)
    job = {"type": "send", "queue": "mail"}
    store.schedules.create("jobs-nightly", "0 4 * * *", promise_timeout=10**9, param=payload, job=job)
    store.schedules.create(MARKUP, "0 5 * * *", promise_timeout=1000)
    jobs.enqueue(MARKUP, payload, queue=MARKUP, id=MARKUP)
