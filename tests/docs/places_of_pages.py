"""What the reader of a page has before its first command, and the commands that no test can run, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["NOT_RUN", "PLACES", "SESSIONS_NEED", "STAYS", "Place", "reason_not_to_run"]


@dataclass(frozen=True)
class Place:
    """Where a page begins. Without more: an empty folder, and an environment in which nothing is installed."""

    #: The extras that the page names as its need: "cli" or "cli,sdk".
    extras: str = ""
    #: Whether the commands run in the folder of a clone.
    clone: bool = False
    #: What makes the files that the page supposes.
    before: str = ""


PLACES = {
    "README.md": Place(clone=True),
    "CONTRIBUTING.md": Place(clone=True),
    "bench/README.md": Place(clone=True),
    "docs/changing_workflows.md": Place(extras="cli"),
    "docs/cli.md": Place(extras="cli"),
    "docs/dashboard.md": Place(
        extras="cli",
        before='python -c \'import resonate_core as rc; store = rc.Store("app.db"); store.record("run.jsonl"); store.jobs.enqueue("a")\'',
    ),
    "docs/examples.md": Place(clone=True),
    "docs/operations.md": Place(extras="cli"),
    "docs/postgresql.md": Place(extras="cli"),
    "docs/releasing.md": Place(clone=True),
    "docs/security.md": Place(extras="cli"),
    "docs/server.md": Place(extras="cli"),
}

#: What the Python sessions of a page import besides the core, as the page names it: extras, and packages of others.
SESSIONS_NEED = {
    "docs/conformance.md": ("conformance",),
    "docs/dashboard.md": ("server",),
    "docs/operations.md": ("cli,otel", "opentelemetry-sdk"),
    "docs/payloads.md": ("typed",),
    "docs/postgresql.md": ("", "psycopg[binary]"),
    "docs/python.md": ("worker,server",),
    "docs/sdk.md": ("sdk",),
    "docs/security.md": ("cli",),
    "docs/server.md": ("cli",),
    "docs/simulation.md": ("fastapi,sdk,testing,worker",),
    "docs/testing.md": ("testing",),
    "docs/time.md": ("notebook",),
    "docs/tutorial.md": ("fastapi,cli",),
    "docs/web.md": ("fastapi", "httpx2"),
}

#: A command that matches is not run; each matches at least one command.
NOT_RUN = [
    (r"sudo apt-get install ", "changes the packages of the machine, as root; scripts/setup installs them in CI"),
    (
        r"docker compose |export POSTGRES_PASSWORD|curl http://127.0.0.1:8001/ready http",
        "needs a container engine, and fetches images",
    ),
    (r"git clone <this repository>|scripts/setup\b", "sets up a clone: CI begins with it"),
    (
        r"cmake --preset dev ",
        "compiles all C++ again, without the compiler's cache of the scripts; scripts/test builds this preset's kind",
    ),
    (r"scripts/wheels\b", "builds wheels for minutes: tests/packaging/test_manylinux.py runs it"),
    (
        r"pip wheel ",
        "builds a wheel for minutes: tests/packaging/test_wheel.py does, and each environment here installs the result",
    ),
    (r"RESONATE_WHEEL=", "runs these tests"),
    (r"scripts/release\b", "builds the files of a release: tests/packaging/test_release.py runs it"),
]

#: These run until they are stopped: that they still run after some seconds is what can be seen.
STAYS = re.compile(
    r"(\w+=\S+ )*(uvicorn |gunicorn |resonate-core (ui|serve|worker) |python -m fastapi_shop\.worker"
    r"|python manage\.py (runserver|resonate_worker))"
)


def reason_not_to_run(command: str) -> str | None:
    """Returns why no test runs a command; None if one does."""
    return next((reason for pattern, reason in NOT_RUN if re.match(pattern, command)), None)
