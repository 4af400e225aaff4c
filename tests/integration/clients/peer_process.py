"""A process with a published client that reads commands from its standard input; programs/python/peer.py describes them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

DEADLINE = 90
"""The maximum time in seconds to wait for anything. Normally everything takes much less."""


class PeerProcess:
    """One process. Its output is kept, and is in its log, together with the log of its client.

    Args:
        name: The name of the process; also the pid under which its client holds tasks.
        command: The command to run.
        folder: The working directory, in which the log is written.
        environment: The whole environment of the process.
    """

    def __init__(self, name: str, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._changed = threading.Condition()
        self._said: list[dict[str, Any]] = []
        self._lines: list[str] = []
        self._numbers = 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )
        self._reader = threading.Thread(target=self._read, name=f"output of {name}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.log.open("a", encoding="utf-8") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                with self._changed:
                    if line.startswith("@@ "):
                        self._said.append(json.loads(line[3:]))
                    else:
                        self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()

    def wait_for(self, member: str, n: int | None = None) -> dict[str, Any]:
        """Waits for a line about command n that has this member or an error; returns it."""
        end = time.monotonic() + DEADLINE
        with self._changed:
            while True:
                for said in self._said:
                    if said.get("n") == n and (member in said or "error" in said):
                        return said
                assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}"
                assert time.monotonic() < end, f"{self.name} did not say {member!r} about command {n} in {DEADLINE} s"
                self._changed.wait(0.2)

    def do(self, what: str, id: str, func: str | None = None, args: list[Any] | None = None, **more: Any) -> Outcome:
        """Sends a command to the process."""
        self._numbers += 1
        command = {"n": self._numbers, "do": what, "id": id, "func": func, "args": args or [], **more}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return Outcome(self, self._numbers)

    def lines(self) -> list[str]:
        """The lines on its standard output that are not answers."""
        with self._changed:
            return list(self._lines)

    def logged(self, *parts: str) -> int:
        """The number of lines of its log that contain one of these parts."""
        return sum(any(part in line for part in parts) for line in self.log.read_text(encoding="utf-8").splitlines())

    def kill(self) -> None:
        """Kills the process with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Ends the process by closing its standard input; returns its exit status."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()  # a program that is not a peer does not read its input
        self._reader.join()
        self.process.stdout.close()
        return self.process.returncode


class Outcome:
    """The result of a command."""

    def __init__(self, peer: PeerProcess, n: int) -> None:
        self.peer = peer
        self.n = n

    def begun(self) -> Outcome:
        """Waits until the server has the promise."""
        said = self.peer.wait_for("created", self.n)
        assert "error" not in said, f"{self.peer.name} could not begin: {said['error']}"
        return self

    def value(self) -> Any:
        """Waits for the value of the command."""
        said = self.peer.wait_for("value", self.n)
        assert "error" not in said, f"a value was expected of {self.peer.name}, not {said['error']!r}"
        return said["value"]

    def error(self) -> str:
        """Waits for the error of the command."""
        said = self.peer.wait_for("value", self.n)
        assert "error" in said, f"an error was expected of {self.peer.name}, not {said['value']!r}"
        return str(said["error"])
