"""The options of jobs, described once: for `jobs enqueue`, for the jobs of schedules, and for the defaults of queues."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from resonate_core.base.states import JOB_STATES
from resonate_core.cli.completion import job_states, job_types, queues
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.notation import read_policy
from resonate_core.cli.values import duration, one_of

__all__ = ["CHOICES", "DEFAULTS", "GROUP", "JOB_STATE", "OF_A_JOB", "QUEUE", "TYPE", "members", "parameters"]

QUEUE = Annotated[str | None, typer.Option("--queue", "-q", metavar="NAME", help="jobs of this queue", autocompletion=queues)]
TYPE = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="jobs of this type", autocompletion=job_types)]
GROUP = Annotated[str | None, typer.Option("--group", metavar="TEXT", help="jobs of this group")]
JOB_STATE = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help=f"{', '.join(JOB_STATES[:-1])} or {JOB_STATES[-1]}",
        autocompletion=job_states,
    ),
]

#: Metavar and help of each option, by its name; without a metavar it is a switch.
_OPTIONS = {
    "priority": ("NUMBER", "1 (first) to 100 (last)"),
    "process_in": ("LENGTH", "not before this has passed: 90s, 2h, or ms"),
    "good_for": (
        "LENGTH",
        "it expires if its first attempt has not started this long after it first becomes runnable: 90s, 2h, or ms",
    ),
    "timeout": ("LENGTH", "longest duration of one attempt: 90s, 5m, or ms"),
    "retention": ("LENGTH", "how long it is kept after it completed: 0, 2h, 7d, or keep (until deleted)"),
    "max_retries": ("NUMBER", "number of retries"),
    "retry_policy": ("POLICY", "asynq; fixed:10s,1m,10m; exponential:1s,factor=2,cap=1h,jitter=0.1; or JSON, @file, -"),
    "retry_on": ("CODE", "only errors with this code are retried; needs a retry policy; may be repeated"),
    "on_exhausted": ("STATE", "state after the last retry failed: archived or failed"),
    "lifecycle": ("NAME", "preset of defaults: asynq, horsies or workflow"),
    "unique_key": ("TEXT", "at most one job of the queue holds a key"),
    "unique_for": ("LENGTH", "how long it holds the key at most: 10m, or ms"),
    "group": ("TEXT", "it waits for other jobs of its queue, type and group"),
    "cancel_with_awaiters": ("", "whether it is cancelled when a workflow that awaits it is cancelled"),
}
#: The texts that an option may have.
CHOICES = {"on_exhausted": ("archived", "failed"), "lifecycle": ("asynq", "horsies", "workflow")}
_TYPES: dict[str, Any] = {"NUMBER": int | None, "CODE": list[str] | None, "": bool | None}
#: The options of a job, and those that a queue may have as defaults of its jobs (JOBS 2).
OF_A_JOB = tuple(_OPTIONS)
DEFAULTS = ("priority", "timeout", "retention", "max_retries", "retry_policy", "retry_on", "on_exhausted", "cancel_with_awaiters")


def _flag(name: str, prefix: str) -> str:
    return f"--{prefix}{name}".replace("_", "-")


def parameters(names: Sequence[str], prefix: str = "", panel: str | None = None) -> list[inspect.Parameter]:
    """Make the parameters of a command for these options.

    Args:
        names: The options.
        prefix: The beginning of their names in this command.
        panel: The heading of these options in the help.
    """
    made = []
    for name in names:
        metavar, text = _OPTIONS[name]
        flag = _flag(name, prefix) if metavar else f"{_flag(name, prefix)}/{_flag(name, 'no_' + prefix)}"
        option = typer.Option(flag, metavar=metavar or None, help=text, show_default=False, rich_help_panel=panel)
        kind: Any = _TYPES.get(metavar, str | None)
        made.append(
            inspect.Parameter(prefix + name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])
        )
    return made


def members(given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the members of a request for the options that were given (JOBS 2).

    Args:
        given: The arguments of a command with `parameters`.
        prefix: The beginning of their names.

    Raises:
        CommandFailed: An option cannot be read, or codes are given without a policy (USAGE).

    Example:
        >>> from resonate_core.cli.jobs_options import members
        >>> members({"priority": 1, "timeout": "30s", "retention": "keep", "max_retries": None, "on_exhausted": "failed"})
        {'priority': 1, 'timeout': 30000, 'retention': None, 'onExhausted': 'failed'}
    """
    options = {name.removeprefix(prefix): value for name, value in given.items() if value not in (None, [])}
    codes = options.pop("retry_on", None)
    if codes and "retry_policy" not in options:
        raise CommandFailed(f"{_flag('retry_on', prefix)} is for {_flag('retry_policy', prefix)}", Exit.USAGE)
    made: dict[str, Any] = {}
    for name, value in options.items():
        if name == "retry_policy":
            value = read_policy(value, _flag(name, prefix), codes)
        elif name == "retention" and value == "keep":
            value = None
        elif name in CHOICES:
            one_of(value, _flag(name, prefix), CHOICES[name])
        elif _OPTIONS[name][0] == "LENGTH":
            value = duration(value, _flag(name, prefix))
        first, *rest = name.split("_")
        made[first + "".join(map(str.capitalize, rest))] = value
    return made
