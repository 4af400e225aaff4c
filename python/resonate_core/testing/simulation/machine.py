"""The parts of an event loop that need a machine and that a simulation lacks: executors, sockets, signals, other programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from .errors import NotSimulated

__all__ = ["NoMachine"]


class NoMachine(asyncio.AbstractEventLoop):
    """An event loop without a machine: it refuses calls that would need one.

    Attributes:
        unhandled: Called with the context of an error that has no handler.
    """

    def __init__(self) -> None:
        self._running = False
        self._closed = False
        self._debug = False
        self._exception_handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        self.unhandled: Callable[[dict[str, Any]], None] | None = None

    def set_default_executor(self, executor: Any) -> None:
        """Has no effect: there are no threads."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Has no effect: there are no threads."""

    async def shutdown_asyncgens(self) -> None:
        """Has no effect: asynchronous generators end with the run."""

    def get_debug(self) -> bool:
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        self._debug = enabled

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True

    def stop(self) -> None:
        raise NotSimulated("loop.stop()")

    def run_forever(self) -> None:
        raise NotSimulated("loop.run_forever(), inside a simulation")

    def run_until_complete(self, future: Any) -> Any:
        raise NotSimulated("loop.run_until_complete(), inside a simulation")

    def get_exception_handler(self) -> Any:
        return self._exception_handler

    def set_exception_handler(self, handler: Any) -> None:
        self._exception_handler = handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        if self.unhandled is not None:
            self.unhandled(context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.default_exception_handler(context)


def _refused(name: str) -> Callable[..., Any]:
    def method(self: NoMachine, *args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(f"loop.{name}()")

    method.__name__ = name
    return method


_REFUSED = (
    "add_writer",
    "remove_writer",
    "add_signal_handler",
    "remove_signal_handler",
    "sock_accept",
    "sock_connect",
    "sock_recv",
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendto",
    "sock_sendfile",
    "sendfile",
    "start_tls",
    "create_connection",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "create_datagram_endpoint",
    "connect_accepted_socket",
    "connect_read_pipe",
    "connect_write_pipe",
    "subprocess_exec",
    "subprocess_shell",
    "getaddrinfo",
    "getnameinfo",
)
for _name in _REFUSED:
    setattr(NoMachine, _name, _refused(_name))
