"""Delivery of messages to functions of this process: `Store.on_message` and `Store.deliver`."""

from __future__ import annotations

import atexit
import contextvars
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakMethod, WeakSet, ref

from .._core import ManualClock
from ..base.log_lines import escape_lines
from ..base.stopwatch import doubled, seconds
from ..errors import Closed, Invalid, StoreError
from .wakeup import Wakeup

if TYPE_CHECKING:
    from .._core import Message, Store

__all__ = ["Subscription", "deliver", "handled_schemes", "on_handler_end", "on_message"]

Handler = Callable[["Message"], object]

_log = logging.getLogger("resonate_core.delivery")
escape_lines(_log.name)

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
#: Seconds after which a message whose handler raised is delivered again: doubled each time, up to the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0
#: The length of the lease on messages that are being delivered, in ms, and the seconds after which it is renewed.
_LEASE, _RENEWED_AFTER = 10_000, 3.0
#: Seconds between two checks of a thread whether its store still exists.
_CHECK_INTERVAL = 1.0
#: Seconds for which a program that ends waits for a handler that is running.
_EXIT_TIMEOUT = 1.0


class _Failed:
    __slots__ = ("again_at", "failures")

    def __init__(self) -> None:
        self.failures = 0
        self.again_at = 0.0


class _Handlers:
    """The handlers of one store."""

    def __init__(self, store: Store) -> None:
        self.store = ref(store)
        self.handlers: dict[str, Handler] = {}
        self.failed: dict[int, _Failed] = {}  # by message
        self.thread: threading.Thread | None = None
        self.ending = False
        self.delivering = threading.Lock()
        self._deliverer: int | None = None  # the thread that holds the lock
        self.wakeup: Wakeup | None = None  # of the thread
        self._name = os.urandom(8).hex()

    def deliver(self, store: Store, survived: type[BaseException] = Exception) -> int:
        """Deliver the waiting messages; return how many were acknowledged.

        Args:
            store: Whose messages.
            survived: The exceptions of a handler that do not end the delivery.

        Raises:
            Invalid: A handler calls it.
        """
        if self._deliverer == threading.get_ident():
            raise Invalid("deliver() cannot be called by a handler of on_message: it would wait for that handler; return first")
        with self.delivering:
            self._deliverer = threading.get_ident()
            try:
                return self._deliver(store, survived)
            finally:
                self._deliverer = None

    def _deliver(self, store: Store, survived: type[BaseException]) -> int:
        done: list[int] = []
        handlers = dict(self.handlers)
        waiting = store.messages(addresses=_addresses(handlers))
        ready = [message for message in waiting if self._is_ready(message)]
        leases = _Leases(store, f"{os.getpid()}-{self._name}", [message.number for message in ready])
        try:
            for message in ready:
                if self.ending and threading.current_thread() is self.thread:
                    break
                if leases.have(message.number) and self._call(message, handlers, survived):
                    done.append(message.number)
        finally:  # an exception does not undo the deliveries before it
            if done:
                store.acknowledge(done)
            leases.give_up(done)
        self.failed = {message.number: self.failed[message.number] for message in waiting if message.number in self.failed}
        return len(done)

    def _is_ready(self, message: Message) -> bool:
        failed = self.failed.get(message.number)
        return message.stale or failed is None or failed.again_at <= seconds()

    def _call(self, message: Message, handlers: dict[str, Handler], survived: type[BaseException]) -> bool:
        if message.stale:
            return True
        try:
            # In a copy of the context: the handler of the next message does not see what this one has set.
            contextvars.copy_context().run(handlers[message.address.partition(":")[0]], message)
        except survived:
            failed = self.failed.setdefault(message.number, _Failed())
            pause = doubled(_FIRST_PAUSE, failed.failures, _LONGEST_PAUSE)
            failed.failures += 1
            failed.again_at = seconds() + pause
            _log.exception(
                "the handler of %r raised for %s; it gets the message again in %.1f s", message.address, message.key, pause
            )
            return False
        self.failed.pop(message.number, None)
        return True

    # -- in the background --------------------------------------------------------------------------------------------

    def start(self, store: Store) -> None:
        """Begin to deliver each message when it is queued."""
        if self.wakeup is None:
            self.wakeup = Wakeup(store.watch)
        if self.thread is None or not self.thread.is_alive():
            wakeup = self.wakeup
            here = ref(self, lambda _: wakeup.wake())  # the thread ends as soon as the store is collected
            self.thread = threading.Thread(target=_run, args=(here, wakeup), name="resonate-messages", daemon=True)
            self.thread.start()
        self.wakeup.rearm(0)
        if self._has_messages(store):
            self.wakeup.wake()  # otherwise the thread has no reason to refer to the store

    def _has_messages(self, store: Store) -> bool:
        try:
            return bool(store.messages(limit=1, addresses=_addresses(self.handlers)))
        except StoreError:  # the thread gets it too, logs it, and tries again
            return True

    def pause(self) -> float:
        """Return the seconds until the next retry of a message, or the next check of the store."""
        pauses = [failed.again_at - seconds() for failed in self.failed.values()]
        return max(0.0, min([_CHECK_INTERVAL, *pauses]))


def _addresses(schemes: Iterable[str]) -> list[str]:
    return [f"{scheme}:*" for scheme in schemes]


class _Leases:
    """Leases on messages while their handlers run, so that one process of several on a store delivers each of them.

    Args:
        store: The store.
        holder: The name of this process.
        numbers: The numbers of the messages, in the order of their delivery.
    """

    def __init__(self, store: Store, holder: str, numbers: list[int]) -> None:
        self._store = store
        self._holder = holder
        self._held = set(numbers)
        self._renew()

    def _renew(self) -> None:
        if self._store.shared and self._held:
            self._held = set(self._store.lease_messages(self._held, holder=self._holder, lease=_LEASE))
        self._renewed_at = seconds()

    def have(self, number: int) -> bool:
        """Return whether this process has a lease on the message, so that it may deliver it. Renews all leases in time."""
        if seconds() > self._renewed_at + _RENEWED_AFTER:
            self._renew()
        return number in self._held

    def give_up(self, done: list[int]) -> None:
        """End the leases on the messages that are not done."""
        self._held.difference_update(done)
        if self._store.shared and self._held:
            self._store.lease_messages(self._held, holder=self._holder, lease=0)


def _run(reference: ref[_Handlers], wakeup: Wakeup) -> None:
    """Run the thread of a store's handlers. It ends with the store, or with the last handler."""
    pause = _CHECK_INTERVAL
    while True:
        wakeup.wait(pause)
        here = reference()
        store = here.store() if here is not None else None
        if here is None or store is None or here.ending or not here.handlers:
            return
        wakeup.rearm(0)  # it does not run the steps of the store
        failed = False
        try:
            here.deliver(store, BaseException)  # such as SystemExit, which would end the thread
        except Closed:
            return
        except Exception:
            _log.exception("messages could not be read or acknowledged; trying again in %.0f s", _CHECK_INTERVAL)
            failed = True
        pause = here.pause()
        del store, here  # a thread that waits keeps neither alive
        if failed:
            time.sleep(_CHECK_INTERVAL)


#: Those of all stores. Each store holds its own: a handler that refers to the store closes a circle, which the garbage collector finds.
#: A dict with weak keys would hold such a handler, and by it the store, for ever.
_all: WeakSet[_Handlers] = WeakSet()
#: Their name in `Store._attached`.
_NAME = "handlers"
#: Methods that are called after a handler was removed, since the messages of its scheme are free for other receivers.
_end_listeners: WeakKeyDictionary[Store, list[WeakMethod[Callable[[], None]]]] = WeakKeyDictionary()


@atexit.register
def _end_threads() -> None:
    """Call no handler any more when the program ends, and wait a moment for handlers that are running."""
    running = [of_store for of_store in list(_all) if of_store.thread is not None and of_store.thread.is_alive()]
    for of_store in running:
        of_store.ending = True
        if of_store.wakeup is not None:
            of_store.wakeup.wake()
    for of_store in running:
        if of_store.thread is not None and of_store.thread is not threading.current_thread():
            of_store.thread.join(_EXIT_TIMEOUT)


class Subscription:
    """A registered handler; `Store.on_message` makes it. As a context manager it ends with its block. It keeps its store.

    Example:
        >>> import resonate_core as rc
        >>> with rc.Store(clock=rc.ManualClock()).on_message("local", print) as subscription:
        ...     print(subscription)
        <Subscription to local:>
    """

    def __init__(self, store: Store, of_store: _Handlers, scheme: str, handler: Handler) -> None:
        self._store = store  # who keeps a subscription keeps its store, and so the handler
        self._handlers = of_store
        self._handler = handler
        self.scheme = scheme

    def __repr__(self) -> str:
        return f"<Subscription to {self.scheme}:>"

    def close(self) -> None:
        """Remove the handler: the messages of its scheme wait in the store from now on.

        Example:
            >>> import resonate_core as rc
            >>> rc.Store(clock=rc.ManualClock()).on_message("local", print).close()
        """
        if self._handlers.handlers.get(self.scheme) is self._handler:
            del self._handlers.handlers[self.scheme]
            for reference in _end_listeners.get(self._store, ()):
                listener = reference()
                if listener is not None:
                    listener()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _handlers_of(store: Store) -> _Handlers | None:
    found: _Handlers | None = store._attached.get(_NAME)
    return found


def on_message(store: Store, scheme: str, handler: Handler, background: bool | None) -> Subscription:
    """Register a handler: `Store.on_message`."""
    if not _SCHEME.fullmatch(scheme):
        raise Invalid(f"scheme must be the text before the colon of an address, such as 'local', got {scheme!r}")
    if not callable(handler):
        raise TypeError(f"handler must be callable, got {handler!r}")
    of_store = _handlers_of(store)
    if of_store is None:
        of_store = store._attached.setdefault(_NAME, _Handlers(store))  # that of another thread, if it was faster
        _all.add(of_store)
    if scheme in of_store.handlers:
        raise Invalid(f"scheme is {scheme!r}, and has a handler; close its subscription first")
    of_store.handlers[scheme] = handler
    if background or (background is None and not isinstance(store.clock, ManualClock)):
        of_store.start(store)
    return Subscription(store, of_store, scheme, handler)


def deliver(store: Store) -> int:
    """Deliver the waiting messages: `Store.deliver`."""
    of_store = _handlers_of(store)
    return of_store.deliver(store) if of_store is not None else 0


def handled_schemes(store: Store) -> frozenset[str]:
    """Return the schemes that have a handler in this process."""
    of_store = _handlers_of(store)
    return frozenset(of_store.handlers) if of_store is not None else frozenset()


def on_handler_end(store: Store, listener: Callable[[], None]) -> None:
    """Call a method, in any thread, after each removal of a handler of the store. Its object is not kept alive."""
    _end_listeners.setdefault(store, []).append(WeakMethod(listener))
