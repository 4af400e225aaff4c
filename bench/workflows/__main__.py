"""Measures workflows; from the repository's folder.

python -m bench.workflows [--rounds N] [--dbos-python PATH] [--workflows N] [--sleeping N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import resonate_core as rc

from ..jobs.timed import CPU, better
from ..report import machine, table, verdict
from ..targets import Target
from . import ours

_TESTS = Path(__file__).parents[2] / "tests"
_WAYS = {"in the loop": False, "in threads": True}
Found = dict[str, float]


def _figure(stored: str, what: str) -> str:
    return f"{stored}, {what}"


def _ours(stored: str, open_store: Callable[[], rc.Store], workflows: int) -> Found:
    """Steps of workflows and plain jobs a second, in turn."""
    found: Found = {}
    for way, threads in _WAYS.items():
        with open_store() as store:
            plain, cpu = ours.rate(store, "plain", workflows * ours.STEPS, threads)
        found |= {_figure(stored, f"plain jobs {way}"): plain, _figure(stored, f"plain jobs {way}") + CPU: cpu}
        with open_store() as store:
            rate, cpu = ours.rate(store, "steps", workflows, threads)
        found |= {_figure(stored, f"steps {way}"): rate * ours.STEPS, _figure(stored, f"steps {way}") + CPU: cpu / ours.STEPS}
    return found


def _dbos(python: Path, url: str, workflows: int) -> Found:
    found: Found = {}
    for way, name in (("threads", "in threads"), ("loop", "in the loop")):
        program = Path(__file__).with_name("dbos_program.py")
        ended = subprocess.run(
            [python, program, url, way, str(workflows)], capture_output=True, text=True, timeout=300, check=False
        )
        if ended.returncode:
            raise RuntimeError(f"DBOS: {ended.stderr[-2000:]}")
        seen = json.loads(ended.stdout.splitlines()[-1])
        found |= {_figure("DBOS", f"steps {name}"): seen["rate"], _figure("DBOS", f"steps {name}") + CPU: seen["cpu"]}
    return found


@contextmanager
def _postgres() -> Iterator[str | None]:
    """A server of its own; yields its URL, or None if there is none."""
    sys.path.insert(0, str(_TESTS))
    import postgres_server

    reason = postgres_server.missing()
    if reason is not None:
        print(f"PostgreSQL is not measured: {reason}")
        yield None
        return
    with postgres_server.running(durable=True) as server:
        yield server.url()


def _files(folder: Path, turn: int) -> Callable[[], rc.Store]:
    """Opens a new file each time."""
    numbers = itertools.count()
    return lambda: rc.Store(folder / f"{turn}-{next(numbers)}.db", durability="full")


def _schemas(url: str, turn: int) -> Callable[[], rc.Store]:
    """Opens a new schema each time."""
    numbers = itertools.count()
    return lambda: rc.Store(f"{url}?schema=bench_{turn}_{next(numbers)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.workflows", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each, the best counts (default 3)")
    parser.add_argument("--dbos-python", type=Path, help="a Python that has dbos; none: DBOS is not measured")
    parser.add_argument("--workflows", type=int, default=2_000, help="of 5 steps each (default 2000)")
    parser.add_argument("--sleeping", type=int, default=100_000, help="workflows that sleep; 0: none (default 100000)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-workflows.json goes")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    found: Found = {}
    with tempfile.TemporaryDirectory(prefix="workflows-", dir=arguments.out) as made, _postgres() as url:
        for turn in range(arguments.rounds):
            seen = _ours("memory", rc.Store, arguments.workflows)
            seen |= _ours("SQLite full", _files(Path(made), turn), arguments.workflows // 4)
            if url is not None:
                seen |= _ours("PostgreSQL", _schemas(url, turn), arguments.workflows // 4)
                if arguments.dbos_python is not None:
                    seen |= _dbos(arguments.dbos_python, url, max(20, arguments.workflows // 20))
            with rc.Store(Path(made) / f"replay-{turn}.db") as store:
                spent, read = ours.replay(store, 1000)
            seen |= {"replay of 1,000 records, SQLite": 1e3 * spent, "reading and decoding them": 1e3 * read}
            found = better(found, {name: value for name, value in seen.items() if "record" not in name and "reading" not in name})
            for name in ("replay of 1,000 records, SQLite", "reading and decoding them"):
                found[name] = min(seen[name], found.get(name, seen[name]))
        if arguments.sleeping:
            with rc.Store(Path(made) / "sleeping.db") as store:
                size, whole, part = ours.sleeping(store, arguments.sleeping, 10)
                found |= {"one more sleeping workflow, bytes": size, "beside sleeping workflows, MB of the process": whole}
                found["beside sleeping workflows, part of a core"] = part
    every = [Target(_figure("memory", f"steps {way}"), 0.4, _figure("memory", f"plain jobs {way}")) for way in _WAYS]
    every += [Target(_figure("PostgreSQL", f"steps {way}"), 15, _figure("DBOS", f"steps {way}")) for way in _WAYS]
    every.append(Target("replay of 1,000 records, SQLite", 2, "reading and decoding them", at_most=True, unit="ms"))
    held = [target for target in every if target.figure in found and target.bound in found]
    print(machine())
    print(
        f"{arguments.workflows:,} workflows of {ours.STEPS} steps, {ours.AT_ONCE} in flight, a number as payload and result; the best of "
        f"{arguments.rounds} rounds; live: those jobs; SQLite FULL; PostgreSQL with fsync, on this machine\n"
    )
    for name, value in found.items():
        print(f"  {name:<60}{value:>14,.2f}")
    print(table(found, held))
    print(verdict(found, held))
    (arguments.out / "figures-workflows.json").write_text(json.dumps({"machine": machine(), "figures": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
