"""``resonate-core invoke``: starts a workflow as the SDKs' own clients do."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.options import ID, TAGS, TIMEOUT
from resonate_core.cli.values import encode, instant, pairs, read_json

__all__ = ["invoke", "root_promise"]


def root_promise(
    id: str, func: str, args: list[Any], kwargs: dict[str, Any], version: int, target: str, timeout_at: int, tags: dict[str, str]
) -> dict[str, Any]:
    """The data of promise.create for the root of a workflow (WIRE 6).

    Example:
        >>> from resonate_core.cli.invoke import root_promise
        >>> made = root_promise("order.1", "ship", [3], {}, 1, "shop", 1000, {})
        >>> made["tags"]["resonate:target"], made["tags"]["resonate:origin"]
        ('poll://any@shop', 'order.1')
    """
    # The TypeScript client knows no kwargs, so they are only there where they say something.
    call = {"func": func, "args": args, **({"kwargs": kwargs} if kwargs else {}), "version": version}
    lineage = {f"resonate:{name}": id for name in ("origin", "prefix", "branch", "parent")}
    address = target if "://" in target else f"poll://any@{target}"
    return {
        "id": id,
        "timeoutAt": timeout_at,
        "param": {"data": encode(call)},
        "tags": {**tags, **lineage, "resonate:scope": "global", "resonate:target": address},
    }


def invoke(
    session: Session,
    id: ID,
    func: Annotated[str, typer.Option("--func", "-f", metavar="NAME", help="the registered function", show_default=False)],
    arg: Annotated[
        list[str] | None,
        typer.Option("--arg", "-a", metavar="JSON", help="an argument: JSON, or @file; may be repeated", show_default=False),
    ] = None,
    kwarg: Annotated[
        list[str] | None,
        typer.Option(
            "--kwarg", metavar="NAME=JSON", help="a keyword argument (Python workers); may be repeated", show_default=False
        ),
    ] = None,
    func_version: Annotated[int, typer.Option("--func-version", metavar="NUMBER", help="version of the function")] = 1,
    target: Annotated[str, typer.Option("--target", metavar="GROUP", help="group of the workers, or an address")] = "default",
    timeout: TIMEOUT = "+24h",
    tag: TAGS = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="wait until it is settled; exit code 1 if it is not resolved", show_default=False)
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option("--limit", metavar="LENGTH", help="with --wait: stop waiting after this time; the workflow continues"),
    ] = None,
) -> None:
    """Start a workflow: create its root promise, which a worker of the target group takes up.

    The same id again starts nothing new.
    """
    if limit is not None and not wait:
        raise CommandFailed("--limit is for --wait", Exit.USAGE)
    named = {name: read_json(text, f"--kwarg {name}") for name, text in pairs(kwarg, "--kwarg").items()}
    given = [read_json(text, "--arg") for text in arg or []]
    data = root_promise(id, func, given, named, func_version, target, instant(timeout, "--timeout"), pairs(tag, "--tag"))
    answer = session.target.send("promise.create", data)
    if wait:
        session.wait_for(id, limit)
    else:
        session.out.answer(answer)
