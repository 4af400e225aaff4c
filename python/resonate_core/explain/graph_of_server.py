"""The graph of jobs of the store of a server: its dashboard answers, since no request of the protocol shows who awaits a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..http.answers import bounded, integer, parsed, text
from .job_graph import JobGraph
from .why_of_server import read_page

if TYPE_CHECKING:
    from ..http.bodies import Answer

__all__ = ["PAGE", "answered"]

#: Below the server's address.
PAGE = "ui/api/jobs/graph"


def answered(response: Answer, server: str) -> JobGraph | None:
    """Return the graph that a dashboard answered; None if it knows no such promise.

    Args:
        response: The response to `PAGE`.
        server: The address of the server, for errors.

    Raises:
        Unsupported: The server has no dashboard.
        NoEnvelope: The answer is none of a dashboard.
        ResonateError: It has refused the request.
    """
    return read_page(response, server, "jobs graph", _read)


def _read(content: bytes) -> JobGraph | None:
    found = bounded(parsed(content))
    text("root", found["root"])
    for node in found["nodes"]:
        for name in ("id", "kind", "state"):
            text(name, node[name])
        for name in ("type", "queue"):
            text(name, node.get(name, ""))
        for name in ("lacks", "after"):
            integer(name, node.get(name, 0))
    if not found["nodes"]:
        return None
    ids = {node["id"] for node in found["nodes"]}
    for edge in found["edges"]:
        if not {edge["awaiter"], edge["awaited"]} <= ids:
            raise ValueError("edges must be between nodes")
        text("by", edge["by"])
    if found["root"] not in ids:
        raise ValueError("root must be a node")
    return JobGraph.from_dict(found)
