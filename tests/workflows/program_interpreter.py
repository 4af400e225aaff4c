"""Runs a random program as a workflow: `async def program` and `def blocking_program` do what its statements say."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

from outside_world import Outside
from random_programs import FOREVER, MASKED, Node

from resonate_core.worker import JobContext, JobError, Worker
from resonate_core.workflow import (
    StepTimeout,
    blocking,
    first,
    gather,
    now,
    patched,
    promise,
    random,
    receive,
    result,
    run,
    sleep,
    sleep_until,
    start_over,
    step,
    uuid4,
)

__all__ = ["register"]

_TIMEOUT = 5000


class Broken(Exception):
    """What a step raises."""


class Raised(JobError):
    """What a branch or a program raises."""

    def __init__(self) -> None:
        super().__init__("Raised", "on purpose")


def _instant(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


class _Interpreter:
    """What both interpreters share.

    Args:
        worker: Gets the workflows and the handler of their child jobs.
        outside: The world outside.
    """

    def __init__(self, worker: Worker, outside: Outside) -> None:
        self.outside = outside
        self.version = outside.version

        @worker.task("child", max_retries=1000, retry_policy={"kind": "fixed", "intervals": [1000]}, on_exhausted="failed")
        async def child(key: str, name: str, fails: int, always: bool) -> str:
            effect = outside.begin(key, None)
            await self.pause()
            if always or outside.failures[key] < fails:
                outside.failures[key] += 1
                effect.outcome = "raised"
                raise JobError("ChildBroken", "on purpose", retryable=not always)
            effect.outcome = "done"
            return name

        @worker.workflow("forever")
        async def forever() -> None:
            await receive("never")

        @worker.workflow("async")
        async def program(program: Node, run: str, job: JobContext, round: int = 1) -> Any:
            values = [await self.statement(node, f"{run}@{round}", job.id) for node in program["body"]]
            if round < program["rounds"]:
                start_over(program, run, round=round + 1)
            if program["ends"] == "raises":
                raise Raised
            if program["ends"] == "waits":
                outside.cancel(job.id, 1000)
                await receive("never")
            return values

        @worker.workflow("def")
        def blocking_program(program: Node, run: str, job: JobContext, round: int = 1) -> Any:
            values = [self.blocking_statement(node, f"{run}@{round}", job.id) for node in program["body"]]
            if round < program["rounds"]:
                blocking.start_over(program, run, round=round + 1)
            if program["ends"] == "raises":
                raise Raised
            if program["ends"] == "waits":
                outside.cancel(job.id, 1000)
                blocking.receive("never")
            return values

        self.child, self.forever = child, forever
        self.programs: dict[str, Any] = {"async": program, "def": blocking_program}

    # -- effects ---------------------------------------------------------------------------------------------------------

    async def pause(self, slow: bool = False) -> None:
        if slow:
            await asyncio.sleep(6 * _TIMEOUT / 1000)
        elif self.outside.pause:
            await asyncio.sleep(self.outside.pause)

    def step_of(self, node: Node, run: str) -> Any:
        """The function of a step."""
        outside, key = self.outside, f"{node['key']}{run}"
        slow = node["slow"] if outside.pause and node["how"] == "async" else 0

        def ended(effect: Any) -> str:
            if node["always"] or outside.failures[key] < node["fails"] - slow:
                outside.failures[key] += 1
                effect.outcome = "raised"
                if node["skips"]:
                    raise JobError("Broken", "on purpose", retryable=False)
                raise Broken("on purpose")
            effect.outcome = "done"
            return str(node["key"])

        async def asynchronous() -> str:
            is_slow = outside.slow[key] < slow
            outside.slow[key] += is_slow
            effect = outside.begin(key, node["key"], slow=is_slow)
            await self.pause(is_slow)
            return ended(effect)

        def synchronous() -> str:
            return ended(outside.begin(key, node["key"]))

        policy: dict[str, Any] = {"name": node["key"], "retries": node["retries"], "backoff": node["backoff"]}
        if slow:
            policy["timeout"] = _TIMEOUT
        return step(**policy)(asynchronous if node["how"] == "async" else synchronous)

    def note(self, key: str, name: str) -> Any:
        """A step that notes its argument: it must be the same in each run of it."""

        async def noted(argument: Any) -> None:
            self.outside.begin(key, name, argument).outcome = "done"

        return step(name=name)(noted)

    # -- an asynchronous program -----------------------------------------------------------------------------------------

    async def statement(self, node: Node, run: str, job: str) -> Any:
        """Do a statement; return its value."""
        try:
            return await self.perform(node, run, job)
        except (JobError, TimeoutError) as error:
            return ["failed", getattr(error, "code", type(error).__name__)]

    async def block(self, block: list[Node], run: str, job: str, raises: bool = False) -> list[Any]:
        values = [await self.statement(node, run, job) for node in block]
        if raises:
            raise Raised
        return values

    def call(self, node: Node, run_: str, job: str) -> Any:
        """Make a simple call."""
        kind, key = node["do"], node["key"]
        if kind == "step":
            function = self.step_of(node, run_)
            return run(function) if node["how"] == "def" else function()
        if kind == "sleep":
            return sleep(node["ms"])
        if kind == "sleep_until":
            return sleep_until(_instant(node["ms"]))
        if kind == "call":
            return self.child.call(f"{key}{run_}", key, node["fails"], node["always"])
        if kind == "receive":
            return receive(*self.topic(node, run_, job), **self.options(node))
        if kind == "result":
            return result(self.outside.external(node, run_), type=str)
        assert kind == "promise"
        return promise(type=str, timeout=node["ms"] if node["outcome"] == "timeout" else None)

    def topic(self, node: Node, run: str, job: str) -> list[str]:
        topic = f"{node['key']}{run}"
        if node["does"] == "sent":
            self.outside.demand(job, topic, node["key"], node["ms"])
        return [topic]

    def options(self, node: Node) -> dict[str, Any]:
        if node["does"] == "sent":
            return {"type": str}
        return {"timeout": node["ms"], **({"default": None} if node["does"] == "default" else {})}

    async def handed(self, node: Node, made: Any, run_: str) -> Any:
        """Hand a promise out, and wait for it."""
        if node["do"] == "promise":
            await run(self.hand, node, made.id, run_)
        return await made

    def hand(self, node: Node, id: str, run: str, early: bool = False) -> None:
        self.outside.hand(f"{node['key']}{run}", id, node["outcome"], node["key"], node["ms"], early)

    async def single(self, node: Node, run_: str, job: str) -> Any:
        """A simple call as a branch that is no coroutine, unless it is a promise, which is handed out."""
        return await self.handed(node, self.call(node, run_, job), run_)

    def branch(self, branch: Node, run_: str, job: str) -> Any:
        if "forever" in branch:
            return self.endless(branch, run_, job)
        if "block" in branch:
            return self.block(branch["block"], run_, job, branch.get("raises", False))
        node = branch["single"]
        return self.single(node, run_, job) if node["do"] == "promise" else self.call(node, run_, job)

    def endless(self, branch: Node, run_: str, job: str) -> Any:
        kind = branch["forever"]
        if kind == "promise":
            return promise()
        if kind == "call":
            return self.child.using(process_in=FOREVER).call(f"{branch['key']}{run_}", "never", 0, False)
        if kind == "receive":
            return receive(f"{branch['key']}{run_}")
        if kind == "sleep":
            return sleep(FOREVER)
        if kind == "workflow":
            return self.forever.call()

        async def endless() -> None:
            await self.block(branch["inner"], run_, job)
            await receive(f"{branch['key']}{run_}")

        return endless()

    async def perform(self, node: Node, run_: str, job: str) -> Any:
        kind = node["do"]
        if kind == "tick":
            await asyncio.sleep(0)
            return None
        if kind == "draw":
            drawn = {"now": now, "uuid4": uuid4, "random": random}[node["what"]]
            await self.note(f"{node['key']}{run_}", node["key"])(str(await drawn()))
            return MASKED
        if kind == "start":
            handle = self.child.start(f"{node['key']}{run_}", node["key"], node["fails"], False)
            return [await self.block(node["inner"], run_, job), await handle]
        if kind == "start_cancel":
            handle = self.cancelled(node, run_)
            inner = await self.block(node["inner"], run_, job)
            handle.cancel()
            try:
                await handle
            except JobError as error:
                return [inner, MASKED if node["what"] == "running" else ["failed", error.code]]
            return [inner, MASKED]
        if kind == "workflow":
            program = node["program"]
            return await self.programs[program["kind"]].call(program, f"{run_}/{node['key']}")
        if kind == "defer":
            call = self.call(node["call"], run_, job)
            inner = await self.block(node["inner"], run_, job)
            return [inner, await self.handed(node["call"], call, run_) if node["awaited"] else None]
        if kind == "patched":
            new = patched(node["name"]) if self.version else False
            await self.block(node["new"] if new else node["old"], run_, job)
            return MASKED
        if kind == "asyncio_gather":
            return list(await asyncio.gather(*[self.handed_by_promise(each, run_, job) for each in node["calls"]]))
        if kind in ("gather", "gather_fails"):
            return list(await gather(*[self.branch(each, run_, job) for each in node["branches"]]))
        if kind == "exceptions":
            found = await gather(*[self.branch(each, run_, job) for each in node["branches"]], return_exceptions=True)
            return [self.shown(each) for each in found]
        if kind == "first":
            return list(await first(*[self.branch(each, run_, job) for each in node["branches"]]))
        if kind == "race":
            index, _ = await first(*[self.branch(each, run_, job) for each in node["branches"]])
            await self.note(f"{node['key']}{run_}", node["key"])(index)
            return MASKED
        return await self.single(node, run_, job)

    def handed_by_promise(self, node: Node, run_: str, job: str) -> Any:
        """A call for `asyncio.gather`, which calls from its own tasks must not be made in: a promise is handed out by the code."""
        made = self.call(node, run_, job)
        if node["do"] == "promise":
            self.hand(node, made.id, run_, early=True)
        return made

    def cancelled(self, node: Node, run_: str) -> Any:
        """Start a job to be cancelled."""
        if node["what"] == "workflow":
            return self.forever.start()
        task = self.child.using(process_in=FOREVER) if node["what"] == "scheduled" else self.child
        return task.start(f"{node['key']}{run_}", node["key"], 0, False)

    @staticmethod
    def shown(found: Any) -> Any:
        if isinstance(found, StepTimeout):
            return ["failed", "StepTimeout"]
        return ["failed", getattr(found, "code", type(found).__name__)] if isinstance(found, BaseException) else found

    # -- a blocking program ----------------------------------------------------------------------------------------------

    def blocking_statement(self, node: Node, run: str, job: str) -> Any:
        """Do a statement; return its value."""
        try:
            return self.blocking_perform(node, run, job)
        except (JobError, TimeoutError) as error:
            return ["failed", getattr(error, "code", type(error).__name__)]

    def blocking_block(self, block: list[Node], run: str, job: str) -> list[Any]:
        return [self.blocking_statement(node, run, job) for node in block]

    def blocking_single(self, node: Node, run_: str, job: str) -> Any:
        kind, key = node["do"], node["key"]
        if kind == "step":
            return self.step_of({**node, "how": "def"}, run_)()
        if kind == "sleep":
            return blocking.sleep(node["ms"])
        if kind == "sleep_until":
            return blocking.sleep_until(_instant(node["ms"]))
        if kind == "receive":
            return blocking.receive(*self.topic(node, run_, job), **self.options(node))
        if kind == "result":
            return blocking.result(self.outside.external(node, run_), type=str)
        if kind == "call":
            return self.child.call(f"{key}{run_}", key, node["fails"], node["always"]).result()
        return self.handle(node, run_, job).result()

    def handle(self, node: Node, run_: str, job: str) -> Any:
        """The handle of a simple call that has one."""
        if node["do"] == "step":
            return blocking.start(self.step_of({**node, "how": "def"}, run_))
        if node["do"] == "call":
            return self.child.start(f"{node['key']}{run_}", node["key"], node["fails"], node["always"])
        assert node["do"] == "promise"
        made = blocking.promise(type=str, timeout=node["ms"] if node["outcome"] == "timeout" else None)
        blocking.run(self.hand, node, made.id, run_)
        return made

    def blocking_branch(self, branch: Node, run_: str, job: str) -> Any:
        if "forever" not in branch:
            return self.handle(branch["single"], run_, job)
        if branch["forever"] == "promise":
            return blocking.promise()
        return self.child.using(process_in=FOREVER).start(f"{branch['key']}{run_}", "never", 0, False)

    def blocking_perform(self, node: Node, run_: str, job: str) -> Any:
        kind = node["do"]
        if kind == "draw":
            drawn = {"now": blocking.now, "uuid4": blocking.uuid4, "random": blocking.random}[node["what"]]()
            blocking.run(self.blocking_note(f"{node['key']}{run_}", node["key"]), str(drawn))
            return MASKED
        if kind == "start":
            handle = self.child.start(f"{node['key']}{run_}", node["key"], node["fails"], False)
            return [self.blocking_block(node["inner"], run_, job), handle.result()]
        if kind == "start_cancel":
            handle = self.cancelled(node, run_)
            inner = self.blocking_block(node["inner"], run_, job)
            handle.cancel()
            try:
                handle.result()
            except JobError as error:
                return [inner, MASKED if node["what"] == "running" else ["failed", error.code]]
            return [inner, MASKED]
        if kind == "workflow":
            program = node["program"]
            return self.programs[program["kind"]].call(program, f"{run_}/{node['key']}").result()
        if kind == "defer":
            call = self.handle(node["call"], run_, job) if node["call"]["do"] in ("step", "call", "promise") else None
            inner = self.blocking_block(node["inner"], run_, job)
            return [inner, self.blocking_single(node["call"], run_, job) if call is None else call.result()]
        if kind == "patched":
            new = patched(node["name"]) if self.version else False
            self.blocking_block(node["new"] if new else node["old"], run_, job)
            return MASKED
        if kind in ("gather", "gather_fails"):
            return list(blocking.gather(*[self.blocking_branch(each, run_, job) for each in node["branches"]]))
        if kind == "exceptions":
            handles = [self.blocking_branch(each, run_, job) for each in node["branches"]]
            return [self.shown(each) for each in blocking.gather(*handles, return_exceptions=True)]
        if kind == "first":
            return list(blocking.first(*[self.blocking_branch(each, run_, job) for each in node["branches"]]))
        if kind == "race":
            index, _ = blocking.first(*[self.blocking_branch(each, run_, job) for each in node["branches"]])
            blocking.run(self.blocking_note(f"{node['key']}{run_}", node["key"]), index)
            return MASKED
        return self.blocking_single(node, run_, job)

    def blocking_note(self, key: str, name: str) -> Any:
        def noted(argument: Any) -> None:
            self.outside.begin(key, name, argument).outcome = "done"

        return step(name=name)(noted)


def register(worker: Worker, outside: Outside) -> Worker:
    """Register the workflows and handlers of programs with a worker; return it."""
    _Interpreter(worker, outside)
    return worker
