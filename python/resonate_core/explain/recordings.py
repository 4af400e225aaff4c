"""The lines of a recording, checked as they are read: a recording may come from a stranger.

Every reader of recordings in Python takes its lines from here: histories, timelines, time travel, stories and their tests. The lines
have the types and ranges that `Store.record` writes, so that no reader needs a check of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn, TypeAlias

from resonate_core._core import request_kinds, step_kinds
from resonate_core.base.instants import NEVER
from resonate_core.base.json_numbers import RefusedNumber, finite, int64
from resonate_core.errors import Invalid

__all__ = ["DEEPEST", "KINDS", "STATUSES", "STEPS", "LineReader", "lines_of", "trace_lines"]

#: The internal steps of an engine, by the names that follow `step.`.
STEPS = frozenset(step_kinds())
#: The requests that a recording may have. The others of the protocol ask for the state of an engine, or replace it, which is an `open`.
KINDS = frozenset(kind for kind in request_kinds() if not kind.startswith("debug."))
#: The statuses of replies.
STATUSES = frozenset((200, 300, 400, 401, 403, 404, 409, 413, 422, 429, 500, 503))
#: The dialects of the protocol.
VERSIONS = ("2026-04-01", "2025-01-15")
#: The most levels of lists and objects in a line. The records of a snapshot have 6, and the data of an error may have more.
DEEPEST = 64
#: The most bytes of a line; the first one may have a whole store.
MOST_OF_A_LINE = 536_870_912
FORMAT = "resonate_core-trace/1"
#: The most characters of a value that an error quotes.
_QUOTED = 80
_decoder = json.JSONDecoder(parse_int=int64, parse_float=finite, parse_constant=finite)

_Check = Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_instant(value: Any) -> bool:
    return _is_int(value) and 0 <= value <= NEVER


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_answer(value: Any) -> bool:
    return isinstance(value, (str, dict))


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


#: Of a member: its rule in words, the classes of its values, and what else is checked.
_Rule: TypeAlias = "tuple[str, frozenset[type], _Check | None]"


def _named(names: str, rule: str, *classes: type, check: _Check | None = None) -> dict[str, _Rule]:
    return dict.fromkeys(names.split(), (rule, frozenset(classes), check))


_INT_RULE, _INSTANT_RULE = "an integer", "an instant from 0 to 2^63 - 1"
_INSTANTS = (
    "now at timeoutAt createdAt settledAt nextRunAt lastRunAt expiresAt retryAt queuedAt processAt goodUntil deadline sentAt nextAt "
    "leaseUntil enqueuedAt claimedAt startedAt finishedAt completedAt failedAt nextRetryAt cancelledAt expiredAt reclaimAt refilledAt "
    "firstAt lastAt oldestPendingAt time"
)
#: The members of requests, replies and snapshots: the rule for their values, wherever they stand. A value may also be null.
_MEMBERS: dict[str, _Rule] = {
    **_named(
        "id ikc iku awaiter address cron promiseId promise_id cursor format kind pid corrId type name worker claimedBy code outcome "
        "uniqueKey group onExhausted text problem scope dialect lifecycle serverUrl rules catchup",
        "a text",
        str,
    ),
    **_named(_INSTANTS, _INSTANT_RULE, int, check=_is_instant),
    **_named(
        "ttl lastTtl promiseTimeout limit dropped priority processIn maxRetries uniqueFor base cap count lease runLease weight delay "
        "concurrency per burst processed retryCount number attemptCount level size grace maxDelay goodFor attempt latency runTime timeout "
        "acquisitions retryAfter status unblock_retention",
        _INT_RULE,
        int,
    ),
    **_named("factor progress jitter", "a number", int, float),
    **_named("tags headers promiseTags", "an object of texts", dict, check=_is_text_map),
    **_named("keys codes", "a list of texts", list, check=_is_texts),
    **_named("promises schedules actions jobs preload intervals days hours awaiters listeners callbacks", "a list", list),
    **_named("param value promiseParam payload result head req action report retryPolicy invoked", "an object", dict),
    **_named("options snapshot defaults counts", "an object", dict),
    **_named(
        "strict more paused retryable preloadCut created adopted oneStep cancelWithAwaiters external gathering",
        "true or false",
        bool,
    ),
    **_named("state error job queue promise task schedule message awaited", "a text or an object", str, dict),
    **_named("version retention batch day retry_timeout", "an integer or a text", int, str),
    **_named("attempts lines resumes claims", "an integer or a list", int, list),
    **_named("hour", "an integer or an object", int, dict),
}
#: A request may ask for an instant that its engine refused: the action in a fence is answered by itself.
_OF_REQUESTS = _MEMBERS | _named(_INSTANTS, _INT_RULE, int)
_VALUE = _named("data", "a text", str)
#: The members of some objects have rules of their own: values are encoded texts, and an error has a message.
_OWN_RULES = {
    **dict.fromkeys(("param", "value", "promiseParam", "payload", "result"), _VALUE),
    "error": _named("message", "a text", str),
}


class LineReader:
    """Checks the lines of a recording, one after the other.

    Args:
        first: Whether the first line must be `open`, as in a file.

    Example:
        >>> from resonate_core.explain.recordings import LineReader
        >>> reader = LineReader()
        >>> line = '{"kind": "step.promise_timeout", "now": 5, "req": {"id": "p", "at": 5}, "res": {}}'
        >>> reader.read(line)["kind"]
        'step.promise_timeout'
        >>> reader.read(line.replace("5", "4", 1))
        Traceback (most recent call last):
            ...
        resonate_core.errors.Invalid: trace line 2: now must be at least 5, that of the line before, got 4
    """

    def __init__(self, *, first: bool = False) -> None:
        self._number = 0
        self._first = first
        self._now = 0

    def read(self, text: str | bytes) -> dict[str, Any]:
        """Return the next line.

        Raises:
            Invalid: It breaks a rule; the message has its number, the member and the rule.
        """
        self._number += 1
        try:
            return self._checked(_parsed(text))
        except _Broken as broken:
            raise Invalid(f"trace line {self._number}: {broken}") from broken

    def _checked(self, line: dict[str, Any]) -> dict[str, Any]:
        kind, now = _need(line, "kind", "a text", _is_text), _need(line, "now", _INSTANT_RULE, _is_instant)
        req, res = _need(line, "req", "an object", _is_object), _need(line, "res", "an object", _is_object)
        if self._first and self._number == 1 and kind != "open":
            _refuse("kind", '"open"', kind)
        if kind != "open" and now < self._now:
            _refuse("now", f"at least {self._now}, that of the line before", now)
        made = {"kind": kind, "now": now, "req": req, "res": res}
        if line.get("scope") is not None:
            made["scope"] = _need(line, "scope", "a text", _is_text)
        _walk(req, "req", _OF_REQUESTS)
        _walk(res, "res", _MEMBERS)
        if kind == "open":
            _check_open(req, res)
        elif kind == "messages.take":
            _need(req, "keys", "a list of texts", _is_texts, "req.")
        elif kind.startswith("step.") and kind[5:] in STEPS:
            _check_step(kind[5:], req, res)
        elif kind in KINDS:
            _check_request(kind, req, res)
        else:
            _refuse("kind", "open, messages.take, a step or a request that is recorded", kind)
        self._now = now
        return made


class _Broken(ValueError):
    """A rule that a line breaks."""


def _refuse(name: str, rule: str, got: Any) -> NoReturn:
    raise _Broken(f"{name} must be {rule}, got {ascii(got)[:_QUOTED]}")


def _need(values: Mapping[str, Any], name: str, rule: str, check: _Check, path: str = "") -> Any:
    if name not in values:
        raise _Broken(f"{path}{name} must be {rule}, got none")
    if not check(values[name]):
        _refuse(path + name, rule, values[name])
    return values[name]


def _check_open(req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
    if req.get("format") != FORMAT:
        _refuse("req.format", repr(FORMAT), req.get("format"))
    _need(req, "options", "an object", _is_object, "req.")
    snapshot = _need(res, "snapshot", "an object", _is_object, "res.")
    for name in ("promises", "schedules", "messages"):
        rows = _need(snapshot, name, "a list", _is_list, "res.snapshot.")
        for place, row in enumerate(rows):
            at = f"res.snapshot.{name}[{place}]"
            if not isinstance(row, dict):
                _refuse(at, "an object", row)
            _need(row, "id", "a text", _is_text, f"{at}.")
    _need(snapshot, "now", _INSTANT_RULE, _is_instant, "res.snapshot.")


def _check_step(step: str, req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
    _need(req, "id", "a text", _is_text, "req.")
    _need(req, "at", _INSTANT_RULE, _is_instant, "req.")
    if step == "schedule":
        _need(res, "created", "true or false", _is_bool, "res.")
    elif step == "callback_drain":
        _need(res, "awaiter", "a text", _is_text, "res.")
    elif step == "cancel_drain":
        _need(res, "job", "a text", _is_text, "res.")
        _need(res, "cancelled", "true or false", _is_bool, "res.")


def _check_request(kind: str, req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
    if req.get("kind") != kind:
        _refuse("req.kind", f"that of the line, {kind!r}", req.get("kind"))
    head = _need(req, "head", "an object", _is_object, "req.")
    if head.get("version") not in VERSIONS:
        _refuse("req.head.version", " or ".join(VERSIONS), head.get("version"))
    _need(req, "data", "an object", _is_object, "req.")
    answer = _need(res, "head", "an object", _is_object, "res.")
    status = answer.get("status")
    if not _is_int(status) or status not in STATUSES:
        _refuse("res.head.status", "a status of the protocol", status)
    if status in (200, 300):
        _need(res, "data", "an object", _is_object, "res.")
    else:
        _need(res, "data", "a text or an object", _is_answer, "res.")


def _walk(value: Any, path: str, rules: Mapping[str, _Rule], depth: int = 2, opaque: bool = False) -> None:
    """Check each member below an object or an array by its name, and every text and number."""
    if depth > DEEPEST:
        raise _Broken(f"{path[:_QUOTED]} must be nested at most {DEEPEST} deep")
    if value.__class__ is list:
        for place, one in enumerate(value):
            if one.__class__ in _CONTAINERS:
                _walk(one, f"{path}[{place}]", rules, depth + 1, opaque)
        return
    assert isinstance(value, dict)
    parent = path.rpartition(".")[2]
    if not opaque and parent in _OWN_RULES:
        rules = {**rules, **_OWN_RULES[parent]}
    for name, one in value.items():
        kind = one.__class__
        if not opaque and one is not None and (rule := rules.get(name)) is not None:
            words, classes, check = rule
            if kind not in classes or (check is not None and not check(one)):
                _refuse(f"{path}.{name}", words, one)
        if kind in _CONTAINERS:
            # The data of an envelope are `req.data` and `res.data`, and those of the actions in them; of an error, any JSON.
            own = opaque or name in _FREE or (name == "data" and parent == "error")
            _walk(one, f"{path}.{name}", rules, depth + 1, own)


_CONTAINERS = frozenset((dict, list))
#: Members whose own members are named by programs.
_FREE = frozenset(("tags", "headers", "promiseTags", "counts"))


def _check_unicode(value: Any, path: str = "") -> None:
    """Refuse a text with half a surrogate pair: JSON may escape one, and nothing that is written from it can be UTF-8."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse(path[:_QUOTED], "valid Unicode", value)
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_unicode(name, f"a name in {path or 'it'}")
            _check_unicode(one, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            _check_unicode(one, f"{path}[{place}]")


def _parsed(text: str | bytes) -> dict[str, Any]:
    if len(text) > MOST_OF_A_LINE:
        raise _Broken(f"a line must have at most {MOST_OF_A_LINE} bytes, got more")
    try:
        text = text.decode() if isinstance(text, bytes) else text
        made = _decoder.decode(text)
        if "\\u" in text or not text.isascii():
            _check_unicode(made)
    except UnicodeDecodeError as error:
        raise _Broken(f"a line must be UTF-8, got {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise _Broken(f"a line must be nested at most {DEEPEST} deep") from None
    except _Broken:
        raise
    except RefusedNumber as error:
        raise _Broken(str(error)) from None
    except ValueError:
        raise _Broken(f"a line must be JSON, got {ascii(text)[:_QUOTED]}") from None
    if not isinstance(made, dict):
        raise _Broken(f"a line must be a JSON object, got {ascii(text)[:_QUOTED]}")
    return made


def trace_lines(source: Any) -> Iterator[str | bytes]:
    """Return the lines of a recording that are not empty: of a path, an open file, lines, or a recorded `io.StringIO`.

    Of a path, a line that is too long is cut: its beginning is refused when it is read.
    """
    if hasattr(source, "getvalue"):
        source = source.getvalue()
        source = source.split(b"\n" if isinstance(source, bytes) else "\n")
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            yield from trace_lines(iter(partial(file.readline, MOST_OF_A_LINE + 1), b""))
        return
    for line in source:
        if len(line) > MOST_OF_A_LINE or line.strip():
            yield line


def lines_of(source: Any) -> Iterator[dict[str, Any]]:
    """Return the checked lines of a recording.

    Raises:
        Invalid: A line breaks a rule; the message has its number.
    """
    reader = LineReader()
    return (reader.read(line) for line in trace_lines(source))
