"""A worker in a process of its own: ``python -m fastapi_shop.worker``. It ends gracefully on SIGTERM and Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import signal

import resonate_core as rc

from . import settings
from .orders import database
from .work import worker

__all__ = ["main"]


async def main() -> None:
    """Runs jobs and workflows until a signal arrives."""
    with rc.Store(settings.STORE) as store:
        worker.bind(store)
        async with database():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, worker.stop)
            await worker.serve()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(main())
