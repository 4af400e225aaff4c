"""A recording as a test that repeats it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pprint import pformat
from typing import Any, TypeAlias

from .access import Refused, StoreAccess
from .exported_values import ExportedValues
from .recording import Recording

__all__ = ["pytest_code"]

_HEAD = """

from __future__ import annotations

from typing import Any

import resonate_core as rc

OPTIONS: dict[str, Any] = """
_ASK = '''


def ask(store: rc.Store, now: int, kind: str, data: dict[str, Any], version: str = "2026-04-01") -> Any:
    """Run a request at an instant; return its status."""
    reply = store.apply({"kind": kind, "head": {"corrId": "story", "version": version}, "data": data}, now=now)
    return reply["head"]["status"]


def '''
_BODY = """() -> None:
    store = rc.Store(clock=rc.ManualClock(START["now"]), **OPTIONS)
    store.restore(START)
"""
#: The most ids whose state is compared at the end.
_MOST_STATES = 200
#: The most bytes of the lines that become a test: no person reads a longer one.
_MOST_BYTES = 4_194_304
_WIDTH = 120


class _Literal:
    """A value that is written as a literal of Python, after everything that it hides is known.

    Args:
        value: Of JSON.
        indent: The columns before it.
    """

    def __init__(self, value: Any, indent: int = 0) -> None:
        self.value, self.indent = value, indent


#: Code of this module, or a value: nothing that a recording contains is code.
Part: TypeAlias = "str | _Literal"


def pytest_code(access: StoreAccess, recording: Recording, n: int) -> str:
    """Return Python code of a test that runs the events up to one, and compares statuses and the states at the end.

    Args:
        access: To the store, with the redaction of the response: redacted values are not written.
        recording: The recording.
        n: The last event.
    """
    size = sum(recording.size(event) for event in recording.events[: n + 1])
    if size > _MOST_BYTES:
        raise Refused(
            413, f"a story as a test must have at most {_MOST_BYTES} bytes of a recording, got {size}: take an earlier event"
        )
    values = ExportedValues(access, recording, n)
    start = values.redacted(recording.line(recording.events[0])["res"]["snapshot"])
    function = "test_" + (re.sub("[^a-z0-9]+", "_", recording.name.lower()).strip("_") or "story")
    title = _Literal(f"{recording.name}: a recorded story, as a test.")
    parts: list[Part] = [
        title,
        _HEAD,
        _Literal(dict(recording.options)),
        "\nSTART: dict[str, Any] = ",
        _Literal(start),
        _ASK,
        function,
        _BODY,
    ]
    ticked: tuple[int, int] | None = None
    for event in recording.events[1 : n + 1]:
        line = recording.line(event)
        if event.kind.startswith("step."):
            at, count = ticked or (event.at, 0)
            if at != event.at:
                parts.append(_tick(at, count))
                count = 0
            ticked = (event.at, count + (event.kind != "step.job_retention_put_off"))
            continue
        if ticked:
            parts.append(_tick(*ticked))
            ticked = None
        parts += _line(values, event.kind, event.at, event.status, line)
    if ticked:
        parts.append(_tick(*ticked))
    parts += _ends(access, recording, n)
    return _written(access, parts)


def _written(access: StoreAccess, parts: list[Part]) -> str:
    """Return the code, with each value as a literal: redacted before it is written, since a replacement in code would change it."""
    shown = iter(access.redaction.document([part.value for part in parts if isinstance(part, _Literal)]))
    return "".join(part if isinstance(part, str) else _code(next(shown), part.indent) for part in parts)


def _tick(at: int, count: int) -> str:
    # A tick returns no deletion that was put off.
    return f"    assert len(store.tick({at}, limit={max(count, 1)})) == {count}\n"


def _line(values: ExportedValues, kind: str, at: int, status: int | None, line: Mapping[str, Any]) -> list[Part]:
    if kind == "open":
        return ["    store.restore(", _Literal(values.redacted(line["res"]["snapshot"]), 4), ")\n"]
    if kind == "messages.take":
        keys = _Literal(sorted(set(line["req"]["keys"])), 4)
        return ["    store.acknowledge([one.number for one in store.messages() if one.key in ", keys, "])\n"]
    version = line["req"]["head"]["version"]
    more: list[Part] = [] if version == "2026-04-01" else [", ", _Literal(version)]
    asked: list[Part] = [_Literal(at), ", ", _Literal(kind), ", ", _Literal(values.redacted(line["req"]["data"]), 8), *more]
    return ["    assert ask(store, ", *asked, ") == ", _Literal(status), "\n"]


def _ends(access: StoreAccess, recording: Recording, n: int) -> list[Part]:
    """Compare the states at the end."""
    states = {}
    for row in recording.state(n).snapshot()["promises"][:_MOST_STATES]:
        states[row["id"]] = row["job"]["state"] if "job" in row else row["state"]
    return [
        '    rows = {row["id"]: row for row in store.snapshot()["promises"]}\n',
        '    states = {id: row.get("job", row)["state"] for id, row in rows.items()}\n',
        "    assert states.items() >= ",
        _Literal(states, 4),
        ".items()\n",
    ]


def _code(value: Any, indent: int) -> str:
    """Return a value of JSON as a literal; `repr` escapes what could end a text or a line."""
    text = pformat(value, width=_WIDTH - indent, sort_dicts=False, compact=True)
    return text.replace("\n", "\n" + " " * indent)
