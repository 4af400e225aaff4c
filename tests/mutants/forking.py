"""A plugin of pytest that collects the tests once and runs them in a fork for each mutant, until a test fails.

The C++ module reads RESONATE_MUTANT when it first runs a line with a mutant, and again after each fork.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PLAN = "RESONATE_MUTANTS_PLAN"
"""The environment variable with the path of the file that a `Plan` reads."""


class Plan:
    """The forks to run, and the file for the verdicts: one line of JSON for each fork.

    Attributes:
        forks: (number of the mutant, words that select its tests, in order) for each fork.
        jobs: The number of forks that run at once.
        longest: Seconds after which a fork is killed.
    """

    def __init__(self, file: Path) -> None:
        given = json.loads(file.read_text())
        self.forks: list[tuple[int, list[str]]] = [(number, words) for number, words in given["forks"]]
        self.jobs: int = given["jobs"]
        self.longest: float = given["longest"]
        self.verdicts = Path(given["verdicts"])


class Forks:
    """Runs the forks, several at once."""

    def __init__(self, plan: Plan, session: Any) -> None:
        self.plan = plan
        self.session = session
        self.running: dict[int, tuple[int, float, Path]] = {}
        memory = Path("/dev/shm")
        self.place = memory if memory.is_dir() and shutil.disk_usage(memory).free > 4 * 2**30 else None

    def run(self) -> None:
        """Runs all forks."""
        for number, words in self.plan.forks:
            while len(self.running) >= self.plan.jobs:
                self.wait()
            self.begin(number, words)
        while self.running:
            self.wait()

    def begin(self, number: int, words: list[str]) -> None:
        """Starts a fork, which runs the tests."""
        folder = Path(tempfile.mkdtemp(prefix="resonate-mutant-", dir=self.place))
        folder.chmod(0o755)  # some tests run as another user
        sys.stdout.flush()
        os.environ["RESONATE_MUTANT"] = str(number)  # for the fork
        child = os.fork()
        if child:
            self.running[child] = (number, time.monotonic(), folder)
            return
        try:
            os.setsid()
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
            self.test(self.chosen(words), folder / "now")
            (folder / "verdict").write_text("")
        finally:
            os._exit(0)

    def chosen(self, words: list[str]) -> list[Any]:
        """The tests whose ids match one of the words, in the order of the words."""
        ordered: dict[Any, None] = {}
        for word in words:
            folder, _, name = word.partition(" ")
            ordered.update(
                dict.fromkeys(item for item in self.session.items if item.nodeid.startswith(folder) and name in item.nodeid)
            )
        return list(ordered)

    def test(self, items: list[Any], now: Path) -> None:
        """Runs the tests; a test that fails ends the fork."""
        verdict = now.with_name("verdict")

        class Watch:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    verdict.write_text(f"{report.nodeid}\n{report.longreprtext}")
                    os._exit(0)

        config = self.session.config
        config.pluginmanager.register(Watch())
        for item, following in zip(items, [*items[1:], None], strict=True):
            now.write_text(item.nodeid)
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def wait(self) -> None:
        """Waits until a fork has ended, and kills forks that take too long."""
        for child, (number, begun, folder) in list(self.running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            seconds = time.monotonic() - begun
            if not ended and seconds < self.plan.longest:
                continue
            if not ended:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            self.tell(number, seconds, folder, status if ended else None)
            del self.running[child]
            return
        time.sleep(0.05)

    def tell(self, number: int, seconds: float, folder: Path, status: int | None) -> None:
        """Writes the verdict on a mutant."""
        now = (folder / "now").read_text() if (folder / "now").exists() else "(before the first test)"
        caught: str | None
        if status is None:
            caught, output = f"{now} (did not end)", ""
        elif os.WIFSIGNALED(status):
            caught, output = f"{now} (ended by signal {os.WTERMSIG(status)})", ""
        elif not (folder / "verdict").exists():
            raise RuntimeError(f"the tests of mutant {number} ended without a verdict in {now}")
        else:
            caught, _, output = (folder / "verdict").read_text().partition("\n")
        shutil.rmtree(folder, ignore_errors=True)
        with self.plan.verdicts.open("a") as out:
            out.write(json.dumps({"number": number, "caught": caught or None, "seconds": seconds, "output": output[-3000:]}) + "\n")


def pytest_runtestloop(session: Any) -> bool:
    """Replaces pytest's own loop."""
    if session.testsfailed:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    if not session.config.option.collectonly:
        Forks(Plan(Path(os.environ[PLAN])), session).run()
    return True
