"""The senders of the requests that the dashboard in front of a server passes on: their role by the app, and their room."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .access import Refused
from .principal import Principal, principal_of
from .rooms import Room, room_of

if TYPE_CHECKING:
    from starlette.types import Scope

    from .options import Role

__all__ = ["Sender", "Senders"]

_log = logging.getLogger("resonate_core.ui")

#: What a server applies by its tokens, and nothing in front of it can.
_OF_TOKENS = ("prefix", "restrict", "issuer")
#: The room of all tokens that the server has not accepted so far.
_UNKNOWN: Room = ("", "unknown")
#: The most tokens of which the rooms are known.
_MOST_KNOWN = 1000


@dataclass(frozen=True)
class Sender:
    """The sender of a request.

    Attributes:
        principal: Who it is by the app.
        by_token: Whether the request is sent with the app's token; otherwise with what the client sends.
        room: That of its places.
    """

    principal: Principal
    by_token: bool
    room: Room

    @property
    def is_unknown(self) -> bool:
        """Whether it has a token of which only the server knows whose it is."""
        return self.room == _UNKNOWN


class Senders:
    """Judges the senders of requests.

    Args:
        role: The function of the app.
        has_token: Whether the app gave a token.
    """

    def __init__(self, role: Callable[[Any], Role | Principal], has_token: bool) -> None:
        self._role, self._has_token = role, has_token
        self._rooms: OrderedDict[bytes, Room] = OrderedDict()
        self._said: set[str] = set()

    def of(self, scope: Scope, needed: Role, authorization: bytes | None) -> Sender:
        """Return the sender of a request.

        Args:
            scope: Of the request.
            needed: The role that it needs.
            authorization: The header of the client.

        Raises:
            Refused: The app restricts the sender in a way that is not passed on to the server.
        """
        try:
            principal = principal_of(self._role(scope))
            permitted = principal.may(needed)
        except Exception as error:
            _log.exception("the function role of create_ui failed")
            raise Refused(500, "the dashboard failed; the server's log says why") from error
        self._refuse_restricted(principal)
        if self._has_token and permitted:
            return Sender(principal, True, room_of(principal))
        if authorization is None:
            return Sender(principal, False, room_of(principal))
        return Sender(principal, False, self._rooms.get(sha256(authorization).digest(), _UNKNOWN))

    def learn(self, authorization: bytes, session: Mapping[str, Any] | None) -> None:
        """Note the room of a token by what the server says of it; None if the server does not accept it."""
        key = sha256(authorization).digest()
        self._rooms.pop(key, None)
        role, prefix = (None, None) if session is None else (session.get("role"), session.get("prefix"))
        # A server without tokens takes any text for one: then it names no sender.
        if session is not None and session.get("requiresToken") is True and isinstance(role, str) and isinstance(prefix, str):
            self._rooms[key] = (prefix, "") if prefix else ("", role)
            if len(self._rooms) > _MOST_KNOWN:
                self._rooms.popitem(last=False)

    def _refuse_restricted(self, principal: Principal) -> None:
        found = [name for name in _OF_TOKENS if getattr(principal, name) not in (None, "")]
        if not found:
            return
        names = " and ".join(found)
        if names not in self._said:  # once: a line for each request would fill the log
            self._said.add(names)
            _log.error(
                "refused with 403: the Principal that role returns must have no %s for the URL of a server, which cannot apply it; "
                "send a token with these restrictions from the browser, or give create_ui the store",
                names,
            )
        raise Refused(403, f"the role of this app has {names}, which this dashboard cannot apply; the server's log says more")
