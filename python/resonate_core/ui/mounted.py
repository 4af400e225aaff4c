"""`create_ui`: the dashboard in an app of the user, on a store, a file, a database or a server."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .._core import Store
from ..base.forwarded import client_address
from ..calls.store_threads import open_apart
from .app import UiApp
from .dashboard import Dashboard
from .local import local_role
from .options import ROLES, Role, UiOptions
from .principal import Principal, principal_of
from .proxy import ServerUi

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["MountedUi", "create_ui", "local_role"]

_log = logging.getLogger("resonate_core.ui")

#: What a program must change if it mounts a dashboard without a role.
NO_ROLE = "pass role= to create_ui, one of none, read and operate, or a function that takes the ASGI scope and returns one"

#: A function of the program: takes the ASGI scope of a request, and returns the role or the principal of its sender.
Who = Callable[[Any], "Role | Principal"]


class MountedUi:
    """The dashboard as an ASGI app to mount; `create_ui` makes it.

    Args:
        open: Returns the store; called at the first request.
        owned: Whether the store is closed when the app's lifespan ends.
        who: Returns the role or the principal of the sender of a request.
        options: The options of the dashboard.
        prefix: The path below which it serves, if nothing mounts it.
        read_only: Whether the store is opened for reading only.

    Attributes:
        prepare: Called with the dashboard before the first request, to change it.
    """

    def __init__(
        self, open: Callable[[], Store], owned: bool, who: Who, options: UiOptions, prefix: str, read_only: bool = False
    ) -> None:
        self._open, self._owned, self._who = open, owned, who
        self._options, self._prefix, self._read_only = options, prefix, read_only
        self._app: UiApp | None = None
        self._opening: asyncio.Lock | None = None
        self.prepare: Callable[[Dashboard], None] = lambda dashboard: None

    def matches(self, scope: Scope) -> bool:
        """Return whether this app serves a request: an HTTP request below its prefix."""
        return bool(scope["type"] == "http" and (scope["path"] + "/").startswith(f"{self._prefix}/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] == "http" and self._prefix:
            scope = {**scope, "root_path": scope.get("root_path", "") + self._prefix}
        app = self._app or await self._made()
        await app(scope, receive, send)

    async def _made(self) -> UiApp:
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._app is None:
                store = await open_apart(self._open) if self._owned else self._open()
                dashboard = Dashboard(store, self._options, read_only=self._read_only)
                self.prepare(dashboard)
                self._app = UiApp(dashboard, self._principal)
            return self._app

    def _principal(self, scope: Scope) -> Principal:
        found = principal_of(self._who(scope))
        return replace(found, address=client_address(scope)) if found.address is None else found

    def end_streams(self) -> None:
        """End every stream of events, because the server stops. Call it in the event loop."""
        if self._app is not None:
            self._app.end_streams()

    async def aclose(self) -> None:
        """End the streams, and close the store if this app opened it."""
        app, self._app = self._app, None
        if app is not None:
            await app.aclose()
            if self._owned:
                await asyncio.to_thread(app.dashboard.store.close)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})


def create_ui(
    store: Store | str | os.PathLike[str],
    *,
    role: Role | Who | None = None,
    prefix: str = "",
    redact_keys: Sequence[str] = (),
    redact_types: Sequence[str] = (),
    token: str | None = None,
    hosts: Sequence[str] = (),
    secret: str | None = None,
) -> MountedUi | ServerUi:
    """Return the dashboard as an ASGI app, to mount under any path of a FastAPI, Starlette or Django app.

    The dashboard runs no due steps and delivers no messages: a server, a worker or the program does. If `store` is a path, the store
    is opened at the first request.

    Args:
        store: A store, the path of one, the URL of a database, or the URL of a server that has a dashboard.
        role: What every user may do: `none`, `read` or `operate`. Or a function that takes the ASGI scope of a request and returns
            the role or a `Principal`, for example from the session of the app. Without it, every user has the role `none`, and a
            warning is logged: behind a proxy, the requests of strangers seem to come from this machine, too. For the URL of a
            server, the server decides by tokens, and `role` alone decides for which requests `token` is sent: a `Principal` with a
            prefix, an issuer or `restrict` is refused with 403 there, and its name is in no audit line of the server.
        prefix: The path below which the app serves if nothing mounts it, such as `/jobs`; see `MountedUi.matches`.
        redact_keys: As in `UiOptions`.
        redact_types: As in `UiOptions`.
        token: For the URL of a server: a token that the dashboard sends with the requests that `role` permits, in the place of the
            browser's token; without `role`, with the requests from this machine. All other requests keep their own token.
        hosts: For the URL of a server: further names that are accepted in the header `Host` on a loopback address, for example the
            name of a proxy; `*` accepts all.
        secret: As in `UiOptions`. If several processes serve this dashboard, give all of them the same one, so that each accepts the
            cursors of the others.

    Raises:
        TypeError: `store` is none of these.
        ValueError: An option breaks its rule.

    Example:
        >>> import asyncio, httpx
        >>> import resonate_core as rc
        >>> from resonate_core.ui import create_ui
        >>> async def main():
        ...     app = create_ui(rc.Store(clock=rc.ManualClock()), role="read")
        ...     async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        ...         return (await client.get("http://app/api/session")).json()["role"]
        >>> asyncio.run(main())
        'read'
    """
    if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
        raise ValueError(f"prefix must begin with a slash and not end with one, got {prefix!r}")
    if role is not None and not (role in ROLES if isinstance(role, str) else callable(role)):
        raise ValueError(f"role must be one of {', '.join(ROLES)}, or a function, got {role!r}")
    if not isinstance(store, (Store, str, os.PathLike)):
        raise TypeError(f"store must be a Store, the path of one, or a URL, got {type(store).__name__}")
    options = UiOptions(redact_keys, redact_types, secret=secret)
    if isinstance(store, str) and store.startswith(("http://", "https://")):
        if (role is not None and token is None) or redact_keys or redact_types or secret is not None:
            raise ValueError(
                "role, redact_keys, redact_types and secret must be left out for the URL of a server: the server decides"
            )
        return ServerUi(store, token, prefix, hosts=hosts, role=local_role if role is None else _who(role))
    if token is not None:
        raise ValueError("token is for the URL of a server")
    if hosts:
        raise ValueError("hosts is for the URL of a server")
    if role is None:
        _log.warning("create_ui was given no role, so every request has the role none: %s", NO_ROLE)
    if isinstance(store, Store):
        made = MountedUi(lambda: store, False, _who(role), options, prefix)
    else:
        made = MountedUi(partial(Store, store), True, _who(role), options, prefix)
    made.prepare = _prepare_without_role if role is None else made.prepare
    return made


def _prepare_without_role(dashboard: Dashboard) -> None:
    dashboard.no_role = f"this dashboard was given no role: {NO_ROLE}"


def _who(role: Role | Who | None) -> Who:
    if role is None:
        role = "none"
    if isinstance(role, str):
        fixed: Role = role
        return lambda scope: fixed
    return role
