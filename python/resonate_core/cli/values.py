"""Conversion of texts of the command line to values of the protocol: instants, durations, payloads, tags."""

from __future__ import annotations

import base64
import difflib
import json
import re
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

import resonate_core as rc
from resonate_core.base.files import read_text, text_of
from resonate_core.base.payloads import parse_json
from resonate_core.cli.exits import CommandFailed, Exit

__all__ = ["SETTLED_STATES", "duration", "encode", "instant", "now", "one_of", "pairs", "payload", "read_json", "tags_of"]

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_MOST = 2**63 - 1
#: The states that a client can settle a promise with.
SETTLED_STATES = ("resolved", "rejected", "rejected_canceled")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def now() -> int:
    """The present instant in Unix ms, as the engine reads it."""
    return rc.SystemClock().now


def refuse(option: str, text: str, rule: str) -> NoReturn:
    """End the command with the error of an invalid value."""
    raise CommandFailed(f"{option}: {text!r} {rule}", Exit.USAGE)


def one_of(text: str, option: str, choices: Sequence[str]) -> str:
    """A text that must be one of several.

    Args:
        text: The text.
        option: The name of the option, for errors.
        choices: The texts that it may be.

    Raises:
        CommandFailed: It is none of them (USAGE); the error has all of them, and the nearest one.

    Example:
        >>> from resonate_core.cli.values import one_of
        >>> one_of("runing", "--state", ["pending", "running"])
        Traceback (most recent call last):
        resonate_core.cli.exits.CommandFailed: --state must be pending or running, got 'runing': did you mean running?
    """
    if text in choices:
        return text
    near = difflib.get_close_matches(text.lower(), choices, 1)
    listed = ", ".join(choices[:-1]) + f" or {choices[-1]}" if len(choices) > 1 else choices[0]
    hint = f": did you mean {near[0]}?" if near else ""
    raise CommandFailed(f"{option} must be {listed}, got {text!r}{hint}", Exit.USAGE)


def duration(text: str, option: str) -> int:
    """A length of time in ms.

    Args:
        text: Such as `90s`, `1h30m`, `2d`, `250ms`, or a bare number of ms.
        option: The name of the option, for errors.

    Raises:
        CommandFailed: It is none (USAGE).

    Example:
        >>> from resonate_core.cli.values import duration
        >>> duration("1h30m", "--ttl"), duration("250", "--ttl")
        (5400000, 250)
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        length = int(text)
    elif text and not _PART.sub("", text):
        length = round(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))
    else:
        refuse(option, text, "is no length of time: write it as 90s, 1h30m, 2d, 250ms, or as a number of milliseconds")
    if length > _MOST:
        refuse(option, text, "is longer than the protocol's 64 bits of milliseconds")
    return length


def instant(text: str, option: str, *, clock: Callable[[], int] = now) -> int:
    """An instant in Unix ms.

    Args:
        text: ISO 8601 (UTC where it names no offset), `+10m` from now, `-7d` before now, a bare length of time from now (`10m`), or Unix
            ms as a number.
        option: The name of the option, for errors.
        clock: Says what now is.

    Raises:
        CommandFailed: It is none (USAGE).

    Example:
        >>> from resonate_core.cli.values import instant
        >>> instant("1970-01-02", "--timeout"), instant("+10m", "--timeout", clock=lambda: 5)
        (86400000, 600005)
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return duration(text, option)
    if text[:1] in ("+", "-") and text[1:]:
        length = duration(text[1:], option)
        return clock() + length if text[0] == "+" else max(clock() - length, 0)
    if text and not _PART.sub("", text):
        return clock() + duration(text, option)
    try:
        # Python 3.10 knows no Z.
        read = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError:
        refuse(option, text, "is no instant: write it as 2026-05-01T12:00Z, as +10m from now, or as Unix milliseconds")
    at = (read if read.tzinfo else read.replace(tzinfo=timezone.utc)) - _EPOCH
    return at // timedelta(milliseconds=1)


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Names and their texts, each written `name=text`.

    Raises:
        CommandFailed: One has no `=`, no name, or a name that was given before (USAGE).

    Example:
        >>> from resonate_core.cli.values import pairs
        >>> pairs(["team=blue", "note=a=b"], "--tag")
        {'team': 'blue', 'note': 'a=b'}
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            refuse(option, text, "is not written as name=value")
        if name in found:
            refuse(option, text, f"names {name!r} a second time")
        found[name] = value
    return found


def tags_of(texts: Sequence[str] | None, target: str | None) -> dict[str, str]:
    """The tags of a promise, of `--tag` and `--target`.

    Raises:
        CommandFailed: As `pairs`.

    Example:
        >>> from resonate_core.cli.values import tags_of
        >>> tags_of(["team=blue"], "poll://any@default")
        {'team': 'blue', 'resonate:target': 'poll://any@default'}
    """
    return pairs(texts, "--tag") | ({} if target is None else {"resonate:target": target})


def _given(text: str, option: str) -> str:
    """Return the text itself, that of a file (`@file`), or that of standard input (`-`)."""
    if text != "-" and not text.startswith("@"):
        return text
    name = text[1:] or "standard input"
    try:
        return read_text(sys.stdin, name) if text == "-" else text_of(text[1:])
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        if isinstance(error, UnicodeDecodeError):
            reason = "it is not UTF-8"
        raise CommandFailed(f"{option}: cannot read {name!r}: {reason}", Exit.USAGE) from error


def read_json(text: str, option: str) -> Any:
    """Decode a JSON text, from the option, a file or standard input.

    Raises:
        CommandFailed: It is no JSON, or cannot be read (USAGE).
    """
    text = _given(text, option)
    try:
        return parse_json(text)
    except ValueError as error:
        shown = text.strip() if len(text) < 60 else text.strip()[:57] + "..."
        hint = "; a text has its quotes: '\"text\"'" if re.fullmatch(r"[\w .:/-]+", shown) else ""
        raise CommandFailed(f"{option}: {shown!r} is no JSON: {error}{hint}", Exit.USAGE) from error


def encode(value: Any) -> str:
    """Encode a value as JSON in base64, as the clients of the protocol do.

    Example:
        >>> from resonate_core.cli.values import encode
        >>> encode({"ok": True})
        'eyJvayI6dHJ1ZX0='
    """
    return base64.b64encode(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()).decode("ascii")


def payload(text: str | None, option: str, *, raw: bool, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a value of the protocol, `{"headers", "data"}`, with the members that are given.

    Args:
        text: JSON, `@file` with it, or `-` for standard input; None: no data.
        option: The name of the option, for errors.
        raw: Give the text as it is, instead of its JSON in base64.
        headers: The headers.

    Raises:
        CommandFailed: It is no JSON, or cannot be read (USAGE).
    """
    made: dict[str, Any] = {"headers": headers} if headers else {}
    if text is not None:
        made["data"] = _given(text, option) if raw else encode(read_json(text, option))
    return made
