"""Measures jobs that wait for jobs; from the repository's folder.

python -m bench.graphs [--rounds N] [--celery-python PATH] [--chains N] [--width N] [--waiting N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..report import machine, table, verdict
from .measure import figures, how, tables, targets


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.graphs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2, help="of each, the best counts (default 2)")
    parser.add_argument("--celery-python", type=Path, help="a Python that has celery[redis]; none: Celery is not measured")
    parser.add_argument("--chains", type=int, default=1_000, help="of 10 jobs each (default 1000)")
    parser.add_argument("--width", type=int, default=1_000, help="jobs that the last one of a fan waits for (default 1000)")
    parser.add_argument("--waiting", type=int, default=1_000_000, help="jobs that wait beside claims; 0: none (default 1000000)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-graphs.json goes")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")
    if arguments.chains < 1:
        parser.error(f"--chains must be at least 1, got {arguments.chains}")
    if not 1 <= arguments.width < 10_000:
        parser.error(f"--width must be 1 to 9999, got {arguments.width}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    counts = arguments.chains, arguments.width
    found, notes = figures(arguments.out, arguments.rounds, arguments.celery_python, *counts, arguments.waiting)
    held = targets(found, arguments.waiting)
    print(machine())
    print(how(arguments.rounds, found, *counts, notes) + "\n")
    print(tables(found))
    print(table(found, held))
    print(verdict(found, held))
    (arguments.out / "figures-graphs.json").write_text(json.dumps({"machine": machine(), "figures": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
