"""Authorization of requests by their tokens: 401, 403, and the restriction of searches to a prefix."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .auth import Authenticator, Identity, Unauthorized, bearer
from .tenants import Tenants

if TYPE_CHECKING:
    from starlette.types import Scope

    from .._core import Envelope
    from .metrics import Metrics
    from .settings import AuthSettings

__all__ = ["REASONS", "Authorizer", "header", "permit"]

_log = logging.getLogger("resonate_core.server")

#: What a reply without an envelope says of a refusal.
REASONS = {401: "Unauthorized", 403: "Forbidden"}
#: Status, and the reply as JSON.
Refusal = tuple[int, bytes]


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name (in lower case)."""
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


def permit(identity: Identity, envelope: Envelope) -> bool:
    """Restrict a request to the ids of a token; return False if it names others."""
    if identity.unrestricted:
        return True
    if not (identity.may_touch(envelope.ids) and identity.may_use(envelope.queues)):
        return False
    envelope.restrict(identity.prefix or "")
    return True


class Authorizer:
    """Decides by their tokens which requests are permitted.

    Args:
        settings: The key of tokens; without a key, no token is needed.
        debug: Whether debug operations are served.
        metrics: The counters.

    Attributes:
        tenants: The prefixes of the tokens that were presented.

    Raises:
        ValueError: The key cannot be read, or an algorithm does not fit it.
    """

    def __init__(self, settings: AuthSettings, debug: bool, metrics: Metrics) -> None:
        self._authenticator = Authenticator(settings) if settings.enabled else None
        self._debug = debug
        self._metrics = metrics
        self.tenants = Tenants()

    @property
    def requires_tokens(self) -> bool:
        """Whether tokens are required."""
        return self._authenticator is not None

    def identify(self, scope: Scope, token: str | None = None) -> Identity | None:
        """Return the identity of the token, or of the Authorization header without one; None for an invalid token."""
        assert self._authenticator is not None
        try:
            identity = self._authenticator.identify(token if token is not None else bearer(header(scope, b"authorization")))
        except Unauthorized as error:
            _log.debug("a token was refused: %s", error)
            self._metrics.refused.labels("unauthorized").inc()
            return None
        self.tenants.saw(identity.prefix)
        return identity

    def refusal(self, envelope: Envelope, scope: Scope) -> Refusal | None:
        """Return 401 or 403 with its reply; None if the request is permitted. A search is restricted to the prefix of its token."""
        if self._authenticator is None:
            if not self._debug:
                if envelope.debug:
                    return self._forbid(envelope, "Debug operations are disabled")
                envelope.forget_debug_time()
            return None
        identity = self.identify(scope, envelope.auth)
        if identity is None:
            return 401, envelope.refusal(401, "Unauthorized")
        if identity.for_people or (identity.prefix is None and not identity.admin):
            return self._forbid(envelope, "Forbidden")
        if envelope.debug:
            if not self._debug:
                return self._forbid(envelope, "Debug operations are disabled")
            return None if identity.unrestricted else self._forbid(envelope, "Forbidden")
        if not permit(identity, envelope):
            return self._forbid(envelope, "Forbidden")
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
        if identity.prefix is None or identity.for_people:
            self._metrics.refused.labels("forbidden").inc()
            return 403
        return identity.prefix

    def queues_of_stream(self, scope: Scope, queues: Sequence[str]) -> Sequence[str] | int:
        """Return the queues whose jobs a stream may announce; 401 or 403 if it must not be opened.

        A restricted token may claim from shared queues, too. It must not learn that jobs of others wait there, so a stream
        announces only queues of its prefix.
        """
        if self._authenticator is None:
            return queues
        identity = self.identify(scope)
        if identity is None:
            return 401
        known = identity.admin or (identity.prefix is not None and not identity.for_people)
        permitted = known and identity.may_use(queues)
        announced = [queue for queue in queues if permitted and identity.may_touch([queue])]
        if not announced:
            self._metrics.refused.labels("forbidden").inc()
            return 403
        return announced

    def status_of_metrics(self, scope: Scope) -> int:
        """Return 200 if the metrics may be read, or 401 or 403. Metrics count the requests of all clients."""
        if self._authenticator is None:
            return 200
        identity = self.identify(scope)
        if identity is None:
            return 401
        if identity.unrestricted and not identity.for_people:
            return 200
        self._metrics.refused.labels("forbidden").inc()
        return 403

    def _forbid(self, envelope: Envelope, why: str) -> Refusal:
        self._metrics.refused.labels("forbidden").inc()
        return 403, envelope.refusal(403, why)
