"""Messages handed to functions of this process: what `Store.on_message` and `Store.deliver` do."""

from __future__ import annotations

import atexit
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakMethod, ref

from ._core import ManualClock
from ._stopwatch import doubled, seconds
from ._wakeup import Wakeup
from .errors import Closed, Invalid

if TYPE_CHECKING:
    from ._core import Message, Store

__all__ = ["Subscription", "deliver", "handled_schemes", "on_message", "tell_of_ends"]

Handler = Callable[["Message"], object]

_log = logging.getLogger("resonate_core.delivery")

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
#: Seconds after which a message whose handler raised is handed to it again: doubled each time, up to the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0
#: How often a thread looks whether its store is still there, in seconds.
_LOOK = 1.0
#: How long a program that ends waits for a handler that is being called, in seconds.
_LAST_WORDS = 1.0


class _Failed:
    __slots__ = ("again_at", "failures")

    def __init__(self) -> None:
        self.failures = 0
        self.again_at = 0.0


class _Post:
    """The handlers of one store."""

    def __init__(self, store: Store) -> None:
        self.store = ref(store)
        self.handlers: dict[str, Handler] = {}
        self.failed: dict[int, _Failed] = {}  # by message
        self.thread: threading.Thread | None = None
        self.ending = False
        self.delivering = threading.Lock()
        self._deliverer: int | None = None  # the thread that holds it
        self.wakeup: Wakeup | None = None  # of the thread

    def deliver(self, store: Store, survived: type[BaseException] = Exception) -> int:
        """Hands out what waits now; how many messages were taken.

        Args:
            store: Whose messages.
            survived: What a handler may raise without ending it.

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
        waiting = store.messages(addresses=[f"{scheme}:*" for scheme in handlers])
        try:
            for message in waiting:
                if self.ending and threading.current_thread() is self.thread:
                    break
                if self._hand_over(message, handlers, survived):
                    done.append(message.number)
        finally:  # whatever ends it, what was taken was taken
            if done:
                store.acknowledge(done)
        self.failed = {message.number: self.failed[message.number] for message in waiting if message.number in self.failed}
        return len(done)

    def _hand_over(self, message: Message, handlers: dict[str, Handler], survived: type[BaseException]) -> bool:
        if message.stale:
            return True
        failed = self.failed.get(message.number)
        if failed is not None and failed.again_at > seconds():
            return False
        try:
            handlers[message.address.partition(":")[0]](message)
        except survived:
            failed = self.failed.setdefault(message.number, _Failed())
            pause = doubled(_FIRST_PAUSE, failed.failures, _LONGEST_PAUSE)
            failed.failures += 1
            failed.again_at = seconds() + pause
            _log.exception("the handler of %r raised for %s; it gets it again in %.1f s", message.address, message.key, pause)
            return False
        self.failed.pop(message.number, None)
        return True

    # -- in the background --------------------------------------------------------------------------------------------

    def start(self, store: Store) -> None:
        """Begins to deliver whenever a message is queued."""
        if self.wakeup is None:
            self.wakeup = Wakeup(store.watch)
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=_run, args=(ref(self), self.wakeup), name="resonate-messages", daemon=True)
            self.thread.start()
        self.wakeup.wake()

    def pause(self) -> float:
        """Seconds until a message that failed is to be tried again, or it is time to look around."""
        pauses = [failed.again_at - seconds() for failed in self.failed.values()]
        return max(0.0, min([_LOOK, *pauses]))


def _run(post: ref[_Post], wakeup: Wakeup) -> None:
    """The thread of a store's handlers. It ends with the store, or with the last handler."""
    while True:
        here = post()
        store = here.store() if here is not None else None
        if here is None or store is None or here.ending or not here.handlers:
            return
        wakeup.rearm(0)  # timers are somebody else's
        try:
            here.deliver(store, BaseException)  # what ends a thread, such as SystemExit, would end it for all later messages
        except Closed:
            return
        except Exception:
            _log.exception("messages could not be read or taken out of the store; trying again in %.0f s", _LOOK)
            time.sleep(_LOOK)
        pause = here.pause()
        del store, here  # neither is kept alive by a thread that waits
        wakeup.wait(pause)


_posts: WeakKeyDictionary[Store, _Post] = WeakKeyDictionary()
#: What is told that a handler was taken away: messages that were left to it are somebody else's now.
_told_of_ends: WeakKeyDictionary[Store, list[WeakMethod[Callable[[], None]]]] = WeakKeyDictionary()


@atexit.register
def _end_threads() -> None:
    """When the program ends: no handler is called any more, and one that is being called gets a moment to return."""
    posts = [post for post in list(_posts.values()) if post.thread is not None and post.thread.is_alive()]
    for post in posts:
        post.ending = True
        if post.wakeup is not None:
            post.wakeup.wake()
    for post in posts:
        if post.thread is not None and post.thread is not threading.current_thread():
            post.thread.join(_LAST_WORDS)


class Subscription:
    """A handler in its place; `Store.on_message` makes it. As a context manager it ends with its block.

    Example:
        >>> import resonate_core as rc
        >>> with rc.Store(clock=rc.ManualClock()).on_message("local", print) as subscription:
        ...     print(subscription)
        <Subscription to local:>
    """

    def __init__(self, post: _Post, scheme: str, handler: Handler) -> None:
        self._post = post
        self._handler = handler
        self.scheme = scheme

    def __repr__(self) -> str:
        return f"<Subscription to {self.scheme}:>"

    def close(self) -> None:
        """Ends it: the messages of its scheme wait in the store from now on.

        Example:
            >>> import resonate_core as rc
            >>> rc.Store(clock=rc.ManualClock()).on_message("local", print).close()
        """
        if self._post.handlers.get(self.scheme) is self._handler:
            del self._post.handlers[self.scheme]
            store = self._post.store()
            for one in _told_of_ends.get(store, ()) if store is not None else ():
                told = one()
                if told is not None:
                    told()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def on_message(store: Store, scheme: str, handler: Handler, background: bool | None) -> Subscription:
    """What `Store.on_message` gives."""
    if not _SCHEME.fullmatch(scheme):
        raise Invalid(f"scheme must be the text before the colon of an address, such as 'local', got {scheme!r}")
    if not callable(handler):
        raise TypeError(f"handler must be callable, got {handler!r}")
    post = _posts.get(store)
    if post is None:
        post = _posts[store] = _Post(store)
    if scheme in post.handlers:
        raise Invalid(f"scheme is {scheme!r}, and has a handler; close its subscription first")
    post.handlers[scheme] = handler
    if background or (background is None and not isinstance(store.clock, ManualClock)):
        post.start(store)
    return Subscription(post, scheme, handler)


def deliver(store: Store) -> int:
    """What `Store.deliver` does."""
    post = _posts.get(store)
    return post.deliver(store) if post is not None else 0


def handled_schemes(store: Store) -> frozenset[str]:
    """The schemes that have a handler in this process."""
    post = _posts.get(store)
    return frozenset(post.handlers) if post is not None else frozenset()


def tell_of_ends(store: Store, told: Callable[[], None]) -> None:
    """Has a method called, in any thread, whenever a handler of the store is taken away. Its object is not kept alive."""
    _told_of_ends.setdefault(store, []).append(WeakMethod(told))
