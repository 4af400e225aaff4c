"""The commands of a page, and a shell that runs them one after the other."""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: A session: each command begins with `$ `, and below it is what it prints.
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Commands, one a line, of which the page does not show what they print.
SCRIPT = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: A file that the page shows whole; of settings.py, which Django makes, it shows what is added.
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- end of command --"
INSTANT = (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3}Z?"), "INSTANT")
MILLISECONDS = (re.compile(r"\b\d{13}\b"), "MS")
PROCESS = (re.compile(r"\bprocess \d+"), "PROCESS")
# What differs from run to run, and what stands for it on both sides. The order counts: an instant contains a day and figures.
CHANGING = [
    INSTANT,
    MILLISECONDS,
    PROCESS,
    (re.compile(r"\b\d{4,6} bytes"), "BYTES"),
    (re.compile(r"\bin \d+\.\d\ds(?: \(.*\))?"), "in SECONDS"),
]
# The page of the command line shows durations and figures everywhere.
CHANGING_IN_CLI = [
    INSTANT,
    PROCESS,
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    MILLISECONDS,
    (re.compile(r'"durationMs": \d+'), "DURATION"),
    (re.compile(r"Errno \d+"), "ERRNO"),
    (re.compile(r"\b\d+(\.\d+)?(ms|s|m|h|d)( \d+[smh])?\b"), "LENGTH"),
    (re.compile(r"\b\d+\.\d+\b"), "FIGURE"),
    (re.compile(r"^(promise\.\w+|all)\t(\d+)\t\d+\t", re.MULTILINE), r"\1\t\2\tRATE\t"),
    (re.compile(r"\b\d+ bytes before, \d+ after|\b\d{4,6} bytes"), "BYTES"),
]


@dataclass(frozen=True)
class Command:
    """What a reader types, or the file that a reader writes."""

    text: str
    #: What the page shows below it; None where it shows nothing.
    shown: str | None
    line: int


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit status."""

    printed: str
    status: int


def commands(page: str, *patterns: re.Pattern[str]) -> list[Command]:
    """Returns each command of a page's blocks in order; a file that the page shows is a command that writes it."""
    found: list[Command] = []
    for match in sorted((match for pattern in patterns for match in pattern.finditer(page)), key=lambda match: match.start()):
        line = page.count("\n", 0, match.start()) + 2
        if match.re is FILE:
            into = ">>" if match[1].endswith("settings.py") else ">"
            found.append(Command(f"cat {into}{match[1]} <<'END OF FILE'\n{match[2]}END OF FILE", "", line))
            continue
        for number, text in enumerate(match[1].splitlines(), start=line):
            if match.re is SCRIPT:
                found.append(Command(text, None, number))
            elif text.startswith("$ "):
                found.append(Command(text[2:], "", number))
            else:
                last = found.pop()
                found.append(Command(last.text, f"{last.shown}{text}\n", last.line))
    return found


def run_all(asked: Iterable[str], folder: Path, environment: Mapping[str, str], timeout: float = 300) -> list[Done]:
    """Runs the commands one after the other in one shell, then ends the processes that they left running."""
    script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n" + "".join(f'{command}\necho "{MARK} $?"\n' for command in asked)
    shell = subprocess.Popen(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=timeout)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    parts = re.split(rf"{MARK} (\d+)\n", printed)
    return [Done(text, int(status)) for text, status in zip(parts[::2], parts[1::2])]


def same(wanted: str, seen: str, changing: Iterable[tuple[re.Pattern[str], str]] = CHANGING) -> bool:
    """Whether a command printed what its page shows."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(steady(wanted, changing), steady(seen, changing), flags)


def steady(text: str, changing: Iterable[tuple[re.Pattern[str], str]] = CHANGING) -> str:
    """Replaces what differs between runs."""
    for pattern, stands in changing:
        text = pattern.sub(stands, text)
    return text


def patient(text: str) -> str:
    """The command with more time on a machine that is busy."""
    text = text.replace("--max-time 1 ", "--max-time 4 ").replace("--retry 20 ", "--retry 60 ")
    return text.replace("--requests 80 ", "--requests 80 --patience 30s ")
