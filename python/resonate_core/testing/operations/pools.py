"""Small pools of names and numbers, so that requests often use the same ones."""

from __future__ import annotations

from typing import Any

INT64_MAX = 2**63 - 1
SAFE_INTEGER = 2**53 - 1

# The order of the last two in UTF-8 is the reverse of that in UTF-16.
IDS: list[str] = ["a", "b", "b.1", "b:2", "～", "\U0001f600"]
SCHEDULE_IDS: list[str] = ["s", "s.x"]
PIDS: list[str] = ["w1", "w2"]
KEYS: list[Any] = [None, None, None, "k1", "k2"]
TARGETS: list[str] = ["poll://any@g", "http://h/x", "anything"]
LISTENERS: list[str] = ["poll://any@g", "http://h/x", "https://h/y", "x:y", "poll://g", "default", ":y", "1x:y", "x:"]
BRANCHES: list[str] = ["br", "br", ""]

TTLS: list[int] = [100, 100, 1000, 1, 10, 60_000, SAFE_INTEGER, INT64_MAX]
# Relative to the current instant; ABSOLUTE_TIMEOUTS are absolute (see `Resolver.deadline`).
TIMEOUTS: list[int] = [1000, 10_000, 100_000, 100, 10, 1, 0, -1, 2**50]
ABSOLUTE_TIMEOUTS: list[int] = [INT64_MAX, SAFE_INTEGER, 0, 1]
DELAYS: list[int] = [10, 500, 0, 5000]
RAW_DELAYS: list[Any] = ["-1", "+5", "1.0", "", "x", "007", str(2**63)]
FAR_INSTANTS: list[int] = [SAFE_INTEGER, INT64_MAX - 1, INT64_MAX]

CRONS: list[str] = [
    "* * * * *",
    "*/10 * * * * *",
    "*/5 * * * *",
    "30 4 * jan-mar Mon-Fri",
    "@hourly",
    "0 0 13 * fri",
    "CRON_TZ=Europe/Berlin 30 2 * * *",
    "0 0 29 2 *",
]
BAD_CRONS: list[str] = ["0 0 30 2 *", "* * * *", "60 * * * *", "CRON_TZ=Nowhere/Land * * * * *"]
TEMPLATES: list[str] = ["{{.id}}.{{.timestamp}}", "b.1", "n:{{.id}}", "{{.timestamp}}", "{{id}}"]
PROMISE_TIMEOUTS: list[int] = [1000, 15_000, 0, 1, 10**6, INT64_MAX]

VALUES: list[Any] = [
    None,
    {},
    {"data": "dmFsdWU="},
    {"data": ""},
    {"headers": {}},
    {"headers": {"k": "v", "\xe9": ""}, "data": "not base64"},
    {"headers": None, "data": None},
]
SETTLED: list[str] = ["resolved", "rejected", "rejected_canceled"]
PROMISE_STATES: list[str] = ["pending", *SETTLED, "rejected_timedout"]
TASK_STATES: list[str] = ["pending", "acquired", "suspended", "halted", "fulfilled"]
GLOBS: list[Any] = [None, None, "*", "b*", "*.*", "a", "**1", "", "b?1"]

# The values that a corruption puts in place of a member.
WRONG: list[Any] = [None, 1.0, True, "5", "", "a\0b", [], {}, -1, 2**63, -(2**63) - 1, ["x"], {"x": 1}, 0]
RAW_TEXTS: list[Any] = [
    "",
    "[]",
    "null",
    "{",
    '{"kind": "promise.get"} x',
    '[{"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}]',
    '{"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a", "id": "b"}}',
    '{"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "\\ud83d\\ude00"}}',
    '{"kind": "promise.get", "head": {"corrId": "1", "version": "1999-01-01"}, "data": {"id": "a"}}',
    '{"kind": "promise.get", "head": {"corrId": 1, "version": "2026-04-01"}, "data": {"id": "a"}}',
]
