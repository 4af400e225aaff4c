"""Random workflows as data, the outcome that each must have, and which effects it must have.

A program is a list of statements, each a dict with the member `do`. `program_interpreter` runs it as an `async def` or a `def` workflow.
The outcome of a program does not depend on crashes, on who runs it or on how long requests take: what does depend on them is masked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

__all__ = ["DAY", "FOREVER", "MASKED", "Node", "expected", "generate", "must", "nodes"]

Node = dict[str, Any]
Block = list[Node]

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
#: Longer than any run takes: what waits so long must be cancelled.
FOREVER = 5000 * DAY
#: Stands for a value that crashes may change.
MASKED = "*"

_DELAYS = [0, 1, 500, SECOND, 30 * SECOND, MINUTE, HOUR, DAY]
_BACKOFFS = [0, 200, SECOND, 10 * SECOND, 5 * MINUTE]


class _Maker:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.left = self.chance.choice([3, 6, 10, 16, 24])  # statements
        self.keys = 0
        self.blocking = False

    def key(self, kind: str) -> str:
        self.keys += 1
        return f"{kind}{self.keys}"

    def program(self) -> Node:
        self.blocking = self.chance.random() < 0.3
        rounds = self.chance.choice([1, 1, 1, 1, 2, 3])
        made: Node = {
            "kind": "def" if self.blocking else "async",
            "rounds": rounds,
            "body": self.block(0, least=1),
            "ends": self.chance.choice(["returns"] * 6 + ["raises", "waits"]),
            "deploys": self.chance.random() < 0.3,
        }
        return made

    def child_program(self, depth: int) -> Node:
        outer = self.blocking
        self.blocking = self.chance.random() < 0.3
        made: Node = {
            "kind": "def" if self.blocking else "async",
            "rounds": self.chance.choice([1, 1, 1, 2]),
            "body": self.block(depth + 1),
            "ends": self.chance.choice(["returns", "returns", "returns", "raises"]),
        }
        self.blocking = outer
        return made

    def block(self, depth: int, least: int = 0) -> Block:
        most = self.chance.choice([1, 2, 3, 5] if depth else [2, 4, 8, 12])
        made: Block = []
        while len(made) < most and (self.left > 0 or len(made) < least):
            made.append(self.statement(depth))
        return made

    def statement(self, depth: int) -> Node:
        self.left -= 1
        kinds = ["simple"] * 10 + ["start", "start_cancel", "defer", "race", "draw", "tick"]
        if depth < 3:
            kinds += ["gather", "gather", "gather_fails", "first", "patched", "asyncio_gather", "workflow", "exceptions"]
        kind = self.chance.choice(kinds)
        if self.blocking and kind in ("asyncio_gather", "tick"):
            kind = "simple"
        made: Node = self.simple() if kind == "simple" else getattr(self, kind)(depth)
        return made

    # -- calls ---------------------------------------------------------------------------------------------------------

    def simple(self, fails: bool | None = None) -> Node:
        """A call that a branch may be; `fails`: whether it fails, None: it may."""
        failing = self.chance.random() < 0.2 if fails is None else fails
        kinds = ["step"] * 4 + ["call", "promise", "result"]
        kinds += ["receive"] if failing else ["receive", "receive", "sleep", "sleep", "sleep_until", "default"]
        kind = self.chance.choice(kinds)
        if kind == "step":
            return self.step(failing)
        key = self.key(kind[0])
        if kind in ("sleep", "sleep_until"):
            return {"do": kind, "key": key, "ms": self.chance.choice(_DELAYS)}
        if kind == "default":
            return {"do": "receive", "key": key, "does": "default", "ms": self.chance.choice(_DELAYS)}
        if kind == "receive":
            return {"do": "receive", "key": key, "does": "raises" if failing else "sent", "ms": self.chance.choice(_DELAYS)}
        if kind == "call":
            return {"do": "call", "key": key, "fails": 0 if failing else self.chance.choice([0, 0, 1, 2]), "always": failing}
        if kind == "promise":
            outcome = self.chance.choice(["reject", "cancel", "timeout"]) if failing else "resolve"
            return {"do": "promise", "key": key, "outcome": outcome, "ms": self.chance.choice(_DELAYS)}
        outcome = self.chance.choice(["reject", "timeout", "missing"]) if failing else "resolve"
        return {"do": "result", "key": key, "outcome": outcome, "ms": self.chance.choice(_DELAYS)}

    def step(self, fails: bool = False) -> Node:
        retries = self.chance.choice([0, 1, 3])
        return {
            "do": "step",
            "key": self.key("s"),
            "how": self.chance.choice(["async", "def"]),
            "retries": retries,
            "backoff": self.chance.choice(_BACKOFFS),
            "fails": 0 if fails else self.chance.randint(0, retries),
            "slow": self.chance.randint(0, 1) if retries > 1 and not fails else 0,
            "always": fails,
            "skips": fails and self.chance.random() < 0.3,
        }

    def draw(self, depth: int) -> Node:
        return {"do": "draw", "key": self.key("d"), "what": self.chance.choice(["now", "uuid4", "random"])}

    def tick(self, depth: int) -> Node:
        return {"do": "tick"}

    def start(self, depth: int) -> Node:
        return {"do": "start", "key": self.key("c"), "fails": self.chance.choice([0, 1]), "inner": self.block(depth + 1)}

    def start_cancel(self, depth: int) -> Node:
        what = self.chance.choice(["scheduled", "running", "workflow"])
        return {"do": "start_cancel", "key": self.key("c"), "what": what, "inner": self.block(depth + 1)}

    def workflow(self, depth: int) -> Node:
        return {"do": "workflow", "key": self.key("w"), "program": self.child_program(depth)}

    def defer(self, depth: int) -> Node:
        call = self.step() if self.chance.random() < 0.6 else self.simple(fails=False)
        inner = self.block(depth + 1)
        awaited = call["do"] != "step" or self.chance.random() < 0.7
        if self.blocking and not awaited:
            awaited = True
        return {"do": "defer", "call": call, "inner": inner, "awaited": awaited}

    # -- branches ------------------------------------------------------------------------------------------------------

    def branch(self, depth: int) -> Node:
        """A branch that does not fail."""
        if self.blocking or self.chance.random() < 0.4:
            return {"single": self.single(fails=False)}
        return {"block": self.block(depth + 1)}

    def single(self, fails: bool) -> Node:
        while True:
            made = self.simple(fails)
            if not self.blocking or made["do"] in ("step", "call", "promise"):
                return made

    def gather(self, depth: int) -> Node:
        return {"do": "gather", "branches": [self.branch(depth) for _ in range(self.chance.randint(0, 3))]}

    def exceptions(self, depth: int) -> Node:
        branches = [{"single": self.single(fails=self.chance.random() < 0.5)} for _ in range(self.chance.randint(1, 3))]
        return {"do": "exceptions", "branches": branches}

    def asyncio_gather(self, depth: int) -> Node:
        return {"do": "asyncio_gather", "calls": [self.simple(fails=False) for _ in range(self.chance.randint(1, 3))]}

    def decided(self, depth: int, fails: bool) -> Node:
        """A branch that decides; one that fails fails after its statements."""
        if self.blocking or self.chance.random() < 0.5:
            return {"single": self.single(fails)}
        return {"block": self.block(depth + 1), "raises": fails}

    def forever(self, depth: int) -> Node:
        """A branch that has no outcome."""
        kinds = ["promise", "call"] if self.blocking else ["promise", "call", "receive", "sleep", "workflow", "block"]
        kind = self.chance.choice(kinds)
        made: Node = {"forever": kind, "key": self.key("f")}
        if kind == "block":
            made["inner"] = self.block(depth + 1)
        return made

    def others(self, depth: int, decides: Node) -> tuple[list[Node], int]:
        branches = [self.forever(depth) for _ in range(self.chance.randint(1, 2))]
        index = self.chance.randint(0, len(branches))
        branches.insert(index, decides)
        return branches, index

    def gather_fails(self, depth: int) -> Node:
        branches, index = self.others(depth, self.decided(depth, fails=True))
        if self.chance.random() < 0.5:
            branches.append(self.branch(depth))
        return {"do": "gather_fails", "branches": branches, "index": index}

    def first(self, depth: int) -> Node:
        branches, index = self.others(depth, self.decided(depth, fails=self.chance.random() < 0.2))
        return {"do": "first", "branches": branches, "index": index}

    def race(self, depth: int) -> Node:
        return {"do": "race", "key": self.key("r"), "branches": [self.branch(depth) for _ in range(self.chance.randint(1, 3))]}

    def patched(self, depth: int) -> Node:
        return {"do": "patched", "name": self.key("p"), "new": self.block(depth + 1), "old": self.block(depth + 1)}


def generate(seed: int) -> Node:
    """Draw a program. Equal seeds give equal programs."""
    return _Maker(seed).program()


# -- what it must do ---------------------------------------------------------------------------------------------------


def _failed(code: str) -> list[Any]:
    return ["failed", code]


#: The code of a call that failed, by what it was.
_CODES = {
    ("promise", "reject"): "Rejected",
    ("promise", "cancel"): "Cancelled",
    ("promise", "timeout"): "TimeoutError",
    ("result", "reject"): "Rejected",
    ("result", "timeout"): "TimeoutError",
    ("result", "missing"): "NotFound",
}


def value_of(node: Node) -> Any:
    """The value of a statement, or `["failed", code]`."""
    kind = node["do"]
    if kind == "step":
        return _failed("Broken") if node["always"] else node["key"]
    if kind == "call":
        return _failed("ChildBroken") if node["always"] else node["key"]
    if kind in ("promise", "result"):
        return node["key"] if node["outcome"] == "resolve" else _failed(_CODES[kind, node["outcome"]])
    if kind == "receive":
        return {"sent": node["key"], "default": None, "raises": _failed("TimeoutError")}[node["does"]]
    if kind == "start":
        return [_values(node["inner"]), node["key"]]
    if kind == "start_cancel":
        return [_values(node["inner"]), MASKED if node["what"] == "running" else _failed("Cancelled")]
    if kind == "defer":
        return [_values(node["inner"]), value_of(node["call"]) if node["awaited"] else None]
    if kind == "workflow":
        state, value = expected(node["program"])
        return value if state == "completed" else _failed(value)
    if kind in ("gather", "exceptions"):
        return [_of_branch(each) for each in node["branches"]]
    if kind == "asyncio_gather":
        return [value_of(each) for each in node["calls"]]
    if kind == "gather_fails":
        return _of_branch(node["branches"][node["index"]])
    if kind == "first":
        branch = node["branches"][node["index"]]
        value = _of_branch(branch)
        return value if _fails(branch) else [node["index"], value]
    return None if kind in ("sleep", "sleep_until", "tick") else MASKED


def _values(block: Block) -> list[Any]:
    return [value_of(node) for node in block]


def _fails(branch: Node) -> bool:
    if "single" in branch:
        value = value_of(branch["single"])
        return isinstance(value, list) and value[:1] == ["failed"]
    return bool(branch.get("raises"))


def _of_branch(branch: Node) -> Any:
    if "single" in branch:
        return value_of(branch["single"])
    return _failed("Raised") if branch.get("raises") else _values(branch["block"])


def expected(program: Node) -> tuple[str, Any]:
    """The state of its job in the end, and its value; of one that failed, the code."""
    if program["ends"] == "raises":
        return "failed", "Raised"
    if program["ends"] == "waits":
        return "cancelled", None
    return "completed", _values(program["body"])


# -- what is in it -----------------------------------------------------------------------------------------------------


def _inside(node: Node) -> Iterator[tuple[Block, bool]]:
    """The blocks of a statement, and whether each must run."""
    kind = node["do"]
    if kind in ("start", "start_cancel", "defer"):
        yield node["inner"], True
    if kind == "patched":
        yield node["new"], False
        yield node["old"], False
    if kind == "asyncio_gather":
        yield node["calls"], True
    if kind == "defer":
        yield [node["call"]], node["awaited"]
    for at, branch in enumerate(node.get("branches", ())):
        sure = kind in ("gather", "exceptions") or (kind in ("gather_fails", "first") and at == node["index"])
        yield [branch["single"]] if "single" in branch else branch.get("block", branch.get("inner", [])), sure


def nodes(block: Block, run: str, sure: bool = True) -> Iterator[tuple[Node, str, bool]]:
    """Each statement with the run that it belongs to, and whether it must be reached."""
    for node in block:
        yield node, run, sure
        for inner, inner_sure in _inside(node):
            yield from nodes(inner, run, sure and inner_sure)
        if node["do"] == "workflow":
            yield from of_program(node["program"], f"{run}/{node['key']}", sure)


def of_program(program: Node, run: str, sure: bool = True) -> Iterator[tuple[Node, str, bool]]:
    """As `nodes`, for each round of a program."""
    for round in range(1, program["rounds"] + 1):
        yield from nodes(program["body"], f"{run}@{round}", sure)


def must(program: Node) -> dict[str, int | None]:
    """How often each effect happens in a run without crashes, by the key of the effect; None: it may happen or not."""
    found: dict[str, int | None] = {}
    never: dict[str, int | None] = {}
    for node, run, sure in of_program(program, ""):
        key = f"{node.get('key')}{run}"
        if node["do"] == "step":
            times = 1 if node["skips"] else node["retries"] + 1 if node["always"] else node["fails"] + 1
            found[key] = times if sure else None
        elif node["do"] in ("call", "start"):
            found[key] = (1 if node.get("always") else node["fails"] + 1) if sure else None
        elif node["do"] == "defer" and not node["awaited"]:
            never[f"{node['call']['key']}{run}"] = 0
    return {**found, **never}
