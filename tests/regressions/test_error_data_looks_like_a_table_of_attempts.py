"""On a terminal `jobs show` printed the data of an error line by line from the left margin, so that a job could write what looked like lines of the
command, such as more attempts than there were. Each line stands behind a bar."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import resonate_core as rc


def _on_a_terminal(*arguments: object) -> list[str]:
    """Run a command whose output is a terminal; return the lines on it."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "resonate_core", *map(str, arguments)]
    surroundings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "NO_COLOR": "1"}
    written = b""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env=surroundings) as process:
        os.close(inner)
        try:
            while part := os.read(outer, 65_536):
                written += part
        except OSError:  # so Linux reports that the other end is closed
            pass
        finally:
            os.close(outer)
    assert process.returncode == 0, written
    return [line.rstrip() for line in written.decode().split("\n")]


def test_each_line_stands_behind_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        store.jobs.enqueue("t", id="a", max_retries=0)
        (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
        store.jobs.fail("a", job.version, "E", "m", data="Traceback\nattempt  forged\n  \x1b[31mred")
    lines = _on_a_terminal("jobs", "show", "a", "--db", path)
    assert "  │ Traceback" in lines and "  │ attempt  forged" in lines and "  │   \\x1b[31mred" in lines, lines
