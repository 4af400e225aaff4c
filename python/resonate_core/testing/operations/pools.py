"""Small pools of names and numbers, so that requests often use the same ones."""

from __future__ import annotations

INT64_MAX = 2**63 - 1
SAFE_INTEGER = 2**53 - 1

# The order of the last two in UTF-8 is the reverse of that in UTF-16.
IDS = ["a", "b", "b.1", "b:2", "～", "\U0001f600"]
SCHEDULE_IDS = ["s", "s.x"]
PIDS = ["w1", "w2"]
KEYS = [None, None, None, "k1", "k2"]
TARGETS = ["poll://any@g", "http://h/x", "anything"]
LISTENERS = ["poll://any@g", "http://h/x", "https://h/y", "x:y", "poll://g", "default", ":y", "1x:y", "x:"]
BRANCHES = ["br", "br", ""]

TTLS = [100, 100, 1000, 1, 10, 60_000, SAFE_INTEGER, INT64_MAX]
# Relative to the current instant; ABSOLUTE_TIMEOUTS are absolute (see resolve.deadline).
TIMEOUTS = [1000, 10_000, 100_000, 100, 10, 1, 0, -1, 2**50]
ABSOLUTE_TIMEOUTS = [INT64_MAX, SAFE_INTEGER, 0, 1]
DELAYS = [10, 500, 0, 5000]
RAW_DELAYS = ["-1", "+5", "1.0", "", "x", "007", str(2**63)]
FAR_INSTANTS = [SAFE_INTEGER, INT64_MAX - 1, INT64_MAX]

CRONS = [
    "* * * * *",
    "*/10 * * * * *",
    "*/5 * * * *",
    "30 4 * jan-mar Mon-Fri",
    "@hourly",
    "0 0 13 * fri",
    "CRON_TZ=Europe/Berlin 30 2 * * *",
    "0 0 29 2 *",
]
BAD_CRONS = ["0 0 30 2 *", "* * * *", "60 * * * *", "CRON_TZ=Nowhere/Land * * * * *"]
TEMPLATES = ["{{.id}}.{{.timestamp}}", "b.1", "n:{{.id}}", "{{.timestamp}}", "{{id}}"]
PROMISE_TIMEOUTS = [1000, 15_000, 0, 1, 10**6, INT64_MAX]

VALUES = [
    None,
    {},
    {"data": "dmFsdWU="},
    {"data": ""},
    {"headers": {}},
    {"headers": {"k": "v", "\xe9": ""}, "data": "not base64"},
    {"headers": None, "data": None},
]
SETTLED = ["resolved", "rejected", "rejected_canceled"]
PROMISE_STATES = ["pending", *SETTLED, "rejected_timedout"]
TASK_STATES = ["pending", "acquired", "suspended", "halted", "fulfilled"]
GLOBS = [None, None, "*", "b*", "*.*", "a", "**1", "", "b?1"]

# The values that a corruption puts in place of a member.
WRONG = [None, 1.0, True, "5", "", "a\0b", [], {}, -1, 2**63, -(2**63) - 1, ["x"], {"x": 1}, 0]
RAW_TEXTS = [
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
