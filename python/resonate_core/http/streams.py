"""The connections of blocking clients, whose reads and writes end at the deadline of `deadline.within`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpcore

from .deadline import left

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["watch"]

#: The most bytes that are written before the time is read again.
_PIECE = 16_384


def _left(timeout: float | None, over: type[Exception]) -> float | None:
    """The seconds for one read or write.

    Raises:
        httpcore.TimeoutException: The time of the request is over.
    """
    limit = left(timeout)
    if limit is not None and limit <= 0:
        raise over("the answer was not complete in time")
    return limit


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes end at the deadline of the thread."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        for first in range(0, len(view), _PIECE):
            self._stream.write(bytes(view[first : first + _PIECE]), _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Makes such connections."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        limit = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._backend.connect_tcp(host, port, limit, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        limit = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._backend.connect_unix_socket(path, limit, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def watch(client: httpx.Client) -> None:
    """Let the requests of a client end at the deadline of the thread that sends them.

    httpx has no option for the connections of its pools, so that the backend of each pool is replaced.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend)
