"""Measures everything in one run and prints every figure beside its bound and its target.

    scripts/bench [--rounds N] [--http-seconds S] [--job-rounds N] [--tail-seconds S] [--out FOLDER]

Writes figures.json and figures.png into FOLDER.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from . import python_calls, sdk_server
from .http import load, measure as http
from .jobs import measure as jobs
from .picture import draw
from .report import also_measured, machine, probe_figures, table, verdict
from .tail import measure as tail
from .targets import TARGETS

_HTTP_ROUNDS = 2


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--probe", required=True, help="the built resonate_probe")
    parser.add_argument("--sqlite-probe", required=True, help="the built resonate_sqlite_probe")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison, the best counts (default 5)")
    parser.add_argument("--http-seconds", type=float, default=3, help="of each load over HTTP, in two rounds; 0: none (default 3)")
    parser.add_argument("--job-rounds", type=int, default=3, help="of jobs, the best counts; 0: none (default 3)")
    parser.add_argument("--tail-seconds", type=float, default=15, help="of creates beside each bulk work; 0: none (default 15)")
    parser.add_argument("--huey-python", type=Path, help="a Python that has huey, for the jobs")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures.json and figures.png go")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")

    figures = probe_figures(arguments.probe)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="files-", dir=arguments.out) as folder:  # beside the report: on a disk, not in memory
        figures |= probe_figures(arguments.sqlite_probe, folder)
        figures |= python_calls.measure_file(folder, arguments.rounds)
    figures |= python_calls.measure(arguments.rounds)
    figures |= sdk_server.measure(arguments.rounds)
    over_http: dict[str, float] = {}
    missing = load.why_not()
    if missing is None and arguments.http_seconds > 0:
        over_http = http.figures(arguments.out, _HTTP_ROUNDS, arguments.http_seconds)
    of_jobs: dict[str, float] = {}
    not_there: list[str] = []
    if arguments.job_rounds > 0:
        of_jobs, not_there = jobs.figures(arguments.out, arguments.job_rounds, arguments.huey_python)
    beside_bulk = tail.figures(arguments.out, arguments.tail_seconds) if arguments.tail_seconds > 0 else {}
    held = [*TARGETS, *http.targets(over_http), *jobs.targets(of_jobs), *tail.targets(beside_bulk)]

    print(machine())
    print("in memory unless SQLite is named; one request a batch unless a batch is named, payload 32 characters of base64, one tag")
    print(
        f"SQLite: WAL, FULL or NORMAL as named; a write and fdatasync of a page takes {1e3 / figures['fdatasync of a page']:.2f} ms"
    )
    print(table(figures, TARGETS))
    print(also_measured(figures, TARGETS))
    if over_http:
        print("\n" + http.how(_HTTP_ROUNDS, arguments.http_seconds, over_http))
        print(http.tables(over_http))
        print(table(over_http, http.targets(over_http)))
        figures |= over_http
    elif missing is not None:
        print(missing)
    if of_jobs:
        print("\n" + jobs.how(arguments.job_rounds, of_jobs, not_there))
        print(jobs.tables(of_jobs))
        print(table(of_jobs, jobs.targets(of_jobs)))
        figures |= of_jobs
    if beside_bulk:
        print("\n" + tail.tables(beside_bulk))
        print(table(beside_bulk, tail.targets(beside_bulk)))
        figures |= beside_bulk
    (arguments.out / "figures.json").write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n")
    draw(figures, machine(), arguments.out / "figures.png", held)
    print(verdict(figures, held))
    return 0


if __name__ == "__main__":
    sys.exit(main())
