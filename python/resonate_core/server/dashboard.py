"""The dashboard of a server: its permissions come from the tokens, and its actions run like the requests of clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .._core import Envelope, RequestLimits, Store
from ..base.forwarded import client_address
from ..ui.app import UiApp
from ..ui.dashboard import Dashboard
from ..ui.local import local_role
from ..ui.options import Role, UiOptions
from ..ui.principal import Principal
from .authorizer import Authorizer, permit

if TYPE_CHECKING:
    from starlette.types import Scope

    from .auth import Identity
    from .batcher import Answer
    from .runtime import Runtime
    from .settings import Settings

__all__ = ["dashboard"]

#: Seconds for which the thread of an action waits for its transaction; the batcher ends it long before.
_LONGEST = 600


def dashboard(
    store: Store,
    settings: Settings,
    authorizer: Authorizer,
    limits: RequestLimits,
    runtime: Callable[[], Runtime],
    run: Callable[[Runtime, Envelope], Coroutine[Any, Any, Answer]],
) -> UiApp:
    """Return the dashboard of an app.

    Args:
        store: The store.
        settings: Those of the server.
        authorizer: Knows the tokens.
        limits: The limits of a request.
        runtime: Returns what runs on the event loop of the caller.
        run: Runs a permitted request on the event loop.
    """
    ui, url = settings.ui, settings.server.url
    secret = None if ui.secret is None else ui.secret.get_secret_value()
    quotas = {name: getattr(ui, name) for name in ("requests", "streams", "recordings", "recording_bytes")}
    made = Dashboard(store, UiOptions(ui.redact_keys, ui.redact_types, ui.audit_kept, secret=secret, **quotas))
    current: list[Runtime] = []

    def who(scope: Scope) -> Principal | int:
        current[:] = [runtime()]
        address = client_address(scope, settings.server.forwarded_allow)
        if not authorizer.requires_tokens:
            return Principal(ui.role if ui.role is not None else local_role(scope), address=address)
        identity = authorizer.identify(scope)
        if identity is None:
            return 401
        return 403 if identity.broken is not None else _principal(identity, address)

    def run_here(envelope: Envelope) -> Answer:
        running = current[0]
        return asyncio.run_coroutine_threadsafe(run(running, envelope), running.loop).result(_LONGEST)

    if settings.delivery.enabled and settings.delivery.processes == 1:  # another process may have the streams
        made.listening = lambda address: current[0].poll.listens(address)
    made.counting = lambda: current[0].counting
    origins = frozenset() if url is None else frozenset((f"{urlsplit(url).scheme}://{urlsplit(url).netloc}".lower(),))
    return UiApp(made, who, requires_token=authorizer.requires_tokens, limits=limits, run=run_here, origins=origins)


def _principal(identity: Identity, address: str | None) -> Principal:
    """What a token permits here: its role, or, for the token of a client, all that it may do with its own ids."""
    if identity.for_people and identity.prefix is None and not identity.admin:
        identity = replace(identity, prefix="")
    prefix = "" if identity.unrestricted else identity.prefix
    if prefix is None or identity.dashboard == "none":
        return Principal("none", identity.name, address=address, issuer=identity.issuer)
    role: Role = "read" if identity.dashboard == "read" else "operate"
    return Principal(role, identity.name, prefix, address, partial(permit, identity), identity.issuer)
