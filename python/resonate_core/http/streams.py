"""The connections of blocking clients. Their reads and writes end at the deadline of `deadline.within`, and they end with their client."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import httpcore
import httpx

from .deadline import left

if TYPE_CHECKING:
    import ssl

__all__ = ["Client"]

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

    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend) -> None:
        self._stream = stream
        self._backend = backend

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
        return self._backend.kept(self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Makes such connections, until it is closed."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._made: WeakSet[_Stream] = WeakSet()
        self._closed = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        limit = _left(timeout, httpcore.ConnectTimeout)
        return self.kept(self._backend.connect_tcp(host, port, limit, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        limit = _left(timeout, httpcore.ConnectTimeout)
        return self.kept(self._backend.connect_unix_socket(path, limit, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)

    def kept(self, stream: httpcore.NetworkStream) -> _Stream:
        """Return a new connection, which `close` will close.

        Raises:
            httpcore.ConnectError: The backend was closed meanwhile; the connection is closed, too.
        """
        made = _Stream(stream, self)
        with self._lock:
            if not self._closed:
                self._made.add(made)
                return made
        made.close()
        raise httpcore.ConnectError("the client was closed")

    def close(self) -> None:
        """Close all connections. A second call has no effect."""
        with self._lock:
            self._closed = True
            made = list(self._made)
        for stream in made:
            stream.close()


class Client(httpx.Client):
    """A client whose requests end at the deadline of the thread that sends them.

    A pool that is closed forgets the connection that a request of another thread is opening at that moment, and it would stay open
    until the garbage collector finds it. `close` closes it, too, and the request fails with `httpx.ConnectError`.

    Args:
        options: Of httpx.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # httpx has no option for the connections of its pools, so that the backend of each pool is replaced.
        self._backends: list[_Backend] = []
        for transport in (self._transport, *self._mounts.values()):
            pool: Any = getattr(transport, "_pool", None)
            if pool is not None:
                pool._network_backend = _Backend(pool._network_backend)
                self._backends.append(pool._network_backend)

    def close(self) -> None:
        """End the connections, also those that requests of other threads use or open."""
        super().close()
        self._close_backends()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._close_backends()

    def _close_backends(self) -> None:
        for backend in self._backends:
            backend.close()
