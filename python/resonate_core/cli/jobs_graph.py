"""``resonate-core jobs graph``: what a job waits for, and who waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resonate_core.base.states import JOB_STATES
from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.options import ID
from resonate_core.cli.show import COLOURS, clean, put, say
from resonate_core.cli.target import FileTarget, UrlTarget
from resonate_core.explain.job_graph import GraphNode, JobGraph, graph_of
from resonate_core.explain.store_reader import StoreReader

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

__all__ = ["graph", "mermaid"]

_USUAL, _MOST = 200, 1000
#: The colours of the states in a picture by Mermaid, of which others have none.
_FILLS = {
    "waiting": "#dcecea",
    "pending": "#e3e8ef",
    "running": "#d5e3fb",
    "retry": "#f8e7c8",
    "archived": "#f3d5e1",
    "completed": "#d4ecdd",
    "failed": "#f8d6d3",
    "cancelled": "#e4e5e7",
    "expired": "#ecdfd3",
}


def graph(
    session: Session,
    id: ID,
    limit: Annotated[int, typer.Option("--limit", metavar="NUMBER", help="the most jobs and promises", min=1, max=_MOST)] = _USUAL,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="as a flowchart of Mermaid", show_default=False)] = False,
) -> None:
    """Show what a job waits for and who waits for it, and so on, each with its state.

    A server must have a dashboard (`serve --ui`).
    """
    found = _found(session, id, limit)
    if found is None:
        raise CommandFailed(f"promise {id!r} does not exist", Exit.NOT_FOUND, 404)
    if as_mermaid and session.out.as_json:
        raise CommandFailed("--mermaid and --json exclude each other", Exit.USAGE)
    if session.out.as_json:
        session.out.json(found.to_dict())
    elif as_mermaid:
        put(mermaid(found))
    else:
        session.out.tree(lambda: _drawn(found))
    if not found.complete:
        say(f"there are more than {limit} jobs and promises: give --limit, up to {_MOST}")


def _found(session: Session, id: str, limit: int) -> JobGraph | None:
    target = session.target
    if isinstance(target, FileTarget):
        return graph_of(StoreReader(target.store), id, limit)
    assert isinstance(target, UrlTarget)
    from resonate_core.explain.graph_of_server import PAGE, answered

    return target.page(PAGE, {"id": id, "most": str(limit)}, answered)


def _label(node: GraphNode, *more: str) -> Text:
    from rich.text import Text

    parts = [(clean(node.id), "bold"), ("  " + clean(node.state), COLOURS.get(node.state, ""))]
    if node.type is not None:
        parts.append((f"  {clean(node.type)}", ""))
    for note in (node.note, *more):
        if note:
            parts.append((f"  {note}", "italic"))
    return Text.assemble(*parts)


def _drawn(found: JobGraph) -> Tree:
    from rich.tree import Tree

    root = Tree(_label(found.nodes[found.root]), guide_style="dim")
    sides: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("waits for", found.awaited_by),
        ("is awaited by", found.awaiters_of),
    )
    for title, others_of in sides:
        if others_of(found.root):
            _grow(root.add(title), found, others_of)
    return root


def _grow(branch: Tree, found: JobGraph, others_of: Callable[[str], list[str]]) -> None:
    """Add a side of the graph, depth first; a promise that is on several ways has its own others on the first alone."""
    seen = {found.root}
    waiting = [(branch, id) for id in reversed(others_of(found.root))]
    while waiting:
        above, id = waiting.pop()
        others = others_of(id)
        if id in seen:
            above.add(_label(found.nodes[id], "see above" if others else ""))
            continue
        seen.add(id)
        below = above.add(_label(found.nodes[id]))
        waiting += [(below, other) for other in reversed(others)]


def mermaid(found: JobGraph) -> str:
    """Return a graph as a flowchart of Mermaid: an arrow leads to who waits, and is dashed while it waits.

    Example:
        >>> from resonate_core.cli.jobs_graph import mermaid
        >>> from resonate_core.explain.job_graph import graph_of
        >>> from resonate_core.explain.store_reader import StoreReader
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("parse", id="a")
        >>> _ = store.jobs.enqueue("pack", id="b", after=["a"])
        >>> print(mermaid(graph_of(StoreReader(store), "b", 10)))
        flowchart LR
          n0["b<br/>pack, waiting"]:::waiting
          n1["a<br/>parse, pending"]:::pending
          n1 -.-> n0
          classDef waiting fill:#dcecea,color:#1b1f24
          classDef pending fill:#e3e8ef,color:#1b1f24
    """
    names = {id: f"n{place}" for place, id in enumerate(found.nodes)}
    lines = ["flowchart LR"]
    for id, node in found.nodes.items():
        said = node.state if node.type is None else f"{node.type}, {node.state}"
        lines.append(f'  {names[id]}["{_escaped(id)}<br/>{_escaped(said)}"]' + (f":::{node.state}" if node.state in _FILLS else ""))
    lines += [f"  {names[edge.awaited]} {'-.->' if edge.open else '-->'} {names[edge.awaiter]}" for edge in found.edges]
    states = {node.state for node in found.nodes.values()}
    lines += [
        f"  classDef {state} fill:{_FILLS[state]},color:#1b1f24" for state in JOB_STATES if state in states and state in _FILLS
    ]
    return "\n".join(lines)


def _escaped(text: Any) -> str:
    """Return a text that is only a text to Mermaid: other characters than letters, digits and a few signs as their numbers."""
    return "".join(one if one.isalnum() or one in " -_.:/,@" else f"#{ord(one)};" for one in clean(str(text)))
