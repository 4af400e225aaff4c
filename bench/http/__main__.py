"""Measures the server alone, without the probes of the core; from the repository's folder.

python -m bench.http [--rounds N] [--seconds S] [--store NAME] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..picture import draw
from ..report import machine, table, verdict
from . import load
from .measure import STORES, figures, how, tables, targets


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.http", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each comparison, the best counts (default 2)")
    parser.add_argument("--seconds", type=float, default=3, help="of each load (default 3)")
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-http.json and figures-http.png go")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.seconds < 1:
        parser.error(f"--rounds and --seconds must be at least 1, got {arguments.rounds} and {arguments.seconds:g}")
    missing = load.why_not()
    if missing is not None:
        print(missing, file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    found = figures(arguments.out, arguments.rounds, arguments.seconds, arguments.store or STORES)
    held = targets(found)
    print(machine())
    print(how(arguments.rounds, arguments.seconds, found) + "\n")
    print(tables(found))
    print(table(found, held))
    print(verdict(found, held))
    (arguments.out / "figures-http.json").write_text(json.dumps({"machine": machine(), "figures": found}, indent=1) + "\n")
    draw(found, machine(), arguments.out / "figures-http.png", held)
    return 0


if __name__ == "__main__":
    sys.exit(main())
