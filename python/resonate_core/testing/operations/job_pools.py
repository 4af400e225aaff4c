"""Small pools of names and numbers for random jobs, so that jobs share them."""

from __future__ import annotations

from typing import Any

from .pools import INT64_MAX, SAFE_INTEGER

ABSENT = "absent"
"""Marks a member that the request does not have; None is a member that is null."""

JOB_IDS: list[str] = ["j1", "j2", "j.3", "j:4", "\U0001f600"]
PROMISE_IDS: list[str] = ["a", "b", "b.1"]
QUEUES: list[str] = ["q1", "q2", "default"]
TYPES: list[str] = ["t", "t", "u"]
WORKERS: list[str] = ["w1", "w2"]
STEPS: list[str] = ["s1", "s2", "s3", "s4", "@t"]
"""The ids of steps after that of their job and the colon; the last one is refused."""
FORKS: list[str] = ["f1", "f2", "f3"]
TOPICS: list[str] = ["t", "t", "u"]
UNIQUE_KEYS: list[Any] = ["u1", "u2"]
GROUPS: list[Any] = ["g1", "g2"]
CODES: list[Any] = ["E1", "E1", "E2", "WorkerCrashed"]

LEASES: list[int] = [60_000, 60_000, 1000, 200, 20, 10, 1, SAFE_INTEGER, INT64_MAX]
DELAYS: list[int] = [0, 10, 100, 1000, 90_000_000, INT64_MAX]
DEADLINES: list[int] = [10**9, 10**9, 10**9, 10**7, 10**12, 10_000, 100, 0, -1]
RETENTIONS: list[Any] = [0, 50, 5000, 100_000_000, INT64_MAX]
POLICIES: list[Any] = [
    {"kind": "fixed", "intervals": [0]},
    {"kind": "fixed", "intervals": [10]},
    {"kind": "fixed", "intervals": [50, 0, 500], "codes": ["E1", "WorkerCrashed", "TaskTimeout"]},
    {"kind": "exponential", "base": 10},
    {"kind": "exponential", "base": 100, "factor": 1.5, "cap": 150, "jitter": 0.25},
    {"kind": "exponential", "base": 7, "factor": 3, "cap": 1000, "jitter": 1, "codes": ["E2"]},
    {"kind": "exponential", "base": 1, "factor": 1, "cap": INT64_MAX, "jitter": 0.5},
    {"kind": "exponential", "base": 2**62, "factor": 1000.0, "cap": INT64_MAX, "jitter": 0.999},
    {"kind": "asynq"},
    {"kind": "asynq", "codes": []},
]
BAD_POLICIES: list[Any] = [
    {"kind": "fixed", "intervals": []},
    {"kind": "fixed", "intervals": [-1]},
    {"kind": "exponential", "base": 10, "cap": 9},
    {"kind": "exponential", "base": 10, "factor": 0.5},
    {"kind": "exponential", "base": 10, "factor": 1000.5},
    {"kind": "exponential", "base": 10, "jitter": 1.5},
    {"kind": "exponential", "base": 0},
    {"kind": "other"},
    {"intervals": [1]},
    {"kind": "asynq", "codes": [""]},
]
RATES: list[Any] = [
    {"limit": 1, "per": 100},
    {"limit": 3, "per": 7, "burst": 2},
    {"limit": 2, "per": 86_400_000},
    {"limit": 5, "per": 1, "burst": 1},
]
DEFAULTS: list[Any] = [
    {"maxRetries": 1, "retryPolicy": {"kind": "fixed", "intervals": [20]}},
    {"onExhausted": "failed", "retention": 0, "priority": 7},
    {"retention": None, "timeout": 50},
    {"retryPolicy": {"kind": "exponential", "base": 5}},
    {"retention": 100},
    {"cancelWithAwaiters": True},
    {"cancelWithAwaiters": False, "priority": 9},
    {},
]
# Settings of groups: under most of them a group becomes ready after a few jobs or a few steps of time.
GATHERING: list[Any] = [
    {"size": 2, "grace": 1000},
    {"size": 3, "grace": 500, "maxDelay": 505},
    {"size": 4, "grace": 200},
    {"grace": 100, "maxDelay": 105},
    {"size": 3, "maxDelay": 10},
    {"grace": 0},
    {"size": 1, "grace": 10},
    {"grace": INT64_MAX, "maxDelay": INT64_MAX},
    {},
]
BAD_GATHERING: list[Any] = [{"size": 0}, {"size": 1001}, {"grace": -1}, {"maxDelay": 0}]
CRONS: list[str] = ["* * * * * *"] * 4 + ["*/5 * * * * *", "* * * * *", "0 0 29 2 *"]
TEMPLATES: list[str] = ["{{.id}}.{{.timestamp}}"] * 4 + ["{{.timestamp}}", "j1", "n:{{.id}}", "a"]
ONLY_OF_JOBS: list[Any] = [
    {"id": "j1"},
    {"payload": {}},
    {"payload": {"data": "x"}},
    {"tags": {}},
    {"tags": {"a": ""}},
    {"deadline": 5},
    {"processAt": 5},
    {"goodUntil": 5},
    {"sentAt": 5},
    {"after": ["j1"]},
    {"afterFailed": "run"},
    {"parent": {"id": "j1", "version": 1}},
]
"""Members that the job of a schedule must not have."""
STATES: list[str] = [
    "scheduled",
    "waiting",
    "pending",
    "claimed",
    "running",
    "retry",
    "archived",
    "completed",
    "failed",
    "cancelled",
    "expired",
]
GLOBS: list[Any] = [None, None, "*", "j*", "*.*", "j1"]
