"""A recording as a test that repeats it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pprint import pformat
from typing import Any

from .._payloads import decoded
from .access import StoreAccess
from .journeys import Journey
from .payloads import encoded
from .redaction import REDACTED

__all__ = ["pytest_story"]

_HEAD = '''"""{name}: a recorded story, as a test."""

from __future__ import annotations

from typing import Any

import resonate_core as rc

OPTIONS: dict[str, Any] = {options}
START: dict[str, Any] = {start}


def ask(store: rc.Store, now: int, kind: str, data: dict[str, Any], version: str = "2026-04-01") -> Any:
    """Run a request at an instant; return its status."""
    reply = store.apply({{"kind": kind, "head": {{"corrId": "story", "version": version}}, "data": data}}, now=now)
    return reply["head"]["status"]


def {function}() -> None:
    store = rc.Store(clock=rc.ManualClock(START["now"]), **OPTIONS)
    store.restore(START)
'''
_VALUES = ("payload", "result", "param", "value", "promiseParam")
#: The most ids whose state is compared at the end.
_MOST_STATES = 200
_WIDTH = 120


def pytest_story(access: StoreAccess, journey: Journey, n: int) -> str:
    """Return Python code of a test that runs the events up to one, and compares statuses and the states at the end.

    Args:
        access: To the store, with the redaction of the response: redacted values are not written.
        journey: The recording.
        n: The last event.
    """
    start = _redacted(access, journey.lines[0]["res"]["snapshot"])
    function = "test_" + (re.sub(r"\W+", "_", journey.name.lower()).strip("_") or "story")
    name = journey.name.replace('"', "'").replace("\\", "/")
    parts = [_HEAD.format(name=name, options=_code(journey.options, 0), start=_code(start, 0), function=function)]
    ticked: tuple[int, int] | None = None
    for event in journey.events[1 : n + 1]:
        line = journey.lines[event.lines[0]]
        if event.kind.startswith("step."):
            at, count = ticked or (event.at, 0)
            if at != event.at:
                parts.append(_tick(at, count))
                count = 0
            ticked = (event.at, count + 1)
            continue
        if ticked:
            parts.append(_tick(*ticked))
            ticked = None
        parts.append(_line(access, event.kind, event.at, event.status, line))
    if ticked:
        parts.append(_tick(*ticked))
    parts += _ends(access, journey, n)
    text: str = access.redaction.document("".join(parts))
    return text


def _tick(at: int, count: int) -> str:
    return f"    assert len(store.tick({at}, limit={count})) == {count}\n"


def _line(access: StoreAccess, kind: str, at: int, status: int | None, line: Mapping[str, Any]) -> str:
    if kind == "open":
        return f"    store.restore({_code(_redacted(access, line['res']['snapshot']), 4)})\n"
    if kind == "messages.take":
        keys = set(line["req"]["keys"])
        return f"    store.acknowledge([one.number for one in store.messages() if one.key in {_code(sorted(keys), 4)}])\n"
    data = _code(_redacted(access, line["req"]["data"]), 8)
    version = line["req"]["head"]["version"]
    more = "" if version == "2026-04-01" else f", {version!r}"
    return f"    assert ask(store, {at}, {kind!r}, {data}{more}) == {status}\n"


def _ends(access: StoreAccess, journey: Journey, n: int) -> list[str]:
    """Compare the states at the end."""
    states = {}
    for row in journey.state(n).snapshot()["promises"][:_MOST_STATES]:
        states[row["id"]] = row["job"]["state"] if "job" in row else row["state"]
    return [
        '    rows = {row["id"]: row for row in store.snapshot()["promises"]}\n',
        '    states = {id: row.get("job", row)["state"] for id, row in rows.items()}\n',
        f"    assert states.items() >= {_code(states, 4)}.items()\n",
    ]


def _code(value: Any, indent: int) -> str:
    text = pformat(value, width=_WIDTH - indent, sort_dicts=False, compact=True)
    return text.replace("\n", "\n" + " " * indent)


def _redacted(access: StoreAccess, value: Any, type: str | None = None) -> Any:
    """Return JSON of the protocol or a snapshot with the values of payloads redacted, encoded again."""
    if not access.redaction.rules.any:
        return value
    if isinstance(value, list):
        return [_redacted(access, one, type) for one in value]
    if not isinstance(value, Mapping):
        return value
    job = value.get("job")
    type = value.get("type") or (job.get("type") if isinstance(job, Mapping) else None) or type
    hidden = access.redaction.rules.hides_type(type if isinstance(type, str) else None)
    made = {}
    for name, member in value.items():
        if name in _VALUES and isinstance(member, Mapping):
            made[name] = _value(access, member, hidden)
        elif name in ("tags", "promiseTags") and isinstance(member, Mapping):
            made[name] = access.redaction.members(member)
        elif name == "error" and isinstance(member, Mapping):
            made[name] = _error(access, member, hidden)
        else:
            made[name] = _redacted(access, member, type)
    return made


def _error(access: StoreAccess, error: Mapping[str, Any], hidden: bool) -> dict[str, Any]:
    if hidden:
        return {**error, **{part: REDACTED for part in ("message", "data") if part in error}}
    return {name: access.redaction.text(text) if isinstance(text, str) else text for name, text in error.items()}


def _value(access: StoreAccess, value: Mapping[str, Any], hidden: bool) -> dict[str, Any]:
    kind, content, _ = decoded(value)
    made: dict[str, Any] = {}
    if value.get("headers"):
        made["headers"] = dict.fromkeys(value["headers"], REDACTED) if hidden else access.redaction.members(value["headers"])
    if hidden and kind != "none":
        access.redaction.hide(content if kind != "binary" else None)
        return {**made, **encoded(REDACTED)}
    if kind == "json":
        return {**made, **encoded(json.loads(json.dumps(access.redaction.members(content))))}
    if kind == "text":
        return {**made, **encoded(access.redaction.text(content))}
    return {**value, **made}
