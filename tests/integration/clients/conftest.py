"""Adds the logs of the processes to the report of a failure, and prints the tables of clients and programs at the end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from integration.clients.published import CLIENTS, version
from integration.clients.scene import FILE, Scenes
from integration.clients.table import PROGRAMS

RESULTS = {"passed": "ok", "failed": "FAILED", "error": "ERROR", "skipped": "skipped"}


@pytest.fixture
def scenes(tmp_path: Path) -> Generator[Scenes, None, None]:
    """Makes the scenes of a test."""
    made = Scenes(tmp_path)
    yield made
    made.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the logs of the processes to the report of a failure."""
    report = yield
    made = getattr(item, "funcargs", {}).get("scenes")
    if report.failed and made is not None:
        made.failed = True
        for scene in made.made:
            report.sections += [(f"log of {name}", log) for name, log in scene.logs().items()]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints a table for each deployment: client × program."""
    tables: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    limits = {(client, program.name): limit for program in PROGRAMS for client, limit in program.limits.items()}
    names = "|".join(re.escape(client.name) for client in sorted(CLIENTS, key=lambda client: -len(client.name)))
    for outcome, word in RESULTS.items():
        for report in terminalreporter.stats.get(outcome, []):
            found = re.search(rf"clients/test_programs\.py::test_program(?:_on_(\w+))?\[({names})-(.*)\]$", report.nodeid)
            if found:
                seconds = f" {report.duration:.1f} s" if outcome == "passed" else ""
                cell = (found[2], found[3])
                tables[found[1] or FILE.name][cell] = word + seconds + (" (limit)" if cell in limits else "")
    for deployment, cells in tables.items():
        terminalreporter.section(f"published clients: {deployment}")
        _line(terminalreporter, "program", *(client.name for client in CLIENTS))
        _line(terminalreporter, "", *("missing" if client.missing else version(client) for client in CLIENTS))
        for name in dict.fromkeys(program.name for program in PROGRAMS):
            _line(terminalreporter, name, *(cells.get((client.name, name), "not run") for client in CLIENTS))
    for (client, program), limit in limits.items() if tables else ():
        terminalreporter.write_line(f"limit of {client} in {program}: {limit.reason}")

    _own_tests(terminalreporter)


def _own_tests(terminalreporter: Any) -> None:
    """Prints how many of its own tests each compiled SDK has passed, or why it was skipped."""
    lines: dict[str, str] = {}
    for outcome, word in RESULTS.items():
        for report in terminalreporter.stats.get(outcome, []):
            found = re.search(r"clients/test_own_tests\.py::test_\w+\[", report.nodeid)
            if found is None or (report.when != "call" and outcome == "passed"):
                continue
            told = dict(report.user_properties).get("own tests", "an example")
            reason = (
                f": {report.longrepr[2].removeprefix('Skipped: ')}" if outcome == "skipped" else f" {told}, {report.duration:.1f} s"
            )
            lines[report.nodeid.rpartition("::")[2]] = f"{word}{reason}"
    if lines:
        terminalreporter.section("published clients: their own tests and examples")
    for name, line in sorted(lines.items()):
        terminalreporter.write_line(f"{name}: {line}")


def _line(terminalreporter: Any, *cells: str) -> None:
    terminalreporter.write_line("".join(f"{cell:23}" for cell in cells).rstrip())
