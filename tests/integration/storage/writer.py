"""Writers that are killed: each sends requests to a store and prints every answer, until SIGKILL.

    writer.py STORE KILLS SEED

Prints a line for every answer; `checker.py` compares the store with these lines. Three writers of four are killed after two answers or
more, however long they took to open the store; each fourth one at any time.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import resonate_core as rc

LISTENER = "poll://uni@listeners/1"


def write(path: str, generation: int, seed: int, counted: int) -> None:
    """Creates and settles promises, registers listeners and runs tasks, until the process is killed.

    Args:
        path: The store.
        generation: The number of the writer.
        seed: Of what it does.
        counted: A file descriptor that gets a byte for each answer.
    """

    def answered(line: str) -> None:
        """Prints a line without a buffer, so that a kill after it does not lose it."""
        os.write(1, f"{line}\n".encode())
        os.write(counted, b".")

    chance = random.Random(seed)
    store = rc.Store(path)
    far = store.now + 10**10
    for number in range(10**6):
        name = f"g{generation}-{number}"
        match chance.randrange(4):
            case 0:
                store.promises.create(name, far, param=chance.randbytes(chance.randrange(2000)))
                answered(f"pending {name}")
            case 1:
                store.promises.create(name, far)
                store.promises.register_listener(name, LISTENER)
                answered(f"listening {name}")
                store.promises.resolve(name, "done")
                answered(f"unblocked {name}")
            case 2:
                store.promises.create(name, far, tags={"resonate:target": "poll://any@workers"})
                store.tasks.acquire(name, 0, pid=f"worker-{generation}", ttl=60_000)
                answered(f"acquired {name}")
                store.tasks.fulfill(name, 1, "done")
                answered(f"resolved {name}")
            case 3:
                names = [f"{name}-{i}" for i in range(20)]
                store.promises.create_many(names, far)
                answered("pending " + " ".join(names))


def main() -> None:
    path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    for generation in range(kills):
        answers, counted = os.pipe()
        child = os.fork()
        if child == 0:
            write(path, generation, seed + generation, counted)
            os._exit(1)  # not reached
        os.close(counted)
        if generation % 4:
            for _ in range(2):
                os.read(answers, 1)
        time.sleep(chance.uniform(0.0, 0.12))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(answers)
        if not os.WIFSIGNALED(status):
            sys.exit(f"writer {generation} ended on its own: {status}")


if __name__ == "__main__":
    main()
