"""Fixtures of the browser tests: pages that fail their test if anything goes wrong in them, and a shop to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from browser import chromium, scene
from browser.pages import Opener, Shop, Ui, showing


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that use a page in the browser's thread."""
    if not {"open_page", "shop_page"} & set(pyfuncitem.fixturenames):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    chromium.within(pyfuncitem.obj, **arguments)
    return True


def pytest_sessionfinish() -> None:
    """Ends the browser of this process."""
    chromium.close()


@pytest.fixture
def open_page() -> Iterator[Opener]:
    """Opens pages: `open_page(base)`, with the options of `chromium.new_page`. Each page is checked when the test ends."""
    chromium.require()
    opened: list[Ui] = []

    def open(base: str, **options: Any) -> Ui:
        opened.append(Ui(chromium.new_page(**options), base))
        return opened[-1]

    def end() -> list[AssertionError]:
        failed = []
        for ui in opened:
            try:
                ui.check()
            except AssertionError as error:
                failed.append(error)
            ui.end()
        return failed

    yield open
    if opened:
        failed = chromium.within(end)
        if failed:
            raise failed[0]


@pytest.fixture(scope="module")
def shop_page(shop: Shop) -> Iterator[Ui]:
    """One page of the shop, shared by the tests of a module that change nothing."""
    chromium.require()
    ui = chromium.within(lambda: Ui(chromium.new_page(), shop.base))
    yield ui
    chromium.within(ui.end)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The scene in memory, for tests that change nothing."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock)
    with showing(store) as base:
        yield Shop(store, clock, base)


@pytest.fixture
def own_shop() -> Iterator[Shop]:
    """The last hours of the scene in memory, for one test that changes them."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock, hours=2)
    with showing(store) as base:
        yield Shop(store, clock, base)


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    """The URL of the dashboard of an empty store."""
    with showing(rc.Store(clock=scene.clock())) as base:
        yield base
