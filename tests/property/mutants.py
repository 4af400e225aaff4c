"""Are the random tests worth anything? Three defects are put into a copy of the core, and each must be found.

    scripts/mutants            builds each mutant and runs the state machine on it, for at most a minute

Prints how long each took to be caught; exits with 1 if one lived.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
SECONDS = 60
MOST_SECONDS = 3 * SECONDS  # what has begun when the minute is over may end; what hangs may not hold up the rest


@dataclass(frozen=True)
class Mutant:
    """A defect: `old` stands once in `file` and becomes `new`."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = [
    Mutant(
        "heartbeat not projected",
        "cpp/src/machine/tasks.cpp",
        "next_state(TaskEvent::heartbeat, Projected(row, now_).task())",
        "next_state(TaskEvent::heartbeat, row.task)",
    ),
    Mutant(
        "version bumped on release",
        "cpp/src/machine/tasks.cpp",
        "  enter_pending(set_.edit(*entry), now_);\n  set_.touched(*entry);\n  return ok();",
        "  enter_pending(set_.edit(*entry), now_);\n  ++set_.edit(*entry).acquisitions;\n  set_.touched(*entry);\n  return ok();",
    ),
    Mutant(
        "callback kept on a settled promise",
        "cpp/src/machine/derive.cpp",
        "return row.callbacks || row.listeners ?",
        "return row.listeners ?",
    ),
]


def copy_sources() -> Path:
    source = WORK / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source / name)
    for name in ("cmake", "cpp"):
        shutil.copytree(ROOT / name, source / name)
    return source


def build(source: Path, site: Path) -> None:
    """Builds the module, not optimized: building is what takes the time here."""
    folder = WORK / "build"
    pybind11 = subprocess.run(
        [sys.executable, "-m", "pybind11", "--cmakedir"], check=True, capture_output=True, text=True
    ).stdout.strip()
    options = [
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=",
        "-DRESONATE_BUILD_PYTHON=ON",
        "-DRESONATE_BUNDLE_LIBRARIES=OFF",
    ]
    options += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11}", "--log-level=WARNING"]
    subprocess.run(["cmake", "-S", str(source), "-B", str(folder), *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "--target", "_core"], check=True, stdout=subprocess.DEVNULL)
    package = site / "resonate_core"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "resonate_core", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for module in folder.glob("_core*.so"):
        shutil.copy2(module, package / module.name)


@dataclass(frozen=True)
class Run:
    """What the state machine made of a core: whether it found a difference, how long it took, and what it said."""

    caught: bool
    seconds: float
    output: str


def run_tests(site: Path) -> Run:
    """Runs the state machine on the built core for SECONDS."""
    # The interpreter below the virtual environment: an editable install's import hook would bring the real module back.
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = [str(site), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "RESONATE_PROPERTY_PROFILE": "mutants",
        "RESONATE_PROPERTY_SECONDS": str(SECONDS),
    }
    command = [str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "tests/property/test_state_machine.py"]
    start = time.monotonic()
    try:
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"the tests came to no end in {MOST_SECONDS} s") from error
    seconds = time.monotonic() - start
    if run.returncode not in (0, 1):
        raise RuntimeError(f"the tests could not run (exit {run.returncode}):\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
    return Run(run.returncode == 1, seconds, run.stdout)


def reason(output: str) -> str:
    """The line of pytest's report that says what differed."""
    lines = [line.removeprefix("E").strip() for line in output.splitlines() if line.startswith("E  ")]
    named = [line for line in lines if "differ" in line or "Violation" in line or "Error" in line]
    return (named or lines or ["(no reason was printed)"])[0][:150]


def main() -> int:
    source, site = copy_sources(), WORK / "site"
    build(source, site)
    run = run_tests(site)
    if run.caught:
        print(run.output)
        print("the unchanged core fails: nothing can be said of mutants")
        return 1
    print(f"unchanged core: no difference in {run.seconds:.0f} s", flush=True)
    living = 0
    for mutant in MUTANTS:
        path = source / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            raise RuntimeError(f"mutant {mutant.name!r}: its text stands {text.count(mutant.old)} times in {mutant.file}, not once")
        path.write_text(text.replace(mutant.old, mutant.new))
        build(source, site)
        run = run_tests(site)
        path.write_text(text)
        in_time = run.caught and run.seconds <= SECONDS
        living += not in_time
        verdict = "LIVES" if not run.caught else "caught" if in_time else "caught TOO LATE"
        print(f"{mutant.name}: {verdict}, {run.seconds:.0f} s" + (f": {reason(run.output)}" if run.caught else ""), flush=True)
    return 1 if living else 0


if __name__ == "__main__":
    sys.exit(main())
