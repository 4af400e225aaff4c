"""Takes the pictures of the dashboard: every view in light, dark and on a phone, and the walk of docs/dashboard.md.

Run `PYTHONPATH=tests .venv/bin/python -m browser.pictures [NAME...]` in the root of the repository, after `scripts/setup --all`,
which installs Chromium and the font (`.venv-dev/bin/python`, if `.venv` is yours). Writes docs/pictures/ui/.
"""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from PIL import Image

import resonate_core as rc
from browser import chromium, flows, scene
from browser.views import REPORT, STUCK, VIEWS
from resonate_core.ui import create_ui
from server.live_server import live

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "ui"
#: The looks of each view: width, height, colours.
LOOKS = {"light": (1280, 800, "light"), "dark": (1280, 800, "dark"), "phone": (360, 740, "light")}
LARGEST = 120_000


@contextmanager
def shop() -> Iterator[tuple[Any, str]]:
    """The scene, served."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock)
    app = create_ui(store, prefix="/ui", role="operate")
    with live(app) as running:
        try:
            yield store, f"http://127.0.0.1:{running.port}/ui/"
        finally:
            running.run(app.aclose())


def page(look: str) -> Any:
    """Opens a page in this look: light, dark or phone."""
    width, height, colours = LOOKS[look]
    size = {"width": width, "height": height}
    context = chromium.browser().new_context(
        viewport=size, color_scheme=colours, timezone_id="UTC", locale="en-GB", reduced_motion="reduce"
    )
    return context.new_page()


def open_view(at: Any, base: str, route: str) -> None:
    """Opens a view and waits until it is drawn."""
    at.goto(f"{base}#/{route}")
    at.wait_for_selector("main h1")
    at.wait_for_selector("main .loading", state="detached")
    at.wait_for_timeout(400)  # charts and the timeline draw after they are loaded


def keep(at: Any, name: str) -> None:
    """Writes the picture of a page with a small palette, so that the file is small."""
    picture = Image.open(io.BytesIO(at.screenshot())).convert("RGB").quantize(256, kmeans=2, dither=Image.Dither.NONE)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    if len(out.getvalue()) >= LARGEST:
        raise SystemExit(f"{name} must be below {LARGEST} bytes, got {len(out.getvalue())}")
    (FOLDER / f"{name}.png").write_bytes(out.getvalue())


def views(names: list[str]) -> None:
    """Takes a picture of every view in every look."""
    with shop() as (_, base), TemporaryDirectory() as folder:
        upload = scene.record(Path(folder))
        for look in LOOKS:
            at = page(look)
            for view in [*VIEWS, REPORT, STUCK]:
                if names and view.name not in names:
                    continue
                open_view(at, base, view.route)
                if view.name == "travel":
                    if look == "light":
                        at.locator('input[type="file"]').set_input_files(upload)
                    at.get_by_label("Step", exact=True).wait_for()
                    at.get_by_role("button", name="Go to step 4").click()
                    at.wait_for_timeout(400)
                    at.evaluate("scrollTo(0, 0)")
                keep(at, f"{view.name}-{look}")
            at.context.close()


def walk() -> None:
    """Takes the pictures of one walk: a stuck workflow is found, understood, tried on a fork, and continued."""
    with shop() as (store, base):
        at = page("light")
        open_view(at, base, "overview")
        keep(at, "walk-1-overview")
        open_view(at, base, "jobs?state=archived")
        keep(at, "walk-2-archived")
        open_view(at, base, f"workflow?id={scene.STUCK}")
        keep(at, "walk-3-why")
        open_view(at, base, f"job?id={scene.CARD}")
        keep(at, "walk-4-job")
        at.locator(".head").get_by_role("button", name="Run now").click()
        dialog = at.get_by_role("dialog")
        dialog.get_by_role("button", name="Try it first").click()
        dialog.get_by_text("Nothing was done").wait_for()
        at.wait_for_timeout(200)
        keep(at, "walk-5-tried")
        dialog.locator('button[type="submit"]').click()
        dialog.wait_for(state="detached")
        scene.finish(store)
        at.get_by_role("button", name="Dismiss").click()
        open_view(at, base, f"workflow?id={scene.STUCK}")
        keep(at, "walk-6-mended")
        open_view(at, base, "audit")
        keep(at, "walk-7-audit")
        at.context.close()


def hour() -> None:
    """Takes the overview after the dashboard was open for an hour, in ten minutes of which the mail server was down."""
    chance = random.Random(7)
    with shop() as (store, base):
        clock = store.clock
        for minute in range(61):
            if minute < 60:
                for index in range(chance.randrange(2, 7)):
                    store.jobs.enqueue("email:send", {"n": index}, id=f"hour-{minute}-{index}", queue="mail")
            httpx.get(f"{base}api/overview").raise_for_status()
            for job in store.jobs.claim("mail", 8, worker="mailer-1", lease=scene.MINUTE, start=8):
                clock.advance(chance.randrange(100, 900))
                if 30 <= minute < 40:
                    store.jobs.fail(job.id, job.version, "SmtpDown", "no route to host")
                else:
                    store.jobs.complete(job.id, job.version)
            clock.advance_to((clock.now // scene.MINUTE + 1) * scene.MINUTE)
        at = page("light")
        open_view(at, base, "overview")
        keep(at, "hour-light")
        at.context.close()


def film() -> None:
    """Takes the views of jobs that wait, in every look, and the dialogue that cancels a branch."""
    store = rc.Store(clock=rc.ManualClock(start=scene.START))
    scene.fill_film(store)
    app = create_ui(store, prefix="/ui", role="operate")
    with live(app) as running:
        base = f"http://127.0.0.1:{running.port}/ui/"
        for look in LOOKS:
            at = page(look)
            open_view(at, base, "job?id=film-7.cut")
            keep(at, f"waiting-{look}")
            at.context.close()
        at = page("light")
        open_view(at, base, "jobs")
        keep(at, "waiting-jobs")
        open_view(at, base, "job?id=film-7.cut")
        at.locator(".head").get_by_role("button", name="Cancel the branch").click()
        dialog = at.get_by_role("dialog")
        dialog.get_by_role("button", name="Try it first").click()
        dialog.get_by_text("Nothing was done").wait_for()
        at.wait_for_timeout(200)
        keep(at, "waiting-branch")
        at.context.close()
        running.run(app.aclose())


def flow() -> None:
    """Takes the page of a workflow of a worker, in every look, the list, and the dialogue of a message."""
    store = rc.Store(clock=rc.ManualClock(start=scene.START - 1000))
    flows.fill(store)
    app = create_ui(store, prefix="/ui", role="operate")
    with live(app) as running:
        base = f"http://127.0.0.1:{running.port}/ui/"
        for look in LOOKS:
            at = page(look)
            open_view(at, base, f"workflow?id={flows.MAIN}")
            keep(at, f"flow-{look}")
            at.context.close()
        at = page("light")
        open_view(at, base, "workflows")
        keep(at, "flow-list")
        open_view(at, base, f"workflow?id={flows.MAIN}")
        at.locator(".head").get_by_role("button", name="Send a message").click()
        dialog = at.get_by_role("dialog")
        dialog.get_by_label("Message (JSON)").fill('{"ip": "192.0.2.7"}')
        dialog.get_by_role("button", name="Try it first").click()
        dialog.get_by_text("Nothing was done").wait_for()
        at.wait_for_timeout(200)
        keep(at, "flow-message")
        at.context.close()
        running.run(app.aclose())


def main(names: list[str]) -> None:
    """Takes the pictures, or those of the named views."""
    FOLDER.mkdir(exist_ok=True)
    try:
        others = {"walk": walk, "hour": hour, "film": film, "flow": flow}
        if not names or set(names) - others.keys():
            chromium.within(views, [name for name in names if name not in others])
        for name, take in others.items():
            if not names or name in names:
                chromium.within(take)
    finally:
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1:])
