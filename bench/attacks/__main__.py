"""Measures how long the requests of a second tenant take beside attacks on the dashboard; from the repository's folder.

python -m bench.attacks [--attack NAME] [--seconds S] [--out FOLDER]

The server (SQLite, `durability="full"`), the attacker and the second tenant are processes of their own. The second tenant sends a
request every 50 ms, a create and a view of its dashboard in turn. Targets: p99 at most 100 ms, the longest at most 1 s, none refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..report import machine
from .measure import beside, missed, table
from .scenes import attacks


def main() -> int:
    names = tuple(attacks())
    parser = argparse.ArgumentParser(prog="python -m bench.attacks", description=__doc__)
    parser.add_argument("--attack", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--seconds", type=float, default=10, help="of each attack (default 10)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-attacks.json goes")
    arguments = parser.parse_args()
    if arguments.seconds < 1:
        parser.error(f"--seconds must be at least 1, got {arguments.seconds:g}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    chosen = arguments.attack or names
    found = {name: beside(name, arguments.seconds, arguments.out) for name in chosen}
    print(machine())
    print(table(found))
    late = missed(found, chosen)
    print(f"{len(chosen) - len(late)} of {len(chosen)} reach the targets" + (f"; missed: {', '.join(late)}" if late else ""))
    figures = {name: asdict(figure) for name, figure in found.items()}
    (arguments.out / "figures-attacks.json").write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
