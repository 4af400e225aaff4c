"""The sender of a request to the dashboard, and its permissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .options import ROLES, Role

if TYPE_CHECKING:
    from .._core import Envelope

__all__ = ["Principal", "principal_of"]


#: The queue of jobs that name none: everybody who may enqueue may use it.
SHARED_QUEUE = "default"


@dataclass(frozen=True)
class Principal:
    """Who sends a request to the dashboard.

    Attributes:
        role: `none`, `read` or `operate`.
        name: A name for the audit lines, for example the claim `sub` of a token.
        prefix: The beginning of the ids and queues that are visible; "" for all.
        address: The address of the client.
        issuer: The source of the name, for example the claim `iss` of a token: names of two issuers are two people.
        restrict: Returns whether a request of the protocol is permitted, and restricts its results; as for `POST /`. By default, a
            prefix permits the ids and the queues that begin with it, and the queue `default`.

    Example:
        >>> from resonate_core.ui.principal import Principal
        >>> ann = Principal("read", "ann", prefix="shop.")
        >>> ann.may("read"), ann.may("operate"), ann.sees("shop.1"), ann.sees("bank.1")
        (True, False, True, False)
    """

    role: Role
    name: str | None = None
    prefix: str = ""
    address: str | None = None
    restrict: Callable[[Envelope], bool] | None = None
    issuer: str | None = None

    @property
    def owner(self) -> tuple[str | None, str | None, str, Role]:
        """What makes two requests those of one principal: an equal name alone does not."""
        return self.issuer, self.name, self.prefix, self.role

    def permits(self, envelope: Envelope) -> bool:
        """Return whether a request of the protocol is permitted, and restrict its results."""
        if self.restrict is not None:
            return self.restrict(envelope)
        if not self.prefix:
            return True
        if not all(self.sees(id) for id in envelope.ids):
            return False
        if not all(self.sees(queue) or queue == SHARED_QUEUE for queue in envelope.queues):
            return False
        envelope.restrict(self.prefix)
        return True

    def may(self, role: Role) -> bool:
        """Return whether this role includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, id: str) -> bool:
        """Return whether an id is visible."""
        return id.startswith(self.prefix)


def principal_of(found: Role | Principal) -> Principal:
    """Return the principal of what a function of an app has returned.

    Raises:
        TypeError: It is neither a role nor a principal.
    """
    if isinstance(found, Principal):
        return found
    if found not in ROLES:
        raise TypeError(f"role must be one of {', '.join(ROLES)}, or a Principal, got {found!r}")
    return Principal(found)
