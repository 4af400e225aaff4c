"""``resonate-core tree``: a workflow and all its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resonate_core.cli.command import Session
from resonate_core.cli.options import ID
from resonate_core.cli.show import COLOURS, clean, length, payload_text
from resonate_core.cli.values import now
from resonate_core.explain.call_tree import CallNode, calls_of, in_order

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

__all__ = ["tree"]

#: The most characters of the result of a step.
_LONGEST = 80


def _label(call: CallNode, present: int) -> Text:
    from rich.text import Text

    # Of a pending promise the job says most, and the task more; the older dialect's says nothing.
    state = (call.job or call.task or {}).get("state", call.state)
    if call.kind == "own":  # of the library, not of the program
        return Text(f"{clean(call.id)}  {state}  {clean(call.func or '')}", style="dim")
    parts = [(clean(call.id), "bold"), ("  " + state, COLOURS[state])]
    if call.func:
        parts.append((f"  {clean(call.func)}", ""))
    parts.append((f"  {length(call.took(present))}", "dim"))
    result = "" if call.step is None or call.state != "resolved" else payload_text(call.promise.get("value", {}))
    if result:
        parts.append((f"  {clean(result if len(result) <= _LONGEST else f'{result[:_LONGEST]}…')}", ""))
    note = call.note(present)
    if note:
        parts.append((f"  {clean(note)}", "italic"))
    return Text.assemble(*parts)


def _drawn(root: CallNode) -> Tree:
    from rich.tree import Tree

    present = now()
    drawn = Tree(_label(root, present), guide_style="dim")
    branches = [drawn]
    for call, depth in in_order(root):
        if depth:
            del branches[depth:]
            branches.append(branches[-1].add(_label(call, present)))
    return drawn


def _document(root: CallNode) -> dict[str, Any]:
    """Return the calls as a flat list, in the order of the tree, each with `parent` and `depth`."""
    present = now()
    rows: list[dict[str, Any]] = []
    parents: list[str] = []
    for call, depth in in_order(root):
        del parents[depth:]
        row: dict[str, Any] = {
            "id": call.id,
            "depth": depth,
            "parent": parents[-1] if parents else None,
            "state": call.state,
            "func": call.func,
        }
        row |= {name: call.promise[name] for name in ("createdAt", "timeoutAt", "settledAt") if name in call.promise}
        row |= {
            "durationMs": call.took(present),
            "task": call.task,
            "job": call.job,
            "waitsFor": call.waits_for,
            "note": call.note(present) or None,
        }
        if call.step is not None:
            row |= {"kind": call.kind, "startedAt": call.began_at, "attempts": call.step.attempts}
            if call.step.error is not None:
                row["error"] = {"code": call.step.error.code, "message": call.step.error.message, "data": call.step.error.data}
        if call.steps:
            row["running"] = [
                {"id": step.id, "name": step.name, "attempt": step.attempt, "since": step.since, "error": step.error}
                for step in call.steps
            ]
        if call.failed is not None:
            row["failed"] = {"attempt": call.failed.number, "error": call.failed.error, "nextAt": call.failed.next_at}
        rows.append(row)
        parents.append(call.id)
    return {"root": root.id, "calls": rows}


def tree(session: Session, id: ID) -> None:
    """Show the call tree of a workflow: states, how long each call took, and what it waits for."""
    root = calls_of(session.target, id)
    if session.out.as_json:
        session.out.json(_document(root))
    else:
        session.out.tree(lambda: _drawn(root))
