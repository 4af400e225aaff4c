"""job.history: the children of a job, page by page (JOBS 9)."""

from __future__ import annotations

from . import jobs_children as children, jobs_found, tasks, wire
from .world import id_order, project

MOST_BYTES = 4 * 2**20
"""The maximum size of a page, except one with a single child: bytes of ids, tags, params and values."""


def history(world, data, dialect):
    job = jobs_found.find(world, data["id"])
    rows = sorted(children.children_of(world, job["id"]), key=children.place)
    if data["cursor"] is not None:
        created_at, last_id = data["cursor"]
        rows = [row for row in rows if children.place(row) > (created_at, id_order(last_id))]
    page = first_page([project(row, world.now) for row in rows[: data["limit"]]])
    more = {"cursor": f"{page[-1]['createdAt']}:{page[-1]['id']}"} if len(page) < len(rows) else {}
    return 200, {"promises": [wire.promise(row, dialect) for row in page], **more}


def first_page(rows):
    """As many of the (projected) rows as fit, at least one."""
    size = 0
    for count, row in enumerate(rows):
        size += tasks.payload_bytes(row)
        if count and size > MOST_BYTES:
            return rows[:count]
    return rows
