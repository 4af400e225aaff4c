"""Strategies of operations on promises, tasks and schedules: the kind of request, the row, the instant, and what is wrong in it."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from . import pools

__all__ = [
    "GROUPED",
    "GROUPS",
    "NEW",
    "OLD",
    "OPERATIONS",
    "STRATEGIES",
    "any_operation",
    "corruption",
    "moving",
    "operation",
    "options",
    "pick",
    "settle_fields",
    "still",
    "when",
]

NEW, OLD = "2026-04-01", "2025-01-15"

Fields: TypeAlias = "dict[str, SearchStrategy[Any]]"
"""The strategies of an operation's members, by name."""


def pick(*choices: Any) -> SearchStrategy[Any]:
    """Return a strategy of one of the choices; a choice that is repeated is drawn more often."""
    return st.sampled_from(choices)


def often(usual: Any, rare: list[Any], weight: int) -> SearchStrategy[Any]:
    """Return a strategy of the usual choice or a rare one; the usual choice is ``weight`` times as frequent as each rare one."""
    return st.sampled_from([usual] * weight + list(rare))


who = pick(0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7)
# An aimed operation chooses a row in the state that it needs.
aimed = pick(True, True, True, False)
version = often("right", ["other dialect", "next", "previous", "huge", "zero"], 14)

still = st.just(("still",))
moving = st.one_of(
    st.tuples(st.just("after"), pick(1, 0, 10, 100)),
    # "own deadline": a request after a promise's deadline, before its timeout step, must not act on it (PROTOCOL 7).
    st.tuples(pick("timer", "timer", "own deadline"), pick(0, 0, 1, 2, 3, 4, 5), pick(0, -1, 1)),
    st.tuples(st.just("rare"), st.integers(0, 60)),
)
when = st.one_of(still, moving)
sent_as = often("dict", ["json", "json", "debug_time", "batch", "json batch"], 5)


tags = st.fixed_dictionaries(
    {},
    optional={
        "target": st.sampled_from(pools.TARGETS),
        "invoke": st.sampled_from(pools.TARGETS),
        "timer": pick("true", "true", "false"),
        "external": pick("true", "true", "false"),
        "branch": st.sampled_from(pools.BRANCHES),
        "delay": st.one_of(st.sampled_from(pools.DELAYS), st.sampled_from(pools.RAW_DELAYS)),
        "own": pick("1", "2"),
    },
)
# Tasks have the most behaviour to test, so most promises have a target.
targeted = st.builds(lambda target, more: {"target": target, **more}, st.sampled_from(pools.TARGETS), tags)
light = st.sampled_from([{}, {"external": "true"}, {"timer": "true"}, {"branch": "br"}, {"branch": "br", "external": "true"}])
task_tags = st.one_of(
    st.sampled_from([{"target": "poll://any@g"}, {"target": "http://h/x", "branch": "br"}]),
    st.sampled_from([{"target": "anything", "timer": "true"}, {}, {"target": "poll://any@g"}]),
    targeted,
)
timeouts = st.one_of(
    st.tuples(st.just("in"), pick(100_000, 10_000, 1000)),
    st.tuples(st.just("in"), pick(100_000, 10_000, 2**50)),
    st.tuples(st.just("in"), st.sampled_from(pools.TIMEOUTS)),
    st.tuples(st.just("at"), st.sampled_from(pools.ABSOLUTE_TIMEOUTS)),
)

create_fields: Fields = {
    "who": who,
    "timeout": timeouts,
    "tags": st.one_of(light, targeted, tags),
    "param": st.sampled_from(pools.VALUES),
    "ikc": st.sampled_from(pools.KEYS),
}
settle_fields: Fields = {
    "who": who,
    "state": often("resolved", ["rejected", "rejected_canceled", "pending", "rejected_timedout"], 4),
    "value": st.sampled_from(pools.VALUES),
    "iku": st.sampled_from(pools.KEYS),
}
page_fields: Fields = {
    "id": st.sampled_from(pools.GLOBS),
    "own": pick(None, None, "1"),
    "limit": pick(None, 1, 2, 1000, 0, 1001),
    "cursor": pick(None, None, "", "b", "b.1"),
}
task_fields: Fields = {"who": who, "aimed": aimed, "version": version}
named_task = st.fixed_dictionaries({"who": who, "aimed": aimed, "version": version})


def operation(name: str, fields: Fields, at: SearchStrategy[Any] = when) -> SearchStrategy[Any]:
    """Return a strategy of one kind of operation: its own fields, the dialect, the instant and the way in which it is sent."""
    common: Fields = {"name": st.just(name), "dialect": pick(NEW, OLD), "when": at, "sent_as": sent_as}
    return st.fixed_dictionaries({**common, **fields})


OPERATIONS: dict[str, Fields] = {
    "promise_get": {"who": who, "aimed": pick(True, False)},
    "promise_create": create_fields,
    "promise_settle": {**settle_fields, "aimed": aimed},
    "register": {"awaited": who, "awaiter": who, "aimed": aimed, "aim_awaited": pick("pending", "any")},
    "listen": {"who": who, "aimed": pick(True, False), "address": st.sampled_from(pools.LISTENERS)},
    "promise_search": {**page_fields, "state": st.sampled_from([None, *pools.PROMISE_STATES])},
    "task_get": {"who": who, "aimed": pick(True, False)},
    "task_create": {**create_fields, "tags": task_tags, "pid": st.sampled_from(pools.PIDS), "ttl": st.sampled_from(pools.TTLS)},
    "task_acquire": {**task_fields, "pid": st.sampled_from(pools.PIDS), "ttl": st.sampled_from(pools.TTLS)},
    "task_release": {**task_fields, "aimed": pick(True, False)},
    "task_suspend": {
        **task_fields,
        "aim_awaited": pick("pending", "pending", "settled", "any"),
        "awaited": st.lists(who, min_size=1, max_size=3),
    },
    "task_fulfill": {**task_fields, **{name: settle_fields[name] for name in ("state", "value", "iku")}},
    "fence_create": {**task_fields, "create": st.fixed_dictionaries(create_fields)},
    "fence_settle": {**task_fields, "settle": st.fixed_dictionaries({**settle_fields, "aimed": aimed})},
    "task_heartbeat": {
        "aimed": aimed,
        "pid": pick("its holder", "its holder", *pools.PIDS),
        "tasks": st.lists(named_task, max_size=3),
    },
    "task_halt": {"who": who, "aimed": aimed},
    "task_continue": {"who": who, "aimed": aimed},
    "task_search": {
        **page_fields,
        "state": st.sampled_from([None, *pools.TASK_STATES]),
        "target": st.sampled_from([None, None, *pools.TARGETS]),
    },
    "schedule_get": {"who": pick(0, 1, 2)},
    "schedule_create": {
        "who": pick(0, 1),
        "cron": st.one_of(st.sampled_from(pools.CRONS), st.sampled_from(pools.CRONS + pools.BAD_CRONS)),
        "template": st.sampled_from(pools.TEMPLATES),
        "timeout": st.sampled_from(pools.PROMISE_TIMEOUTS),
        "param": st.sampled_from(pools.VALUES),
        "tags": st.one_of(light, task_tags),
    },
    "schedule_delete": {"who": pick(0, 1, 2)},
    "schedule_pause": {"who": pick(0, 1, 2)},
    "schedule_resume": {"who": pick(0, 1, 2)},
    "schedule_search": page_fields,
    "debug": {"kind": often("debug.snap", ["debug.start", "debug.stop", "debug.reset"], 6)},
    "debug_tick": {},
}
STRATEGIES = {name: operation(name, fields) for name, fields in OPERATIONS.items()}
any_operation = st.one_of(*STRATEGIES.values())
# Each group is one rule. Hypothesis leaves some rules out of an example, and an example needs most of these operations.
GROUPS = {
    "claim": ["task_create", "task_create", "task_acquire", "task_acquire", "task_acquire"],
    "wait": ["task_suspend", "task_suspend", "task_suspend", "register"],
    "renew": ["task_heartbeat"],
    "work": ["fence_create", "fence_settle", "task_release", "task_fulfill"],
    "administer": ["task_halt", "task_continue", "task_continue"],
    "promise": ["promise_create", "promise_create", "promise_settle", "listen"],
    "settle": ["promise_settle", "task_fulfill"],
    "schedule": ["schedule_create", "schedule_create", "schedule_delete", "schedule_get"],
    "pause": ["schedule_pause", "schedule_resume"],
    "read": ["promise_get", "task_get", "task_get", "schedule_get", "promise_search", "task_search", "schedule_search"],
    "debug": ["debug", "debug_tick", "debug_tick"],
}

GROUPED = {group: st.one_of([STRATEGIES[name] for name in names]) for group, names in GROUPS.items()}
"""One strategy for each group."""

# The number of the member that is corrupted, how, and by which value.
corruption = st.tuples(st.integers(0, 40), pick("put", "put", "put", "drop", "rename"), st.sampled_from(pools.WRONG))
options = st.fixed_dictionaries(
    {
        "retry_timeout": pick(5000, 50, "ttl"),
        "catchup": pick("all", "latest", "none"),
        "unblock_retention": pick(86_400_000, 2000),
    }
)
