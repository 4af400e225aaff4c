"""The role of a client by its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.forwarded import is_forwarded
from ..base.loopback import is_loopback
from ..http.host_names import name_in
from .options import Role

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["local_role"]


def local_role(scope: Scope) -> Role:
    """Return `operate` for a request of a program of this machine, and `none` for any other.

    Both ends are loopback addresses, the name in `Host` is one of this machine (a page of another origin cannot choose it; see the
    page on security), and neither a header nor HTTP/1.0 says that a proxy has forwarded the request.
    """
    server, client = scope.get("server"), scope.get("client")
    if scope.get("http_version") == "1.0":  # the default of nginx, and of no browser and no client of this package
        return "none"
    if client is None or not is_loopback(str(client[0])) or is_forwarded(scope["headers"]):
        return "none"
    name = name_in(next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), ""))
    return "operate" if server is not None and is_loopback(str(server[0])) and name is not None and is_loopback(name) else "none"
