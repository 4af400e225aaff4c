"""PROTOCOL 7 as data: each request that names a promise or a task × each trap, in both dialects and under both rule sets.

A trap is a situation that is easy to get wrong. Each column is a trap for the promise `p`:
  expired     p has a target; its deadline is this instant, and its timeout step has not run
  late        as expired, but long ago: its lease or retry has expired too
  timer       as expired, for a timer (with a target if the rule set allows a timer to have one)
  untargeted  as expired, for an external promise without target or task
  inner dead  as expired, for an internal promise
  settled     the request before settled p at the same instant
  inner       p is internal and alive
  awaiter     p is suspended on x and past its own deadline; the request acts on x
  target      a new promise whose target is empty
  delay       a new promise with a delay
  both        a timer with a target: a new one, or p, alive

A cell is a status and a letter for what the reply shows; `compatible/strict` if the rule sets differ (in 2026-04-01 only, 2.1).
  v verdict of p       p pending p           f p's task fulfilled     s p settled by this request    n x pending, no edge added
  h nothing renewed    x p is not found      a x settled, p not woken d no message before the delay  b no message ever
  i400 the reply is 200; the fenced action in it is refused with 400
  t a tick runs only the timeout of p        q a tick runs no step at all
A cell that begins with "-" is not a test; the letter names the reason in REASONS.
"""

from __future__ import annotations

from dataclasses import dataclass

TRAPS = ("expired", "late", "timer", "untargeted", "inner dead", "settled", "inner", "awaiter", "target", "delay", "both")

REASONS = {
    "-e": "the request settles nothing that an awaiter waits for",
    "-g": "the request carries no tags",
    "-s": "the request names the awaiter as its own task: column expired says the same",
    "-n": "the request names no existing promise",
    "-u": "the rule set refuses a timer with a target, so that there is no such task",
    "-k": "a promise without a task has no such step",
    "-d": "such a promise's only step is in the row of its deadline",
}

TABLE_2026 = """
promise.get        | 200v | 200v | 200v     | 200v | 200v     | 200v | 200p     | -e   | -g       | -g   | -g
promise.create     | 200v | 200v | 200v     | 200v | 200v     | 200v | 200p     | -e   | 400      | 200d | 200b/400
promise.settle     | 200v | 200v | 200v     | 200v | 200v     | 200v | 200s     | 200a | -g       | -g   | -g
callback on        | 200v | 200v | 200v     | 200v | 200v/422 | 200v | 200p/422 | 200n | -g       | -g   | -g
callback by        | 200n | 200n | 200n/422 | 422  | 422      | 200n | 422      | -s   | -g       | -g   | -g
listener           | 200v | 200v | 200v     | 200v | 200v/422 | 200v | 200p/422 | -e   | -g       | -g   | -g
promise.search     | 200v | 200v | 200v     | 200v | 200v     | 200v | 200p     | -e   | -g       | -g   | -g
task.get           | 200f | 200f | 200f/-u  | 404  | 404      | 200f | 404      | -e   | -g       | -g   | 200/-u
task.create        | 200f | 200f | 200f/-u  | 422  | 422      | 200f | 422      | -e   | 400      | 400  | 200b/400
task.acquire       | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -e   | -g       | 200  | 200/-u
task.release       | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -e   | -g       | -g   | 200b/-u
task.suspend       | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -s   | -g       | -g   | 200/-u
task.suspend on    | 300  | 300  | 300      | 300  | 300/422  | 300  | 200/422  | -s   | -g       | -g   | 200/-u
task.fulfill       | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | 200a | -g       | -g   | 200s/-u
task.fence         | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -e   | -g       | -g   | 200/-u
task.fence create  | 200v | 200v | 200v     | 200v | 200v     | 200v | 200p     | -e   | 400/i400 | 200d | 200b/i400
task.fence settle  | 200v | 200v | 200v     | 200v | 200v     | 200v | 200s     | 200a | -g       | -g   | 200s/-u
task.heartbeat     | 200h | 200h | 200h/-u  | 200  | 200      | 200h | 200      | -e   | -g       | -g   | 200/-u
task.heartbeat all | 200h | 200h | 200h/-u  | 200  | 200      | 200h | 200      | -e   | -g       | -g   | 200/-u
task.halt          | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -e   | -g       | -g   | 200/-u
task.continue      | 409  | 409  | 409/-u   | 404  | 404      | 409  | 404      | -e   | -g       | -g   | 200b/-u
task.search        | 200f | 200f | 200f/-u  | 200x | 200x     | 200f | 200x     | -e   | -g       | -g   | 200/-u
schedule.create    | -n   | -n   | -n       | -n   | -n       | -n   | -n       | -n   | 400      | 400  | 200b/400
step: lease        | t    | t    | t/-u     | -k   | -k       | q    | -k       | -e   | -g       | -g   | b/-u
step: dispatch     | t    | t    | t/-u     | -k   | -k       | q    | -k       | -e   | -g       | d    | b/-u
step: deadline     | -d   | -d   | -d       | t    | q        | q    | q        | a    | -g       | -g   | b/-u
"""

TABLE_2025 = """
promise.get        | 200v | 200v | 200v | 200v | 200v | 200v | 200p | -e   | -g  | -g   | -g
promise.create     | 200v | 200v | 200v | 200v | 200v | 200v | 200p | -e   | 400 | 200d | 200b
promise.settle     | 200v | 200v | 200v | 200v | 200v | 200v | 200s | 200a | -g  | -g   | -g
callback on        | 200v | 200v | 200v | 200v | 200v | 200v | 200p | 200n | -g  | -g   | -g
callback by        | 200n | 200n | 200n | 200n | 200n | 200n | 200  | -s   | -g  | -g   | -g
listener           | 200v | 200v | 200v | 200v | 200v | 200v | 200p | -e   | -g  | -g   | -g
task.get           | 200  | 200  | 200  | 404  | 404  | 200  | 404  | -e   | -g  | -g   | 200
task.create        | 200v | 200v | 200v | 200v | 200v | 200v | 200p | -e   | 400 | 400  | 200b
task.acquire       | 409  | 409  | 409  | 404  | 404  | 409  | 404  | -e   | -g  | 200  | 200
task.release       | 409  | 409  | 409  | 404  | 404  | 409  | 404  | -e   | -g  | -g   | 200b
task.suspend       | 409  | 409  | 409  | 404  | 404  | 409  | 404  | -s   | -g  | -g   | 200
task.suspend on    | 300  | 300  | 300  | 300  | 300  | 300  | 200  | -s   | -g  | -g   | 200
task.fulfill       | 409  | 409  | 409  | 404  | 404  | 409  | 404  | 200a | -g  | -g   | 200s
task.fence         | 409  | 409  | 409  | 404  | 404  | 409  | 404  | -e   | -g  | -g   | 200
task.fence create  | 200v | 200v | 200v | 200v | 200v | 200v | 200p | -e   | 400 | 200d | 200b
task.fence settle  | 200v | 200v | 200v | 200v | 200v | 200v | 200s | 200a | -g  | -g   | 200s
task.heartbeat     | 200h | 200h | 200h | 404  | 404  | 200h | 404  | -e   | -g  | -g   | 200
task.heartbeat all | 200h | 200h | 200h | 200  | 200  | 200h | 200  | -e   | -g  | -g   | 200
schedule.create    | -n   | -n   | -n   | -n   | -n   | -n   | -n   | -n   | 400 | 400  | 200b
step: lease        | t    | t    | t    | -k   | -k   | q    | -k   | -e   | -g  | -g   | b
step: dispatch     | t    | t    | t    | -k   | -k   | q    | -k   | -e   | -g  | d    | b
step: deadline     | -d   | -d   | -d   | t    | q    | q    | q    | a    | -g  | -g   | b
"""


@dataclass(frozen=True)
class Cell:
    """One request × trap under one dialect and rule set.

    Attributes:
        version: The dialect.
        rules: The rule set.
        request: The row.
        trap: The column.
        code: The cell, or the reason why it is not a test.
    """

    version: str
    rules: str
    request: str
    trap: str
    code: str

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.version[:4]}-{self.rules}-{self.request}-{self.trap}".replace(" ", "_")

    @property
    def meaningless(self) -> bool:
        """Whether the combination is left out, with a reason."""
        return self.code.startswith("-")

    @property
    def status(self) -> int | None:
        """The status of the reply; None for steps. A refused action ("i400") is in a reply of 200."""
        if self.code.startswith("i"):
            return 200
        return int(self.code[:3]) if self.code[0].isdigit() else None

    @property
    def letter(self) -> str:
        """The code without the status before it: a letter, "i400", or an empty text."""
        return self.code[3:] if self.code[0].isdigit() else self.code


def _cells(version: str, table: str) -> list[Cell]:
    cells = []
    for line in table.strip().splitlines():
        request, *codes = (c.strip() for c in line.split("|"))
        for trap, code in zip(TRAPS, codes, strict=True):
            both = code.split("/") * 2
            cells += [Cell(version, rules, request, trap, both[i]) for i, rules in enumerate(("compatible", "strict"))]
    return cells


CELLS = _cells("2026-04-01", TABLE_2026) + _cells("2025-01-15", TABLE_2025)
