"""The table: the programs that every published client runs on the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from integration.clients.scenarios import calls, failures, quickstart, surroundings, waiting
from integration.clients.scene import Scene


@dataclass(frozen=True)
class Limit:
    """A program that a client cannot run on any server.

    Attributes:
        reason: The reason.
        play: Runs the program, and checks the result that it has instead.
    """

    reason: str
    play: Callable[[Scene], None]


@dataclass(frozen=True)
class Program:
    """One row of the table.

    Attributes:
        name: The name in the test ids.
        play: Runs the program and checks the result.
        limits: The limits of clients, by client name.
    """

    name: str
    play: Callable[[Scene], None]
    limits: dict[str, Limit] = field(default_factory=dict)


NO_HEARTBEAT = Limit(
    "it sends heartbeats for tasks that it was sent, not for those that it creates itself by run",
    failures.long_run_without_heartbeat,
)


PROGRAMS = [
    Program("run", calls.run),
    Program("rpc", calls.rpc),
    Program("nested-and-parallel", calls.nested_and_parallel),
    Program("sleep", waiting.sleep),
    Program("human-in-the-loop", waiting.human_in_the_loop),
    Program("detached", waiting.detached),
    Program("schedule", waiting.schedule),
    Program("retries", calls.retries),
    Program("errors", calls.errors),
    Program("cancellation", waiting.cancellation),
    Program("heartbeats", failures.heartbeats),
    Program("long-run", failures.long_run, limits={"typescript-0.11": NO_HEARTBEAT, "typescript-0.11-async": NO_HEARTBEAT}),
    Program("worker-killed", failures.worker_killed),
    Program("server-killed", failures.server_killed),
    Program("streams", surroundings.streams),
    Program("tokens", surroundings.tokens),
    Program("quickstart", quickstart.quickstart),
    Program("quickstart-killed", quickstart.killed),
]
