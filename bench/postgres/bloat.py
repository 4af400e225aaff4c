"""Do tables and indexes grow while jobs come and go? Runs jobs at a steady rate, and prints the sizes every few minutes.

    PYTHONPATH=tests python -m bench.postgres.bloat [--minutes 60] [--rate 200] [--every 5] [--waiting 1000]

The database server is one of its own, with autovacuum as PostgreSQL has it by default and with what the store's schema sets. Each job is
enqueued, claimed, renewed twice, completed and deleted; a number of jobs waits all the time, so that the live rows stay as many.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import resonate_core as rc

from ..jobs.calls import PAYLOAD, TYPE

sys.path.append(str(Path(__file__).parents[2] / "tests"))

_AT_ONCE = 20
_SIZES = """
SELECT c.relname, c.relkind::text, pg_relation_size(c.oid), coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0),
       coalesce(s.autovacuum_count, 0), coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_hot_upd, 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE n.nspname = 'resonate' AND c.relkind IN ('r', 'i') ORDER BY 3 DESC
"""


def cycle(store: rc.Store) -> float:
    """Takes jobs through their life; returns the µs of their claim."""
    store.jobs.enqueue_many(TYPE, [PAYLOAD] * _AT_ONCE)
    began = time.perf_counter()
    claimed = store.jobs.claim("default", _AT_ONCE, worker="w", lease=60_000)
    took = time.perf_counter() - began
    held = [(job.id, job.version) for job in claimed]
    for _ in range(2):
        store.jobs.heartbeat("w", held)
    store.jobs.complete_many([(id, version, None) for id, version in held])
    return 1e6 * took


def sizes(server: Any, url: str) -> tuple[dict[str, tuple[int, ...]], int, int]:
    """The relations of the store, and the bytes of all tables and of all indexes."""
    import libpq

    with libpq.Connection(url) as connection:
        rows = [(str(name), str(kind), *map(int, rest)) for name, kind, *rest in connection.execute(_SIZES)]
    of_kind = {kind: sum(int(row[2]) for row in rows if row[1] == kind) for kind in ("r", "i")}
    return {row[0]: row[2:] for row in rows}, of_kind["r"], of_kind["i"]


def show(cells: Iterable[str]) -> None:
    """Prints a row of a table in Markdown."""
    print("|", " | ".join(cells), "|", flush=True)


def main() -> int:
    """Runs the jobs and prints a table in Markdown, and the largest relations at the end."""
    import postgres_server

    parser = argparse.ArgumentParser(prog="python -m bench.postgres.bloat", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="how long jobs come and go (default 60)")
    parser.add_argument("--rate", type=float, default=200, help="jobs a second (default 200)")
    parser.add_argument("--every", type=float, default=5, help="minutes between two lines (default 5)")
    parser.add_argument("--waiting", type=int, default=1000, help="jobs that wait all the time (default 1000)")
    given = parser.parse_args()
    with postgres_server.running(durable=True) as server:
        server.create_database("bloat")
        with rc.Store(server.url("bloat")) as store:
            store.queues.set("default", lifecycle="asynq")
            store.jobs.enqueue_many(TYPE, [PAYLOAD] * given.waiting)
            heads = ("minute", "jobs", "tables kB", "indexes kB", "dead rows", "autovacuums", "claim of 20, median µs")
            show(heads)
            show(["---"] * len(heads))
            begin, jobs = time.monotonic(), 0
            line, costs = 0.0, [cycle(store)]
            while True:
                minute = (time.monotonic() - begin) / 60
                if minute >= line:
                    relations, tables, indexes = sizes(server, server.url("bloat"))
                    dead, vacuums = (sum(one[place] for one in relations.values()) for place in (2, 3))
                    cost = statistics.median(costs)
                    show(f"{n:,.0f}" for n in (minute, jobs, tables / 1e3, indexes / 1e3, dead, vacuums, cost))
                    line, costs = line + given.every, []
                if minute >= given.minutes:
                    break
                costs.append(cycle(store))
                jobs += _AT_ONCE
                time.sleep(max(0.0, begin + jobs / given.rate - time.monotonic()))
            print(
                "\n| relation | kB | live rows | dead rows | autovacuums | updates | of them HOT |\n|---|---|---|---|---|---|---|"
            )
            for name, (size, live, dead, vacuums, updates, hot) in list(relations.items())[:12]:
                print(f"| {name} | {size / 1e3:,.0f} | {live:,} | {dead:,} | {vacuums:,} | {updates:,} | {hot:,} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
