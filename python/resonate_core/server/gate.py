"""Access checks: 401, 403, and the filter of the results of a restricted request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .auth import Authenticator, Identity, Unauthorized, bearer

if TYPE_CHECKING:
    from starlette.types import Scope

    from .._core import Envelope
    from .metrics import Metrics
    from .settings import AuthSettings

__all__ = ["Gate", "header"]

_log = logging.getLogger("resonate_core.server")

#: Status, and the answering envelope.
Refusal = tuple[int, bytes]


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name (in lower case)."""
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


class Gate:
    """Judges requests by their tokens.

    Args:
        settings: The key of tokens; without a key, no token is needed.
        debug: Whether debug operations are served.
        metrics: The counters.

    Raises:
        ValueError: The key cannot be read, or an algorithm does not fit it.
    """

    def __init__(self, settings: AuthSettings, debug: bool, metrics: Metrics) -> None:
        self._authenticator = Authenticator(settings) if settings.enabled else None
        self._debug = debug
        self._metrics = metrics

    @property
    def asks(self) -> bool:
        """Whether tokens are asked for."""
        return self._authenticator is not None

    def identify(self, scope: Scope, token: str | None = None) -> Identity | None:
        """Return the identity of the token, or of the Authorization header without one; None for an invalid token."""
        assert self._authenticator is not None
        try:
            return self._authenticator.identify(token if token is not None else bearer(header(scope, b"authorization")))
        except Unauthorized as error:
            _log.debug("a token was refused: %s", error)
            self._metrics.refused.labels("unauthorized").inc()
            return None

    def judge(self, envelope: Envelope, scope: Scope) -> Refusal | None:
        """401 or 403, where a request may not be made; narrows what a restricted one finds by itself."""
        if self._authenticator is None:
            if not self._debug:
                if envelope.debug:
                    return self._forbid(envelope, "Debug operations are disabled")
                envelope.forget_debug_time()
            return None
        identity = self.identify(scope, envelope.auth)
        if identity is None:
            return 401, envelope.refusal(401, "Unauthorized")
        if identity.prefix is None and not identity.admin:
            return self._forbid(envelope, "Forbidden")
        if envelope.debug:
            if not self._debug:
                return self._forbid(envelope, "Debug operations are disabled")
            return None if identity.unrestricted else self._forbid(envelope, "Forbidden")
        if not identity.unrestricted:
            if not (identity.may_touch(envelope.ids) and identity.may_use(envelope.queues)):
                return self._forbid(envelope, "Forbidden")
            envelope.restrict(identity.prefix or "")
        if not (self._debug and identity.unrestricted):
            envelope.forget_debug_time()
        return None

    def prefix_of_stream(self, scope: Scope) -> str | int:
        """Return the prefix of the ids whose messages a stream may get; 401 or 403 if it must not be opened."""
        if self._authenticator is None:
            return ""
        identity = self.identify(scope)
        if identity is None:
            return 401
        if identity.admin:
            return ""
        if identity.prefix is None:
            self._metrics.refused.labels("forbidden").inc()
            return 403
        return identity.prefix

    def status_of_metrics(self, scope: Scope) -> int:
        """200, 401 or 403: whether the metrics may be read. They are about everybody."""
        if self._authenticator is None:
            return 200
        identity = self.identify(scope)
        if identity is None:
            return 401
        if identity.unrestricted:
            return 200
        self._metrics.refused.labels("forbidden").inc()
        return 403

    def _forbid(self, envelope: Envelope, why: str) -> Refusal:
        self._metrics.refused.labels("forbidden").inc()
        return 403, envelope.refusal(403, why)
