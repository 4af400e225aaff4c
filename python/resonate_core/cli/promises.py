"""``resonate-core promises``."""

from __future__ import annotations

from typing import Annotated

import typer

from resonate_core.base.states import PROMISE_STATES
from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.completion import promise_states
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, KEY, LIMIT, MATCH, PARAM, RAW, TAGS, TARGET, TIMEOUT, VALUE
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import SETTLED_STATES, instant, one_of, pairs, payload, tags_of

__all__ = ["app"]

app = group("Promises: create, settle, look at, wait for.")

_OLD = DIALECTS[1]
_AWAITED = Annotated[str, typer.Argument(metavar="AWAITED", help="id of the awaited promise", show_default=False)]


@on_store(app, "get", Access.READ)
def get(session: Session, id: ID) -> None:
    """Show a promise."""
    session.out.answer(session.target.send("promise.get", {"id": id}))


@on_store(app, "create", Access.MAKE)
def create(
    session: Session,
    id: ID,
    timeout: TIMEOUT = "+24h",
    param: PARAM = None,
    raw: RAW = False,
    header: HEADERS = None,
    tag: TAGS = None,
    target: TARGET = None,
    key: KEY = None,
) -> None:
    """Create a promise, or show the existing promise with this id."""
    tags = tags_of(tag, target)
    data = {
        "id": id,
        "timeoutAt": instant(timeout, "--timeout"),
        "param": payload(param, "--param", raw=raw, headers=pairs(header, "--header")),
        "tags": tags,
    }
    session.out.answer(session.target.send("promise.create", data | ({} if key is None else {"ikc": key})))


def settle_as(
    session: Session, state: str, id: str, value: str | None, raw: bool, header: list[str] | None, key: str | None
) -> None:
    """Settles a promise; `state` is the protocol's word."""
    one_of(state, "--state", SETTLED_STATES)
    data = {"id": id, "state": state, "value": payload(value, "--value", raw=raw, headers=pairs(header, "--header"))}
    session.out.answer(session.target.send("promise.settle", data | ({} if key is None else {"iku": key})))


@on_store(app, "resolve", Access.WRITE)
def resolve(session: Session, id: ID, value: VALUE = None, raw: RAW = False, header: HEADERS = None, key: KEY = None) -> None:
    """Settle a promise as resolved.

    A promise that is already settled is shown unchanged.
    """
    settle_as(session, "resolved", id, value, raw, header, key)


@on_store(app, "reject", Access.WRITE)
def reject(session: Session, id: ID, value: VALUE = None, raw: RAW = False, header: HEADERS = None, key: KEY = None) -> None:
    """Settle a promise as rejected."""
    settle_as(session, "rejected", id, value, raw, header, key)


@on_store(app, "cancel", Access.WRITE)
def cancel(session: Session, id: ID, value: VALUE = None, raw: RAW = False, header: HEADERS = None, key: KEY = None) -> None:
    """Settle a promise as rejected_canceled."""
    settle_as(session, "rejected_canceled", id, value, raw, header, key)


@on_store(app, "settle", Access.WRITE)
def settle(
    session: Session,
    id: ID,
    state: Annotated[
        str, typer.Option("--state", metavar="STATE", help="resolved, rejected or rejected_canceled", show_default=False)
    ],
    value: VALUE = None,
    raw: RAW = False,
    header: HEADERS = None,
    key: KEY = None,
) -> None:
    """Settle a promise with a state of the protocol."""
    settle_as(session, state, id, value, raw, header, key)


@on_store(app, "wait", Access.READ)
def wait(
    session: Session,
    id: ID,
    limit: Annotated[str | None, typer.Option("--limit", metavar="LENGTH", help="stop waiting after this time: 30s, 5m")] = None,
) -> None:
    """Wait until a promise is settled, and show it.

    Exit code 0: resolved; 1: rejected in any way, or not settled in time.
    """
    session.wait_for(id, limit)


@on_store(app, "search", Access.READ)
def search_promises(
    session: Session,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="pending, resolved, rejected, rejected_canceled or rejected_timedout",
            autocompletion=promise_states,
        ),
    ] = None,
    tag: TAGS = None,
    id: MATCH = None,
    limit: LIMIT = None,
    cursor: CURSOR = None,
    every: ALL = False,
) -> None:
    """List the matching promises, ordered by id."""
    if state is not None:
        one_of(state, "--state", PROMISE_STATES)
    filters = {"state": state, "tags": pairs(tag, "--tag"), "id": id}
    session.search("promise.search", "promises", filters, limit, cursor, every)


@on_store(app, "callback", Access.WRITE)
def callback(
    session: Session,
    awaited: _AWAITED,
    awaiter: Annotated[
        str, typer.Argument(metavar="AWAITER", help="id of the task that is woken when the promise is settled", show_default=False)
    ],
) -> None:
    """Register a callback: wake a task when a promise is settled."""
    kind = "promise.register" if session.target.dialect == _OLD else "promise.register_callback"
    session.out.answer(session.target.send(kind, {"awaited": awaited, "awaiter": awaiter}))


@on_store(app, "listen", Access.WRITE)
def listen(
    session: Session,
    awaited: _AWAITED,
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="such as https://example.com/hook or poll://uni@group/id", show_default=False)
    ],
) -> None:
    """Register a listener: send a message to an address when a promise is settled."""
    kind = "promise.subscribe" if session.target.dialect == _OLD else "promise.register_listener"
    session.out.answer(session.target.send(kind, {"awaited": awaited, "address": address}))
