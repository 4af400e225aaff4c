"""Random recordings, uploads, parameters of views and actions against a dashboard; run as a process of its own by `test_dashboard.py`.

Each run prints its number before it begins. A run fails by an error that is not in the contract: an exception other than `Invalid`, a
status of 500, generated code with anything but literals and its own calls.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlencode

import resonate_core as rc
from fuzz.bounded import runs
from fuzz.mutations import JUNK, changed, changed_bytes, text
from resonate_core.history import History
from resonate_core.ui.recording import Recording
from ui.ui_client import ACTIONS, PAGE, VIEWS, Client, client_of, scene

NDJSON = {"content-type": "application/x-ndjson", "x-resonate-ui": "1"}
#: The statuses that the pages document.
STATUSES = frozenset((200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429))
NAMES = (
    *("id", "travel", "n", "a", "b", "other", "limit", "cursor", "state", "queue", "type", "tag", "arg", "error", "since", "until"),
    *("hours", "name", "q", "group", "full", "root", "batch", "unique", "kind", "nosuch"),
)


def recorded() -> list[str]:
    """The lines of a recording in which everything happens."""
    store, trace = rc.Store(clock=rc.ManualClock(0)), io.StringIO()
    with store.record(trace):
        scene(store)
        store.take_messages()
        store.clock.advance(4_000_000)
    return [line for line in trace.getvalue().split("\n") if line]


LINES = recorded()


def hostile(random: Random) -> list[str]:
    """A recording with some lines changed, left out, doubled or moved."""
    start = random.choice((0,) * 15 + (1,))
    lines = LINES[start : random.choice((3, 10, 40, len(LINES)))]
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(lines)) if lines else 0
        action = random.random()
        if not lines or action < 0.7:
            line = changed(random, json.loads(random.choice(LINES) if not lines else lines[place]))
            lines[place : place + 1] = [json.dumps(line, ensure_ascii=random.random() < 0.5)]
        elif action < 0.8:
            del lines[place]
        elif action < 0.9:
            lines.insert(random.randrange(len(lines) + 1), lines[place])
        else:
            random.shuffle(lines)
    return lines


def check_code(code: str) -> None:
    """Fails if a story as a test has anything but its own calls and literals."""
    allowed = {"store", "rc", "START", "OPTIONS", "ask", "len", "one", "rows", "row", "states", "id", "Any", "now", "kind", "data"}
    allowed |= {"version", "reply", "int", "str", "dict"}
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    assert names <= allowed, names - allowed


def recordings(random: Random, ui: Client) -> None:
    """Every reader of recordings."""
    lines = hostile(random)
    given: Any = lines if random.random() < 0.5 else [line.encode("utf-8", "surrogatepass") for line in lines]
    for read in (History, rc.display.timeline_data, Recording, rc.replay):
        made = None
        with contextlib.suppress(rc.Invalid, *([UnicodeEncodeError] if read is rc.replay else [])):
            made = read(given)
        if isinstance(made, Recording):
            n = random.randrange(len(made.events))
            assert made.state(n).check() == [], n


def uploads(random: Random, ui: Client) -> None:
    """An upload, and the views of what was opened."""
    body = "\n".join(hostile(random)).encode("utf-8", "surrogatepass")
    if random.random() < 0.4:
        body = changed_bytes(random, body)
    name = "".join(f"%{byte:02X}" for byte in text(random)[:50].encode("utf-8", "surrogatepass"))
    opened = judged(ui, "POST", "api/travel", body, {**NDJSON, "x-resonate-name": name})
    if opened is None or "travel" not in opened:
        return
    travel, steps = opened["travel"], opened["steps"]
    for view, query in random.sample(VIEWS, 3):
        given = {**query, "travel": travel, "n": random.randrange(steps)}
        judged(ui, "GET", f"api/{view}?{urlencode(given)}")
    judged(ui, "GET", f"api/travel/state?travel={travel}&n={random.randrange(steps)}")
    judged(ui, "GET", f"api/travel/diff?travel={travel}&a=0&b={random.randrange(steps)}")
    story = ui.request("GET", f"api/travel/pytest?travel={travel}&n={random.randrange(steps)}")
    assert story.status_code in (200, 403, 413), story.text
    if story.status_code == 200:
        check_code(story.text)
    if random.random() < 0.3:
        judged(ui, "POST", "api/travel/fork", changed(random, {"travel": travel, "n": 0, "advanceMs": 1000, "do": []}), PAGE)


def parameters(random: Random, ui: Client) -> None:
    """Parameters of the views."""
    view, known = random.choice(VIEWS)
    pairs = list(known.items())
    for _ in range(random.randint(0, 4)):
        value = random.choice(JUNK)
        pairs.append((random.choice(NAMES), value if isinstance(value, str) else json.dumps(value)))
    query = urlencode([(name, str(value).encode("utf-8", "surrogatepass")) for name, value in pairs])
    if random.random() < 0.1:
        query += random.choice(("&%ff=%ff", "&a", "&&&", "%", "=" * 50, "&x=1" * 300))
    judged(ui, random.choice(("GET", "GET", "GET", "HEAD", "PUT", "POST")), f"api/{view}?{query}")


def actions(random: Random, ui: Client) -> None:
    """Actions and their previews."""
    kind, data = random.choice(ACTIONS)
    body: Any = {"kind": kind, "data": data}
    if random.random() < 0.7:
        body["preview"] = True
    if random.random() < 0.9:
        body = changed(random, body)
    content: Any = json.dumps(body).encode()
    if random.random() < 0.15:
        content = changed_bytes(random, content)
    judged(ui, "POST", "api/do", content, PAGE)


def judged(ui: Client, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    """Sends a request; returns the JSON of its answer, or None if it was refused."""
    answer = ui.request(method, path, body, headers)
    assert answer.status_code in STATUSES, (method, path, body, answer.status_code, answer.text[:500])
    if method == "HEAD":
        return None
    shown = json.loads(answer.text, parse_constant=lambda name: ast.literal_eval(f"'{name} is no JSON'") / 1)
    assert "<" not in answer.text, path
    return shown if answer.status_code == 200 else None


TARGETS: dict[str, Callable[[Random, Client], None]] = {
    "recordings": recordings,
    "uploads": uploads,
    "parameters": parameters,
    "actions": actions,
}


def dashboards() -> list[Client]:
    """Dashboards of several principals on stores with the same content."""
    made = []
    for role, prefix, keys in (
        ("operate", "", []),
        ("operate", "", ["password", "*token*"]),
        ("read", "", []),
        ("operate", "f", ["to"]),
    ):
        store = rc.Store(clock=rc.ManualClock(0))
        scene(store)
        made.append(client_of(store, role, prefix=prefix, redact_keys=keys, recording_bytes=30_000_000))
    return made


def main(target: str, seed: int, least: int, duration: float, room: int) -> None:
    """Run a target, within limits: see `fuzz.bounded.runs`."""
    clients: list[Client] = []
    for number in runs(target, seed, least, duration, room):
        if number == 0 or number % 200 == 199:
            clients = dashboards()
        TARGETS[target](Random(seed + number), clients[number % len(clients)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
