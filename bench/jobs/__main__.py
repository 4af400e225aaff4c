"""Measures jobs alone, without the probes of the core; from the repository's folder.

python -m bench.jobs [--rounds N] [--huey-python PATH] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..picture import draw
from ..report import machine, table, verdict
from .measure import figures, how, tables, targets


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.jobs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each, the best counts (default 3)")
    parser.add_argument("--huey-python", type=Path, help="a Python that has huey; none: huey is not measured")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-jobs.json and figures-jobs.png go")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    found, missing = figures(arguments.out, arguments.rounds, arguments.huey_python)
    held = targets(found)
    print(machine())
    print(how(arguments.rounds, found, missing) + "\n")
    print(tables(found))
    print(table(found, held))
    print(verdict(found, held))
    (arguments.out / "figures-jobs.json").write_text(json.dumps({"machine": machine(), "figures": found}, indent=1) + "\n")
    draw(found, machine(), arguments.out / "figures-jobs.png", held)
    return 0


if __name__ == "__main__":
    sys.exit(main())
