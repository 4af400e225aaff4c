"""Tells the requests of browsers, and refuses those of foreign web pages.

A page can make a browser send requests to this server, also under a host name of the page. It cannot choose its ``Origin``, nor the
name in ``Host`` that its browser resolved. Published clients send no ``Origin``, and send the name in their URL as ``Host``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..base.loopback import is_loopback
from ..http.host_names import is_own_name
from ..http.judged_headers import is_foreign_site, is_same_origin, judged

if TYPE_CHECKING:
    from starlette.types import Scope

    from .settings import ServerSettings

__all__ = ["JOB_STREAM", "Origins", "asks_for_a_page", "is_loopback"]

#: The most accepted names that are remembered, so that they are not parsed again.
_MOST_REMEMBERED = 1000

#: The path of job streams ...
JOB_STREAM = "/jobs/claimable"
#: ... and the beginnings of the paths of all streams.
_STREAMS = ("/poll/", JOB_STREAM)


class Origins:
    """Checks ``Origin`` and ``Host`` of requests.

    Args:
        settings: The permitted origins and names.
        requires_tokens: Whether tokens are required. Then a page without a token is refused under any name.
    """

    def __init__(self, settings: ServerSettings, requires_tokens: bool) -> None:
        self._any_origin = "*" in settings.cors_origins
        self._origins = set(settings.cors_origins)
        self._any_host = "*" in settings.hosts
        self._has_hosts = bool(settings.hosts)
        self._requires_tokens = requires_tokens
        self._hosts = {name.lower() for name in settings.hosts}
        if settings.url is not None:
            url = urlsplit(settings.url)
            self._origins.add(f"{url.scheme}://{url.netloc}".lower())
            self._hosts.add((url.hostname or "").lower())
        self._accepted: set[bytes] = set()
        self._loopback: dict[str, bool] = {}

    def refusal(self, scope: Scope, path: str) -> tuple[int, str] | None:
        """Return a status and the reason; None if the request is permitted."""
        headers = judged(scope["headers"])
        if isinstance(headers, str):
            return 400, headers
        host, origin = headers.get(b"host"), headers.get(b"origin")
        if host and host not in self._accepted and self._checks_host(scope):
            name = host.decode("latin-1")
            if not is_own_name(name, self._hosts):
                return 421, f"Host must be a name of this server, got {name!r}; if it is meant, add it to server.hosts"
            if len(self._accepted) < _MOST_REMEMBERED:
                self._accepted.add(host)
        if origin is not None:
            shown = origin.decode("latin-1")
            if not (self._any_origin or shown in self._origins or is_same_origin(shown, _text(host), scope["scheme"])):
                return 403, f"Origin must be this server's own or one of server.cors_origins, got {shown!r}"
        elif path.startswith(_STREAMS) and is_foreign_site(headers.get(b"sec-fetch-site", b"")) and not self._any_origin:
            # A page may embed a stream as a picture: the request has no Origin then, and the messages would be lost.
            return 403, "a page of another origin must not embed a stream"
        return None

    def _checks_host(self, scope: Scope) -> bool:
        if self._any_host:
            return False
        if self._has_hosts:
            return True
        server = scope.get("server")
        if self._requires_tokens or server is None:
            return False
        known = self._loopback.get(server[0])
        if known is None:
            known = self._loopback[server[0]] = is_loopback(server[0])
        return known


def asks_for_a_page(scope: Scope) -> bool:
    """Return whether a browser asks for a page: its ``Accept`` names HTML, and clients of the protocol and ``curl`` do not name it."""
    if scope["method"] not in ("GET", "HEAD"):
        return False
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    types = (part.replace(b" ", b"").split(b";") for part in accepted.split(b","))
    return any(type == b"text/html" and not _is_zero(more) for type, *more in types)


def _is_zero(parameters: list[bytes]) -> bool:
    """Return whether the weight among the parameters of a type is 0, which means that the type is not accepted."""
    return any(one.startswith(b"q=") and not one[2:].strip(b"0.") for one in parameters)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
