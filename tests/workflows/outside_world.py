"""The world outside of a workflow in a random run: the effects of its steps, and those who send messages and settle promises."""

from __future__ import annotations

import contextlib
import heapq
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from random_programs import Node, expected, must, of_program

import resonate_core as rc
from resonate_core.worker.context import JobContext, current

__all__ = ["Effect", "Outside"]

_FINAL = ("completed", "failed", "archived", "cancelled", "expired")


@dataclass
class Effect:
    """One run of the function of a step, or of a handler.

    Attributes:
        job: Of the attempt.
        version: Of the attempt.
        outcome: `done`, `raised`, or None while it runs, or if it was interrupted.
        zombie: Whether the attempt had lost its job when it began.
    """

    job: str
    version: int
    argument: Any
    zombie: bool
    slow: bool
    outcome: str | None = None


@dataclass(order=True)
class _Deed:
    at: int
    number: int
    what: str = field(compare=False)
    of: tuple[Any, ...] = field(compare=False)


class Outside:
    """The world outside, as it is for all processes of a run.

    Args:
        program: The program of the workflow.
        id: Of its job.
        pause: The longest pause within a step, in seconds; 0: none.

    Attributes:
        store: Without faults.
        errors: What must not happen, and did.
        ended: The state of the workflow in the end, and its value; of one that failed, the code.
        version: Of the code: 1 asks `patched`, 0 is from before that.
    """

    def __init__(self, program: Node, id: str = "w", pause: float = 0) -> None:
        self.program = program
        self.id = id
        self.pause = pause
        self.store: Any = None
        self.ended: tuple[str, Any] | None = None
        self.errors: list[str] = []
        self.effects: dict[str, list[Effect]] = {}
        self.failures: Counter[str] = Counter()
        self.slow: Counter[str] = Counter()
        self.version = 1
        self._deeds: list[_Deed] = []
        self._known: set[Any] = set()
        self._number = 0
        self._lock = threading.RLock()

    def open(self, store: Any) -> None:
        """Begin with a store: make the promises that the program asks for, and send some messages before it begins."""
        self.store = store
        for node, run, _ in of_program(self.program, ""):
            if node["do"] == "result" and node["outcome"] != "missing":
                id = self.external(node, run)
                timeout = node["ms"] + 1 if node["outcome"] == "timeout" else None
                store.promises.create(id, timeout=timeout if timeout is not None else 1 << 50)
                if node["outcome"] != "timeout":
                    self._later(node["ms"], id, "settle", id, node["outcome"], node["key"])

    @staticmethod
    def external(node: Node, run: str) -> str:
        """The id of a promise of another program."""
        return f"x-{node['key']}{run}"

    def _later(self, delay: int, key: Any, what: str, *of: Any) -> None:
        with self._lock:
            if (what, key) in self._known:
                return
            self._known.add((what, key))
            self._number += 1
            heapq.heappush(self._deeds, _Deed(self.store.now + delay, self._number, what, of))

    # -- what the program asks for ---------------------------------------------------------------------------------------

    def hand(self, key: str, id: str, outcome: str, value: Any, delay: int, early: bool = False) -> None:
        """Take the id of a promise, to settle it later; `early`: it may not be made yet."""
        if outcome != "timeout":
            self._later(delay, key, "settle_early" if early else "settle", id, outcome, value)

    def demand(self, id: str, topic: str, value: Any, delay: int) -> None:
        """Send a message later, which the workflow waits for."""
        self._later(delay, topic, "send", id, topic, value)

    def cancel(self, id: str, delay: int) -> None:
        """Cancel a workflow later."""
        self._later(delay, id, "cancel", id)

    # -- what it does ----------------------------------------------------------------------------------------------------

    @property
    def next_at(self) -> int | None:
        """When something is to be done next."""
        return self._deeds[0].at if self._deeds else None

    def act(self) -> None:
        """Do what is due."""
        while self._deeds and self._deeds[0].at <= self.store.now:
            deed = heapq.heappop(self._deeds)
            with contextlib.suppress(rc.errors.NotFound, rc.errors.Conflict):
                getattr(self, f"_{deed.what}")(*deed.of)

    def _settle(self, id: str, outcome: str, value: Any) -> None:
        promises = self.store.promises
        if outcome == "resolve":
            promises.resolve(id, value)
        elif outcome == "reject":
            promises.reject(id, "refused")
        else:
            promises.cancel(id)

    def _settle_early(self, id: str, outcome: str, value: Any, wait: int = 1000) -> None:
        try:
            self._settle(id, outcome, value)
        except rc.errors.NotFound:
            if wait < 1000 * 2**9:
                self._later(wait, (id, wait), "settle_early", id, outcome, value, 2 * wait)

    def _send(self, id: str, topic: str, value: Any) -> None:
        self.store.jobs.send(id, topic, value, key="once")

    def _cancel(self, id: str) -> None:
        self.store.jobs.cancel(id)

    # -- effects ---------------------------------------------------------------------------------------------------------

    def begin(self, key: str, name: str | None, argument: Any = None, slow: bool = False) -> Effect:
        """Note that an effect begins.

        Args:
            key: Of the effect.
            name: Of the step; None: it is that of a job.
            argument: What the step was given.
            slow: Whether it takes longer than its timeout.
        """
        context = current.get()
        assert isinstance(context, JobContext)
        job, version = context.job.id, context.job.version
        with self._lock:
            return self._begun(key, name, argument, slow, job, version)

    def _begun(self, key: str, name: str | None, argument: Any, slow: bool, job: str, version: int) -> Effect:
        known = self.effects.setdefault(key, [])
        made = Effect(job, version, argument, not self._holds(job, version), slow)
        if known and known[0].argument != argument:
            self.errors.append(f"{key} was given {known[0].argument!r}, and then {argument!r}")
        if not made.zombie and name is not None and self._is_recorded(job, name):
            self.errors.append(f"{key} runs in version {version}, and is recorded already")
        for each in known:
            if each.version == version and each.job == job and each.outcome != "raised" and not each.slow:
                self.errors.append(f"{key} runs again in version {version}, and it {each.outcome or 'is running'}")
        known.append(made)
        return made

    def _holds(self, id: str, version: int) -> bool:
        try:
            job = self.store.jobs.get(id)
        except rc.errors.NotFound:
            return False
        return bool(job.version == version and job.state == "running")

    def _is_recorded(self, job: str, name: str) -> bool:
        return any(each.tags.get("resonate:name") == name and each.state != "pending" for each in history(self.store, job))

    # -- the judgement ---------------------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether all jobs are final."""
        return all(job.state in _FINAL for job in self.store.jobs.search(limit=1000))

    def _outcome(self) -> tuple[str, Any]:
        job = self.store.jobs.get(self.id)
        if job.state == "completed":
            return "completed", job.result.json()
        error = job.error or {}
        return job.state, error.get("code") if job.state != "cancelled" else None

    def judge(self, exactly: bool) -> None:
        """Note what is wrong at the end of a run.

        Args:
            exactly: Whether nothing crashed: then each effect happened exactly as often as the program says.
        """
        self.ended = self._outcome()
        if self.ended != expected(self.program):
            self.errors.append(
                f"it has ended as {self.ended}, expected {expected(self.program)}; {self.store.jobs.get(self.id).error}"
            )
        for key, times in must(self.program).items():
            found = len(self.effects.get(key, ()))
            if times == 0 and found:
                self.errors.append(f"{key} ran, and nobody has awaited it")
            elif times and not found and self.program["ends"] != "never":
                self.errors.append(f"{key} never ran")
            elif exactly and times is not None and found != times:
                self.errors.append(f"{key} ran {found} times, expected {times}")
        for job in self.store.jobs.search(limit=1000):
            if job.state not in _FINAL:
                self.errors.append(f"{job.id} is stuck: {job.state}, it awaits {job.awaits}")
            self._judge_history(job)
        self.errors += [f"{each.name}: {each.detail}" for each in self.store.check()]

    def _judge_history(self, job: Any) -> None:
        effects = {key: found for key, found in self.effects.items() if found[0].job == job.id}
        for record in history(self.store, job.id):
            if record.state == "pending" and job.state == "completed" and ":@" not in record.id:
                self.errors.append(f"record {record.id} {record.tags.get('resonate:name')} is pending")
            name = record.tags.get("resonate:name", "")
            if not name.startswith("s") or not name[1:].isdecimal():
                continue
            outcomes = [each.outcome for key, found in effects.items() if key.split("@")[0] == name for each in found]
            if record.state == "resolved" and "done" not in outcomes:
                self.errors.append(f"record {record.id} of step {name} is resolved, and its runs have ended as {outcomes}")


def history(store: Any, id: str) -> list[Any]:
    """All children of a job."""
    found: list[Any] = []
    cursor = None
    while True:
        page = store.jobs.history(id, limit=1000, cursor=cursor)
        found += page
        cursor = page.cursor
        if cursor is None:
            return found
