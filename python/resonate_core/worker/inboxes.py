"""The messages to a worker that serves a group: those of a store in this process, and the stream of a server (WIRE 3)."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from .._core import Message
from ..calls.wakeup import Watching
from .job_source import Execute
from .url_watch import EventStream

if TYPE_CHECKING:
    from ..http.server_client import ServerAddress

__all__ = ["StoreInbox", "UrlInbox", "served_by"]

#: The kinds of messages that a task can be acquired, in both dialects.
_EXECUTES = ("execute", "invoke", "resume")


def served_by(group: str, pid: str) -> list[str]:
    """Return the addresses that a worker of a group serves; one that ends in ``*`` is a prefix.

    Example:
        >>> from resonate_core.worker.inboxes import served_by
        >>> served_by("shop", "w1")
        ['poll://any@shop', 'poll://any@shop/*', 'poll://uni@shop/w1']
    """
    return [f"poll://any@{group}", f"poll://any@{group}/*", f"poll://uni@{group}/{pid}"]


class _Messages(Protocol):
    def __call__(self, *, after: int, addresses: Sequence[str]) -> Sequence[Message]:
        """Return the undelivered messages to these addresses with a greater number."""


class StoreInbox:
    """An `Inbox` of a store. Messages stay in the outbox until they are acknowledged, so that another worker gets them if this one crashes.

    Args:
        group: The group of the worker.
        pid: The name of the worker.
        watch: Of the store.
        messages: As of a store.
        acknowledge: As of a store.
    """

    shared = True

    def __init__(
        self, group: str, pid: str, watch: Watching, messages: _Messages, acknowledge: Callable[[Sequence[int]], object]
    ) -> None:
        self._addresses = served_by(group, pid)
        self._watch = watch
        self._messages = messages
        self._acknowledge = acknowledge
        self._last = 0  # the number of the last message that was read

    def take(self) -> list[Execute]:
        """As of `Inbox`."""
        found = self._messages(after=self._last, addresses=self._addresses)
        if found:
            self._last = found[-1].number
        return [Execute(one.id, one.version or 0, one.number, one.stale) for one in found if one.kind in _EXECUTES]

    def read_again(self) -> None:
        """As of `Inbox`."""
        self._last = 0

    def acknowledge(self, taken: Sequence[Execute]) -> None:
        """As of `Inbox`."""
        if taken:
            self._acknowledge([one.number for one in taken])

    def rearm(self, until: int | None = None) -> None:
        """Write once more; steps that become due do not matter."""
        self._watch.rearm(0)

    def close(self) -> None:
        """End the watch."""
        self._watch.close()


class UrlInbox(EventStream):
    """An `Inbox` of a server: a message that a crashed worker had read comes again when the store offers its task again.

    Args:
        address: That of the server.
        group: The group of the worker.
        pid: The name of the worker.
        descriptor: As of `EventStream`.
    """

    shared = False

    def __init__(self, address: ServerAddress, group: str, pid: str, descriptor: int) -> None:
        self._come: list[Execute] = []
        self._come_lock = threading.Lock()
        path = f"poll/{quote(group, safe='')}/{quote(pid, safe='')}"
        without = ("no stream of messages", f"group {group!r} is not served here meanwhile")
        super().__init__(address, path, descriptor, without, logging.WARNING)

    def _received(self, data: str) -> None:
        found = _execute_in(data)
        if found is not None:
            with self._come_lock:
                self._come.append(found)
            self._wake()

    def take(self) -> list[Execute]:
        """As of `Inbox`."""
        with self._come_lock:
            found, self._come = self._come, []
        return found

    def read_again(self) -> None:
        """Has nothing to do: messages that were read belong to this worker."""

    def acknowledge(self, taken: Sequence[Execute]) -> None:
        """Has nothing to do: the server sees that they were read."""


def _execute_in(data: str) -> Execute | None:
    """Return the execute in an event; None for anything else."""
    try:
        message: Any = json.loads(data)
        task = message["data"]["task"]
        id, version = task["id"], task["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if message.get("kind") not in _EXECUTES or not isinstance(id, str) or type(version) is not int or version < 0:
        return None
    return Execute(id, version)
