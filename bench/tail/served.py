"""A server in a process of its own that prepares one scene in its store and says on standard output when it is ready.

python -m bench.tail.served SCENE PORT [--db FILE] [--size N]
"""

from __future__ import annotations

import argparse
import json

import uvicorn

import resonate_core as rc
from resonate_core.asgi import create_app

from .scenes import SCENES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("port", type=int)
    parser.add_argument("--db", help="a SQLite file, NORMAL; memory without it")
    parser.add_argument("--size", type=int, help="how many promises the scene has; the scene's own number without it")
    arguments = parser.parse_args()
    store = rc.Store(arguments.db, durability="normal") if arguments.db else rc.Store()
    scene = SCENES[arguments.scene]
    trigger = scene.prepare(store, arguments.size or scene.size)

    class Server(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)  # type: ignore[arg-type]
            print(json.dumps({"requests": trigger.requests, "at_ms": trigger.at_ms}), flush=True)

    config = uvicorn.Config(
        create_app(store), host="127.0.0.1", port=arguments.port, log_level="error", access_log=False, timeout_keep_alive=3600
    )
    Server(config).run()


if __name__ == "__main__":
    main()
