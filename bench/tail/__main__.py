"""Measures how long a create takes beside bulk work ("tail under bulk"); from the repository's folder.

python -m bench.tail [--seconds S] [--scene NAME] [--store NAME] [--size N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..report import machine, table, verdict
from .measure import STORES, figures, tables, targets
from .scenes import SCENES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tail", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="of creates in each scene (default 15)")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this one; may be repeated")
    parser.add_argument("--store", action="append", choices=STORES, help="only this one; may be repeated")
    parser.add_argument("--size", type=int, help="promises of each scene; without it as many as the scene's name says")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-tail.json goes")
    arguments = parser.parse_args()
    if arguments.seconds < 1:
        parser.error(f"--seconds must be at least 1, got {arguments.seconds:g}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    scenes = arguments.scene or tuple(SCENES)
    found = figures(arguments.out, arguments.seconds, scenes, arguments.store or STORES, arguments.size)
    held = targets(found)
    print(machine())
    print(tables(found))
    if held:
        print(table(found, held))
        print(verdict(found, held))
    (arguments.out / "figures-tail.json").write_text(json.dumps({"machine": machine(), "figures": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
