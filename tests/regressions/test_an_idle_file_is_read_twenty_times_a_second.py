"""A server read its file every 50 ms to find writes of other processes: an idle one used 1 % of a core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import resonate_core as rc
from resonate_core.calls.serial_executor import SerialExecutor
from resonate_core.server.driver import Driver
from resonate_core.server.metrics import Metrics

PATIENCE = 60.0
INTERVAL = 0.005


class Counted:
    """A store that counts how often its driver reads it."""

    def __init__(self, store: rc.Store) -> None:
        self._store = store
        self.looks = 0

    def next_due(self) -> int | None:
        self.looks += 1
        return self._store.next_due()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Deliveries:
    """Records the messages that it is given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    async def deliver(self, messages: list[Any]) -> set[str]:
        self.given += [message.id for message in messages]
        return set()

    def take_addresses(self) -> list[str]:
        return []

    def before_read(self) -> None: ...

    def accepting(self, addresses: list[str], blocked: set[str]) -> list[str]:
        return addresses


async def until(holds: Callable[[], bool]) -> None:
    async def look() -> None:
        while not holds():
            await asyncio.sleep(INTERVAL)

    await asyncio.wait_for(look(), PATIENCE)


def test_an_idle_file_is_left_alone_until_somebody_writes_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        with rc.Store(tmp_path / "a.db") as own, rc.Store(tmp_path / "a.db") as other:
            own.promises.create("first", 4_000_000_000_000)
            store, deliveries, line = Counted(own), Deliveries(), SerialExecutor("driver")
            driver = Driver(store, line.call, Metrics(), INTERVAL)  # type: ignore[arg-type]
            driver.serve(deliveries)  # type: ignore[arg-type]
            running = asyncio.ensure_future(driver.run())
            try:
                await asyncio.sleep(0.5)  # the commit is old by then
                for number in range(3):
                    await asyncio.sleep(0.3)
                    looks = store.looks
                    await asyncio.sleep(40 * INTERVAL)
                    assert store.looks - looks <= 2
                    other.promises.create(f"task-{number}", 4_000_000_000_000, tags={"resonate:target": "poll://any@g"})
                    await until(lambda number=number: f"task-{number}" in deliveries.given)  # type: ignore[misc]
            finally:
                driver.end()
                await running
                line.close()

    asyncio.run(main())
