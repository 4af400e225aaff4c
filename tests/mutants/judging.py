"""Runs the tests on mutants, on each until a test fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 900
"""Seconds for one slice of the tests; a mutant that makes them hang counts as caught."""


@dataclass(frozen=True)
class Verdict:
    """The result of the tests on a mutant.

    Attributes:
        caught_by: The test that failed first, or None.
        seconds: The duration of the tests.
        output: The last output of pytest.
    """

    caught_by: str | None
    seconds: float
    output: str = ""


def _command(tree: Path, *words: str) -> list[str]:
    # The base interpreter, not the virtual environment's: an editable install's import hook would import the real module.
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    # An older checkout has no tiers, or does not even have the marker `full`.
    knows_tiers = (tree / "tests" / "tiers.py").exists()
    marked = ["-m", "not full"] if not knows_tiers and '"full:' in (tree / "pyproject.toml").read_text() else []
    return [str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *marked, *words]


def _environment(site: Path) -> dict[str, str]:
    """The environment of the tests: they import the package from `site`."""
    here = Path(__file__).resolve().parents[1]
    paths = [str(site), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"], str(here)]
    return {
        "RESONATE_PROPERTY_PROFILE": "fast" if os.environ.get("RESONATE_TEST_TIER") == "fast" else "mutants",
        "RESONATE_PROPERTY_SEED": "1",
        **os.environ,
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),  # some tests start programs such as uvicorn
        "PYTHONPATH": os.pathsep.join(paths),
        "JUPYTER_PATH": str(Path(sys.prefix) / "share" / "jupyter"),  # the templates of nbconvert, in the virtual environment
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _first_failure(output: str) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - |$)", output, re.MULTILINE)
    if found is None:  # a test that plays a crash lets it out
        found = re.search(r"(tests/\S+:\d+): KeyboardInterrupt$", output, re.MULTILINE)
    return found[1] if found else "(collection)"


def judge(tree: Path, site: Path, number: int, slices: Iterable[str]) -> Verdict:
    """Runs the slices in turn on the package in `site`, until a test fails; `number` selects the mutant (0: none)."""
    begun = time.monotonic()
    output = ""
    for words in slices:
        run = subprocess.Popen(
            _command(tree, *words.split()),
            cwd=tree,
            env=_environment(site) | {"RESONATE_MUTANT": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = run.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            output, _ = run.communicate()
            return Verdict(f"{words} (did not end)", time.monotonic() - begun, output)
        if run.returncode < 0:
            return Verdict(f"{words} (ended by signal {-run.returncode})", time.monotonic() - begun, output)
        if run.returncode == 1 or (run.returncode == 2 and ("rror" in output or "KeyboardInterrupt" in output)):
            return Verdict(_first_failure(output), time.monotonic() - begun, output)
        if run.returncode != 0:
            raise RuntimeError(f"the tests could not run (exit {run.returncode}):\n{output[-3000:]}")
    return Verdict(None, time.monotonic() - begun, output)


def judge_forked(
    tree: Path, work: Path, folders: list[str], forks: list[tuple[int, list[str]]], jobs: int
) -> Iterator[tuple[int, Verdict]]:
    """Collects the tests once and runs them in a fork for each mutant of C++; yields each number and verdict when it is known."""
    with tempfile.TemporaryDirectory(dir=work) as name:
        plan, verdicts = Path(name) / "plan.json", Path(name) / "verdicts"
        given = {"forks": forks, "jobs": jobs, "longest": LONGEST, "verdicts": str(verdicts)}
        plan.write_text(json.dumps(given))
        verdicts.touch()
        environment = _environment(work / "site") | {"RESONATE_MUTANTS_PLAN": str(plan)}
        command = _command(tree, "-p", "mutants.forking", *folders)
        with (Path(name) / "output").open("w+") as output, verdicts.open() as seen:
            run = subprocess.Popen(command, cwd=tree, env=environment, stdout=output, stderr=subprocess.STDOUT)
            count, ended = 0, False
            while count < len(forks):
                line = seen.readline()
                if line:
                    verdict = json.loads(line)
                    count += 1
                    yield verdict["number"], Verdict(verdict["caught"], verdict["seconds"], verdict["output"])
                elif ended:
                    output.seek(0)
                    raise RuntimeError(f"the tests could not run (exit {run.returncode}):\n{output.read()[-6000:]}")
                else:
                    time.sleep(0.1)
                    ended = run.poll() is not None
            run.wait()
