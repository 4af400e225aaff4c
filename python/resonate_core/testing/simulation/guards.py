"""Replaces or refuses the sources of chance of a program while a simulation runs.

Clocks show the time of the simulation, chance comes from the choices of the run, and threads, sockets and programs are refused with an
error that names the line. Other threads of the test, such as a progress display, keep the real ones.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import functools
import gc
import importlib
import os
import random
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .errors import NotSimulated
from .logged import LoggedAttempts, quiet

if TYPE_CHECKING:
    from ..choices import Choices
    from .world_interface import WorldInterface

__all__ = ["Guards", "guarded"]

_ASYNC = "use `await asyncio.sleep(...)` in an asynchronous function"
_THREADS = "use asyncio tasks, or `asyncio.to_thread`, which runs the function as one step"
_NET = "use `world.http(app)`, or give the program a function that the test replaces"


def _seconds(micros: Callable[[], int]) -> float:
    return micros() / 1_000_000


def _nanoseconds(micros: Callable[[], int]) -> int:
    return micros() * 1000


def _forget_methods(kind: type) -> None:
    """Have the interpreter look up the methods of a type again."""
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


class Guards:
    """The replacements of one run."""

    def __init__(self, choices: Choices) -> None:
        self._thread = threading.get_ident()
        self._undo: list[Callable[[], None]] = []
        self._world: WorldInterface | None = None
        self._of_anyio = False
        # Not the generator of the module: the program may draw from that in any order.
        self._chance = random.Random(choices.integer(0, (1 << 32) - 1, "entropy"))
        self._state = random.getstate()
        random.seed(self._chance.getrandbits(64))

    @property
    def world(self) -> WorldInterface | None:
        """The simulation, once it is made."""
        return self._world

    def of_world(self, world: WorldInterface) -> None:
        """Show the time of a simulation from now on."""
        self._world = world

    # -- what replaces --------------------------------------------------------------------------------------------------

    def _micros(self) -> int:
        """The time of the process that runs, in microseconds since the epoch."""
        world = self._world
        if world is None:
            return 0
        return world._loop.micros + world._loop.incarnation.skew * 1000

    def _monotonic(self) -> int:
        return 0 if self._world is None else self._world._loop.micros

    def _entropy(self, size: int) -> bytes:
        return self._chance.getrandbits(8 * size).to_bytes(size, "big") if size else b""

    def _uuid1(self, node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
        return uuid.UUID(bytes=self._entropy(16), version=1)

    # -- install --------------------------------------------------------------------------------------------------------

    def replace(self, owner: Any, name: str, new: Callable[..., Any]) -> None:
        """Call another function in the thread of the simulation."""
        missing = name not in vars(owner)
        old = getattr(owner, name)
        thread, ident = self._thread, threading.get_ident

        def chosen(*args: Any, **kwargs: Any) -> Any:
            return new(*args, **kwargs) if ident() == thread else old(*args, **kwargs)

        setattr(owner, name, chosen)
        self._undo.append((lambda: delattr(owner, name)) if missing else (lambda: setattr(owner, name, old)))

    def refuse(self, owner: Any, name: str, what: str, instead: str) -> None:
        """Refuse a function in the thread of the simulation."""

        def refused(*args: Any, **kwargs: Any) -> Any:
            error = NotSimulated(what, instead)
            if self._world is not None:
                self._world._fail(error)
            raise error

        self.replace(owner, name, refused)

    def install(self) -> None:
        """Replace what is replaced, and refuse the rest."""
        clocks = {"time": self._micros, "monotonic": self._monotonic, "perf_counter": self._monotonic}
        for name, read in clocks.items():
            self.replace(time, name, functools.partial(_seconds, read))
            self.replace(time, f"{name}_ns", functools.partial(_nanoseconds, read))
        self.replace(os, "urandom", self._entropy)
        self.replace(random, "_urandom", self._entropy)
        self.replace(uuid, "uuid1", self._uuid1)
        seed = random.Random.seed

        def seeded(generator: random.Random, a: Any = None, version: int = 2) -> None:
            seed(generator, self._chance.getrandbits(64) if a is None else a, version)

        self.replace(random.Random, "seed", seeded)
        self.replace(socket, "gethostname", lambda: "simulated")
        self.refuse(time, "sleep", "time.sleep", _ASYNC)
        self.refuse(threading.Thread, "start", "a thread", _THREADS)
        self.refuse(subprocess, "Popen", "a program of its own (subprocess)", "give the program a function that the test replaces")
        self.refuse(os, "fork", "os.fork", "processes of a simulation are those of `world.process`")
        for name in ("connect", "connect_ex", "bind", "sendto"):
            self.refuse(socket.socket, name, f"a socket ({name})", _NET)
        self.refuse(socket, "getaddrinfo", "a look-up of a host (socket.getaddrinfo)", _NET)
        self._replace_now()
        self.replace_threads_of_anyio()

    def _replace_now(self) -> None:
        """`datetime.now` is a method of a type of C, whose dictionary only its proxy shows. Without it, the test keeps the real one."""
        if sys.implementation.name != "cpython":
            return
        kind = datetime.datetime
        members: Any = gc.get_referents(kind.__dict__)[0]
        if type(members) is not dict:
            return
        thread, ident = self._thread, threading.get_ident

        def replaced(name: str, made: Callable[..., datetime.datetime]) -> None:
            old = members[name]

            def chosen(cls: type[datetime.datetime], *args: Any, **kwargs: Any) -> datetime.datetime:
                if ident() != thread:
                    real: datetime.datetime = old.__get__(None, cls)(*args, **kwargs)
                    return real
                return made(cls, *args, **kwargs)

            def undo() -> None:
                members[name] = old
                _forget_methods(kind)

            members[name] = classmethod(chosen)
            self._undo.append(undo)

        def now(cls: type[datetime.datetime], tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return cls.fromtimestamp(self._micros() / 1_000_000, tz)

        def utcnow(cls: type[datetime.datetime]) -> datetime.datetime:
            return cls.fromtimestamp(self._micros() / 1_000_000, datetime.timezone.utc).replace(tzinfo=None)

        replaced("now", now)
        replaced("utcnow", utcnow)
        _forget_methods(kind)

    def replace_threads_of_anyio(self) -> None:
        """Synchronous endpoints of Starlette and FastAPI run in threads of anyio, which loads its back end at first use."""
        if self._of_anyio or "anyio" not in sys.modules:
            return
        backend = importlib.import_module("anyio._backends._asyncio")
        self._of_anyio = True

        async def inline(func: Any, args: tuple[Any, ...], *rest: Any, **options: Any) -> Any:
            assert self._world is not None
            return await self._world._loop.run_in_executor(None, func, *args)

        owner = backend.AsyncIOBackend
        plain = owner.__dict__["run_sync_in_worker_thread"]
        setattr(owner, "run_sync_in_worker_thread", staticmethod(inline))  # noqa: B010
        self._undo.append(lambda: setattr(owner, "run_sync_in_worker_thread", plain))

    def remove(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()
        random.setstate(self._state)


@contextlib.contextmanager
def guarded(choices: Choices, logged: LoggedAttempts) -> Iterator[Guards]:
    """Replace or refuse what is not deterministic, as long as the block runs.

    Args:
        choices: Those of the run.
        logged: Which failed attempts of the run are logged.
    """
    guards = Guards(choices)
    try:
        guards.install()
        with quiet(logged, lambda: guards.world):
            yield guards
    finally:
        guards.remove()
