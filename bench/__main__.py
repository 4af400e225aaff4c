"""Measures everything in one run and prints every figure beside its bound and its target.

    scripts/bench [--rounds N] [--out FOLDER]

Writes figures.json and figures.png into FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from . import python_doors, sdk_server
from .picture import draw
from .targets import TARGETS


def probe_figures(*command: str) -> dict[str, float]:
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {row["name"]: row["value"] for row in map(json.loads, lines)}


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, resonate-sdk {version('resonate-sdk')}"


def table(figures: dict[str, float]) -> str:
    lines = [f"{'figure':<36}{'measured':>12} {'beside':<44}{'ratio':>9} {'target':>10}"]
    for target in TARGETS:
        value = figures[target.figure]
        beside = f"{target.bound}: {figures[target.bound]:,.4g}" if target.bound else "-"
        ratio = f"{target.score(figures):.2f}" if target.bound else ""
        sign = "<=" if target.at_most else ">="
        mark = "ok" if target.reached(figures) else "MISSED"
        lines.append(f"{target.figure:<36}{value:>12,.4g} {beside:<44}{ratio:>9} {sign} {target.reach:<9,g} {target.unit:<6}{mark}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--probe", required=True, help="the built resonate_probe")
    parser.add_argument("--sqlite-probe", required=True, help="the built resonate_sqlite_probe")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison, the best counts (default 5)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures.json and figures.png go")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")

    figures = probe_figures(arguments.probe)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="files-", dir=arguments.out) as folder:  # beside the report: on a disk, not in memory
        figures |= probe_figures(arguments.sqlite_probe, folder)
        figures |= python_doors.measure_file(folder, arguments.rounds)
    figures |= python_doors.measure(arguments.rounds)
    figures |= sdk_server.measure(arguments.rounds)

    print(machine())
    print("in memory unless SQLite is named; one request a batch unless a batch is named, payload 32 characters of base64, one tag")
    print(
        f"SQLite: WAL, FULL or NORMAL as named; a write and fdatasync of a page takes {1e3 / figures['fdatasync of a page']:.2f} ms"
    )
    print(table(figures))
    rest = sorted(set(figures) - {t.figure for t in TARGETS} - {t.bound for t in TARGETS})
    print("also measured: " + "; ".join(f"{name} {figures[name]:,.4g}" for name in rest))
    (arguments.out / "figures.json").write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n")
    draw(figures, machine(), arguments.out / "figures.png")
    missed = [target.figure for target in TARGETS if not target.reached(figures)]
    print(f"{len(TARGETS) - len(missed)} of {len(TARGETS)} targets reached" + (f"; missed: {', '.join(missed)}" if missed else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
