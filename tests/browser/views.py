"""The views of the dashboard: their names, their addresses in the scene, and a text that each shows there."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from browser import scene


class View(NamedTuple):
    """A view.

    Attributes:
        name: Its name.
        route: Its address in the scene.
        shows: A text that it shows.
    """

    name: str
    route: str
    shows: str


VIEWS = [
    View("overview", "overview", "Deepest queues"),
    View("queues", "queues", "imports"),
    View("queue", "queue?name=mail", "Limits"),
    View("jobs", "jobs?limit=25", "Next, or last"),
    View("job", f"job?id={scene.CARD}", "ProviderDown"),
    View("groups", "groups", "likes:send"),
    View("enqueue", "enqueue", "Enqueue…"),
    View("workflows", "workflows", scene.STUCK),
    View("workflow", f"workflow?id={scene.STUCK}", "Calls"),
    View("schedules", "schedules", "nightly-report"),
    View("workers", "workers", "encoder-1"),
    View("messages", "messages", scene.SHOP),
    View("why", f"why?id={scene.STUCK}", "waits for"),
    View("travel", "travel", "Open a recording"),
    View("audit", "audit", "No action yet"),
]
REPORT = View("report", "job?id=encode-intro", "pass 2 of 2")
"""The job that runs, for a picture: the view is that of VIEWS."""
STUCK = View("stuck", "why", "Stuck now")
"""The view "why" without an id, for a picture."""
EVIL = [
    View("jobs", "jobs?queue=mail", "Jobs"),
    View("job", f"job?id={quote(scene.EVIL)}", "Evil"),
    View("workflows", "workflows", "Workflows"),
    View("workflow", f"workflow?id={quote('page ' + scene.SCRIPT)}", "Calls"),
    View("why", f"why?id={quote(scene.EVIL)}", "Why"),
    View("messages", "messages", "Messages"),
    View("queue", "queue?name=mail", "by type"),
]
