"""Measures a store in PostgreSQL, on a database server of its own that flushes each commit.

    python -m bench.postgres --probe build/bench-probes/resonate_postgres_probe [--jobs 1000000] [--out FOLDER]

Beside it: a bare client that inserts the same rows; a server on a file; River and procrastinate on the same database server.
`scripts/bench --postgres` builds the probe and runs it. The tests' helper starts the database server.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from ..http import load
from ..report import also_measured, machine, probe_figures, table, verdict
from ..targets import Target
from . import TURNS, held, http, workers

sys.path.append(str(Path(__file__).parents[2] / "tests"))


def targets(jobs: int) -> list[Target]:
    """The targets of the probe's figures: the figure beside each, and the ratio to reach."""
    return [
        Target("PostgreSQL create by 100", 0.35, "PostgreSQL bare loop by 100"),
        Target("PostgreSQL create by 1", 0.7, "PostgreSQL bare loop by 1"),
        Target("PostgreSQL create, 16 threads", 0.7, "PostgreSQL bare loop, 16 threads"),
        Target(f"PostgreSQL claim at {jobs // 1000}k jobs", 2.0, "PostgreSQL claim at 1k jobs", at_most=True, unit="us"),
    ]


def main() -> int:
    """Run everything beside a new database server and print the figures."""
    import postgres_server

    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__.splitlines()[0])
    parser.add_argument("--probe", required=True, help="the built resonate_postgres_probe")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="how many jobs wait in the largest queue (default 1,000,000)")
    parser.add_argument(
        "--rounds", type=int, default=2, help="of the requests over HTTP and of the jobs; the best counts (default 2)"
    )
    parser.add_argument("--seconds", type=float, default=3, help="of each load over HTTP (default 3)")
    parser.add_argument("--held", type=float, default=60, help="seconds for which a transaction is held open (default 60)")
    parser.add_argument("--peers-python", type=Path, default=Path(sys.executable), help="a Python that has procrastinate")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where postgres.json goes")
    arguments = parser.parse_args()
    reason = postgres_server.missing()
    if reason is not None:
        parser.error(reason)
    arguments.out.mkdir(parents=True, exist_ok=True)
    no_http = load.why_not()
    said = [no_http] if no_http else []
    river = workers.build_river(arguments.out)
    with postgres_server.running(durable=True) as server, tempfile.TemporaryDirectory(dir=arguments.out) as folder:
        (version,) = server.execute("SHOW server_version")[0]

        def database(name: str, **parameters: str) -> str:
            server.create_database(name)
            return server.url(name, **parameters)

        figures = probe_figures(arguments.probe, database("bench"), str(arguments.jobs))
        if not no_http:
            figures |= http.figures(database("http"), Path(folder), arguments.rounds, arguments.seconds)
        for turn in range(TURNS * arguments.rounds):
            rates = {
                "Worker": {"rate": workers.ours(database(f"worker{turn}"))},
                "River": river if isinstance(river, str) else workers.river(river, database(f"river{turn}")),
            }
            if turn < arguments.rounds:
                rates["procrastinate"] = workers.procrastinate(arguments.peers_python, database(f"procrastinate{turn}"))
            for name, found in rates.items():
                if isinstance(found, str):
                    said.append(found)
                else:
                    figures[f"PostgreSQL {name}"] = max(found["rate"], figures.get(f"PostgreSQL {name}", 0.0))
        figures |= held.figures(database("held"), server.url("held"), arguments.held)
    held_against = [*targets(arguments.jobs), *([] if no_http else http.targets())]
    held_against += [*workers.targets(figures), *held.targets(arguments.held)]
    print(machine())
    print(f"PostgreSQL {version}, synchronous_commit and fsync on, over TCP on the loopback address; one promise a request")
    for reason in dict.fromkeys(said):
        print(reason)
    print(table(figures, held_against))
    print(also_measured(figures, held_against))
    (arguments.out / "postgres.json").write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n")
    print(verdict(figures, held_against))
    return 0


if __name__ == "__main__":
    sys.exit(main())
