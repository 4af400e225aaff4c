"""``resonate-core why``: why an id does not move, what happens to it next, and when."""

from __future__ import annotations

from typing import Any

import resonate_core as rc
from resonate_core.base.instants import when
from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.options import ID
from resonate_core.cli.show import clean, put
from resonate_core.cli.target import FileTarget, UrlTarget

__all__ = ["why"]


def why(session: Session, id: ID) -> None:
    """Say why an id does not move, what happens to it next, and when. The id is that of a promise, job or schedule, or a queue.

    A server must have a dashboard (`serve --ui`).
    """
    target = session.target
    if isinstance(target, FileTarget):
        found = rc.why(target.store, id).to_dict()
    else:
        assert isinstance(target, UrlTarget)
        from resonate_core.explain.why_of_server import PAGE, answered

        found = target.page(PAGE, {"id": id}, answered).to_dict()
    if session.out.as_json:
        session.out.json(found)
    else:
        put(clean(found["sentence"]))
        for link in found["chain"]:
            put(clean(f"  {link['id']}: {link['sentence']}"))
        put(clean(f"Next: {_following(found)}."))
        for advice in found["advice"]:
            put(clean(f"You can: {advice['text']}."))
    if found["kind"] == "unknown":
        raise CommandFailed(found["sentence"], Exit.NOT_FOUND, 404)


def _following(found: dict[str, Any]) -> str:
    if found["next"] is None:
        return "nothing happens by itself"
    what, at = found["next"]["what"], found["next"]["at"]
    return str(what) if at is None else f"{what}, at {when(at, found['now'])}"
