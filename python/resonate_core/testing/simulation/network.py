"""The network between processes and the store: requests and replies may be lost, late or doubled, and processes crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import InvariantViolation, StoreBusy, Unreachable
from .faults import Faults
from .incarnation import Crashed, Incarnation

if TYPE_CHECKING:
    from .loop import SimulationLoop
    from .world_interface import WorldInterface

__all__ = ["Network", "RequestLine", "unreachable"]

_T = TypeVar("_T")


def unreachable(text: str, *, executed: bool) -> Unreachable:
    """The error of a request that got no reply."""
    error = Unreachable(text)
    error.executed = executed
    return error


_FATES = {"lost": "lost", "unanswered": "executed, and its response is lost", "twice": "delivered twice"}


class Network:
    """Carries the requests of all processes to the store.

    Args:
        world: The simulation.

    Attributes:
        faults: What goes wrong.
        cut_off: The processes that are partitioned, each with the number of partitions that it is in.
    """

    def __init__(self, world: WorldInterface) -> None:
        self._world = world
        self._choices = world._choices
        self.faults = Faults()
        self._faulty = False
        self.cut_off: dict[str, int] = {}

    def set(self, faults: Faults) -> None:
        """Set the faults from now on."""
        self.faults = faults
        self._faulty = faults.any_of_requests

    def _concerns(self, incarnation: Incarnation) -> bool:
        return self._faulty and incarnation.name != "scenario" and self.faults.concern(incarnation.name)

    def _note(self, text: str) -> None:
        self._world._note(text)

    # -- requests that are made at once ---------------------------------------------------------------------------------

    def call_now(self, incarnation: Incarnation, what: str, execute: Callable[[], _T], *, reply_arrives: bool = False) -> _T:
        """Make a request and return its reply, within one step of the loop.

        Args:
            incarnation: Of the process.
            what: The request, for the story.
            execute: Executes it.
            reply_arrives: Whether its reply is never lost, and it is never delivered twice.

        Raises:
            Unreachable: The request or its reply was lost, or the process is partitioned.
            StoreBusy: The store was busy.
            Crashed: The process has crashed, and the caller is a function that this may leave.
        """
        if not (self._faulty or self.cut_off or incarnation.dead or incarnation.dying):
            return self._execute(execute)
        if incarnation.unwinds and (incarnation.dead or incarnation.dying):
            raise Crashed
        name = incarnation.name
        lost_reply = False
        if self._concerns(incarnation):
            faults, chance = self.faults, self._choices.chance
            if incarnation.mortal and chance(faults.crash, f"crash:{name}"):
                return self._crash_around(incarnation, what, execute)
            self._maybe_partition(incarnation)
            if name not in self.cut_off:
                if chance(faults.busy, "fault:busy"):
                    self._note(f"{name}: the store is busy and refuses {what}")
                    raise StoreBusy("the store was busy (simulated)")
                if chance(faults.lose_request, "fault:lose_request"):
                    self._note(f"{name}: the request {what} is lost")
                    raise unreachable(f"no reply to {what} (simulated: the request was lost)", executed=True)
                if not reply_arrives:
                    if chance(faults.duplicate, "fault:duplicate"):
                        self._duplicate(incarnation, what, execute)
                    lost_reply = chance(faults.lose_reply, "fault:lose_reply")
        if name in self.cut_off:
            raise unreachable(f"no reply to {what} (simulated: {name} is partitioned)", executed=True)
        result = self._execute(execute)
        if lost_reply:
            self._note(f"{name}: the reply to {what} is lost")
            raise unreachable(f"no reply to {what} (simulated: the reply was lost)", executed=True)
        return result

    def _crash_around(self, incarnation: Incarnation, what: str, execute: Callable[[], _T]) -> _T:
        """Crash before the request, or after it."""
        after = self._choices.integer(0, 1, "crash:when") == 1
        if not incarnation.unwinds:  # a function of the program, which ends at its next await
            self._world._crash(incarnation, f"after {what}")
            return self._execute(execute)
        if after:
            self._execute(execute)
        self._world._crash(incarnation, f"{'after' if after else 'before'} {what}")
        raise Crashed

    def _maybe_partition(self, incarnation: Incarnation) -> None:
        faults = self.faults
        if incarnation.name not in self.cut_off and self._choices.chance(faults.partition, "fault:partition"):
            self.cut(incarnation.name, self._choices.integer(1, max(1, faults.longest_partition), "delay"))

    def cut(self, name: str, length: int) -> None:
        """Partition a process from the store for so many ms."""
        self.cut_off[name] = self.cut_off.get(name, 0) + 1
        self._note(f"{name}: partitioned from the store for {length} ms")
        self._world._later(length, self.mend, name)

    def mend(self, name: str) -> None:
        """End one partition of a process."""
        left = self.cut_off.get(name, 0) - 1
        if left > 0:
            self.cut_off[name] = left
        elif self.cut_off.pop(name, None) is not None:
            self._note(f"{name}: the partition ends")
            self._world._wake(name)

    def _execute(self, execute: Callable[[], _T]) -> _T:
        try:
            return execute()
        except InvariantViolation as error:
            self._world._fail(error)
            raise

    def _duplicate(self, incarnation: Incarnation, what: str, execute: Callable[[], Any]) -> None:
        length = self._choices.integer(0, self.faults.longest_delay, "delay")
        self._note(f"{incarnation.name}: the request {what} is delivered twice, the second time {length} ms later")

        def again() -> None:
            loop = self._world._loop
            outer, loop.incarnation = loop.incarnation, incarnation
            try:
                self._execute(execute)
            except Exception as error:
                self._note(f"{incarnation.name}: the second {what} is refused: {error}")
            finally:
                loop.incarnation = outer

        self._world._later(length, again)

    # -- requests that take time ----------------------------------------------------------------------------------------

    def delay(self, incarnation: Incarnation, what: str) -> int:
        """Draw how late a request or a reply is, in ms."""
        faults = self.faults
        if not self._concerns(incarnation):
            return 0
        if self._choices.chance(faults.delay, "fault:delay"):
            length = self._choices.integer(1, max(1, faults.longest_delay), "delay")
            self._note(f"{incarnation.name}: {what} is {length} ms late")
            return length
        if self._choices.chance(faults.reorder, "fault:reorder"):
            return self._choices.integer(1, 5, "delay")
        return 0

    def patience(self, incarnation: Incarnation) -> int:
        """Draw how long a process waits for a reply that does not come, in ms."""
        return self._choices.integer(0, self.faults.timeout, "delay") if self.faults.timeout else 0

    async def fate(self, incarnation: Incarnation, what: str) -> str:
        """Draw the fate of a request over HTTP after its delay: ``""``, ``"lost"``, ``"unanswered"`` or ``"twice"``."""
        if not (self._faulty or self.cut_off):
            await asyncio.sleep(0)
            return ""
        await asyncio.sleep(self.delay(incarnation, what) / 1000)
        fate = ""
        if self._concerns(incarnation):
            faults, chance = self.faults, self._choices.chance
            if incarnation.mortal and chance(faults.crash, f"crash:{incarnation.name}"):
                self._world._crash(incarnation, f"before {what}")
                await never()
            self._maybe_partition(incarnation)
            if incarnation.name not in self.cut_off:
                for fault, name in (("lose_request", "lost"), ("lose_reply", "unanswered"), ("duplicate", "twice")):
                    if not fate and chance(getattr(faults, fault), f"fault:{fault}"):
                        fate = name
                        self._note(f"{incarnation.name}: {what} is {_FATES[name]}")
        if incarnation.name in self.cut_off:
            fate = "lost"
        if fate == "lost":
            await asyncio.sleep(self.patience(incarnation) / 1000)
        return fate

    async def call(self, incarnation: Incarnation, what: str, execute: Callable[[], _T]) -> _T:
        """Make a request and return its reply; either may take time. Raises as `call_now`, except for `Crashed`."""
        if not (self._faulty or self.cut_off or incarnation.dead):
            await asyncio.sleep(0)
            return self._execute(execute)
        await asyncio.sleep(self.delay(incarnation, what) / 1000)
        incarnation.unwinds = True
        try:
            result = self.call_now(incarnation, what, execute)
        except Crashed:
            await never()
            raise
        except Unreachable:
            incarnation.unwinds = False
            await asyncio.sleep(self.patience(incarnation) / 1000)
            raise
        finally:
            incarnation.unwinds = False
        late = self.delay(incarnation, f"the reply to {what}")
        if late:
            await asyncio.sleep(late / 1000)
        return result


async def never() -> None:
    """Wait for what never comes: the process has crashed."""
    await asyncio.get_running_loop().create_future()


class RequestLine:
    """The executor that a worker makes its requests with: each function is one step, late and lost as the network says.

    Args:
        network: Of the simulation.
        incarnation: Of the worker.
    """

    def __init__(self, network: Network, incarnation: Incarnation) -> None:
        self._network = network
        self._incarnation = incarnation
        self.lost = False  # a request of the function that runs got no reply

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Has nothing to end."""

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        """Not for a simulation: its event loop runs the functions."""
        raise RuntimeError("requests of a simulated worker are run by its event loop")

    def run_in_simulation(self, loop: SimulationLoop, function: Callable[..., _T], args: tuple[Any, ...]) -> asyncio.Future[_T]:
        """Run a function, as the loop does for an executor of its own."""
        future: asyncio.Future[_T] = loop.create_future()
        late = self._network.delay(self._incarnation, "a request")
        if late:
            loop.call_later(late / 1000, self._run, loop, future, function, args)
        else:
            loop.call_apart(f"{self._incarnation.name}:request", self._run, loop, future, function, args)
        return future

    def _run(self, loop: SimulationLoop, future: asyncio.Future[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if future.cancelled():
            return
        incarnation = self._incarnation
        self.lost = False
        incarnation.unwinds = True
        error: BaseException | None = None
        result = None
        try:
            result = function(*args)
        except Crashed:
            return
        except BaseException as raised:
            error = raised
        finally:
            incarnation.unwinds = False
        late = self._network.patience(incarnation) if self.lost else self._network.delay(incarnation, "a reply")
        if late:
            loop.call_later(late / 1000, _end, future, result, error)
        else:
            _end(future, result, error)


def _end(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
