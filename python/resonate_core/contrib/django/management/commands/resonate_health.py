"""`manage.py resonate_health`: whether the stores answer, and whether work waits too long."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from resonate_core.contrib.django.backend import ResonateBackend
from resonate_core.contrib.django.backends import backend_of, resonate_backends
from resonate_core.errors import ResonateError


class Command(BaseCommand):
    """Reports the state of each store in one line."""

    help = (
        "Report the state of each store. The exit code is 1 if a store does not answer, has refused requests, or exceeds a limit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--backend", help="the name of a backend in TASKS (default: all of this package)")
        parser.add_argument("--max-latency", type=float, metavar="SECONDS", help="the longest time that a runnable task may wait")
        parser.add_argument("--max-failed", type=int, metavar="COUNT", help="how many failed tasks may wait for a person")
        parser.add_argument("--json", action="store_true", help="print one JSON object for each store")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each store."""
        try:
            backends = resonate_backends() if options["backend"] is None else [backend_of(options["backend"])]
        except (LookupError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        if not backends:
            raise CommandError("TASKS must have a backend of resonate_core.contrib.django, got none")
        healthy = True
        for backend in backends:
            state = _state(backend, options["max_latency"], options["max_failed"])
            healthy = healthy and state["ok"]
            self.stdout.write(json.dumps(state) if options["json"] else _line(state))
        if not healthy:
            sys.exit(1)


def _state(backend: ResonateBackend, max_latency: float | None, max_failed: int | None) -> dict[str, Any]:
    """The state of a store, and what is wrong with it."""
    try:
        store = backend.store
        queues = {stats["name"]: stats for stats in store.queues.stats()}
        problems = [str(problem) for problem in store.problems()]
        place = store.url or store.path or "memory"
    except (ResonateError, ImproperlyConfigured) as error:
        return {"backend": backend.alias, "ok": False, "problems": [f"the store does not answer: {error}"]}
    counts: dict[str, int] = {}
    for stats in queues.values():
        for state, count in stats["counts"].items():
            counts[state] = counts.get(state, 0) + count
    latency = max((stats["latency"] for stats in queues.values()), default=0) / 1000
    problems += _exceeded(latency, counts.get("archived", 0), max_latency, max_failed)
    return {
        "backend": backend.alias,
        "ok": not problems,
        "store": place,
        "counts": counts,
        "latency": latency,
        "paused": sorted(name for name, stats in queues.items() if stats["paused"]),
        "problems": problems,
    }


def _exceeded(latency: float, failed: int, max_latency: float | None, max_failed: int | None) -> Iterator[str]:
    if max_latency is not None and latency > max_latency:
        yield f"a task has waited for {latency:.1f} s, and --max-latency is {max_latency:g} s"
    if max_failed is not None and failed > max_failed:
        yield f"{failed} failed tasks wait for a person, and --max-failed is {max_failed}"


def _line(state: dict[str, Any]) -> str:
    shown = f"{state['backend']}: {'ok' if state['ok'] else 'NOT OK'}"
    if "counts" in state:
        counts = state["counts"]
        later = sum(counts.get(state, 0) for state in ("scheduled", "waiting", "retry"))
        running = counts.get("claimed", 0) + counts.get("running", 0)
        shown += f"; {state['store']}; {counts.get('pending', 0)} runnable (longest wait {state['latency']:.1f} s), "
        shown += f"{later} later, {running} running, {counts.get('archived', 0)} failed"
        if state["paused"]:
            shown += f"; paused: {', '.join(state['paused'])}"
    return "; ".join([shown, *state["problems"]])
