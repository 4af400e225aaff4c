"""Strategies of operations on jobs and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from . import job_pools as pools
from .drawing import STRATEGIES, Fields, moving, operation, pick, settle_fields, still
from .job_children_drawing import child_groups, child_operations
from .job_pools import ABSENT
from .pools import INT64_MAX, VALUES

__all__ = ["GROUP_STRATEGIES", "JOB_STRATEGIES", "OPERATIONS", "any_job_operation", "batches", "one_job"]

who = pick(0, 1, 2, 0, 1, 2, 3, 4, 5, 6)
atomic = pick(ABSENT, ABSENT, True, True, False, None)
aimed = pick(True, True, True, True, True, True, True, False)
version = st.sampled_from(["right"] * 24 + ["next", "previous", "huge", "zero"])


def seldom(choices: list[Any], weight: int = 3) -> SearchStrategy[Any]:
    """Return a strategy: usually ABSENT, sometimes one of the choices."""
    return st.sampled_from([ABSENT] * (weight * len(choices)) + list(choices))


policies = st.one_of(
    st.sampled_from(pools.POLICIES), st.sampled_from(pools.POLICIES), st.sampled_from(pools.POLICIES + pools.BAD_POLICIES)
)
# Each awaited id: its number, and what it is like.
likely_awaited = st.tuples(who, pick(*["pending"] * 12, "settled", "any"))
few_awaited = st.one_of(*(st.lists(likely_awaited, min_size=low, max_size=high) for low, high in ((1, 1), (1, 3), (2, 3))))
awaited = st.lists(st.tuples(who, pick(*["pending"] * 5, "settled", "settled", "any", "own")), min_size=1, max_size=3)
job_fields: Fields = {
    # The last ids are those of promises, which may be adopted; None: the store generates an id.
    "who": pick(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, None, None),
    "queue": st.sampled_from([*pools.QUEUES, ABSENT]),
    "type": st.sampled_from(pools.TYPES),
    "payload": st.sampled_from([ABSENT, ABSENT, ABSENT, *[one for one in VALUES if one is not None]]),
    "tags": pick(
        {}, {}, {}, {"own": "1"}, {"target": "poll://any@g"}, {"timer": "true"}, {"timer": "false"}, {"delay": "5"}, {"target": ""}
    ),
    "priority": seldom([1, 2, 100, 0, 101]),
    "process": seldom([("at", 10), ("at", 1000), ("in", 10), ("in", 500), ("in", 0), ("at", -5), ("both", 5)], 1),
    "goodUntil": seldom([50, 500, 5000, 0, -5], 1),
    "timeout": seldom([20, 200, 1, 0], 1),
    "deadline": st.sampled_from([*pools.DEADLINES, ABSENT]),
    "retention": seldom([None, *pools.RETENTIONS], 1),
    "maxRetries": seldom([0, 1, 2, 3, None], 1),
    "retryPolicy": st.one_of(st.just(ABSENT), policies),
    "onExhausted": seldom(["archived", "failed", "failed", "other"], 1),
    "lifecycle": seldom(["asynq", "asynq", "horsies", "horsies", "workflow", "workflow", "default"], 1),
    "uniqueKey": seldom(pools.UNIQUE_KEYS, 2),
    "uniqueFor": seldom([100, 5000], 3),
    "group": seldom([*pools.GROUPS, ""], 1),
    "cancelWithAwaiters": seldom([True, False, None], 1),
    "goodFor": seldom([50, 500, 1, 0, INT64_MAX], 2),
    "sentAt": seldom([-50, 50]),
    "after": st.one_of(*[st.just(ABSENT)] * 4, awaited, awaited, st.just([])),
    "afterFailed": seldom(["run", "other"]),
}
plain_job_fields: Fields = {
    **job_fields,
    **{
        name: st.just(ABSENT)
        for name in ("priority", "goodUntil", "goodFor", "uniqueKey", "uniqueFor", "group", "sentAt", "after", "afterFailed")
    },
    "tags": st.just({}),
    "timeout": pick(ABSENT, 20, 200),
    "deadline": pick(10**9, 10**9, 10**7),
    "process": st.just(ABSENT),
}
gathering_job_fields: Fields = {
    **plain_job_fields,
    "who": pick(None, None, 0, 1, 2, 3, 4),
    "queue": pick("q1", "q1", "q2", "default"),
    "type": pick("t", "t", "t", "u"),
    "group": pick("g1", "g1", "g2"),
    "priority": pick(ABSENT, ABSENT, 1, 60),
    "process": pick(ABSENT, ABSENT, ("in", 10), ("in", 100)),
    "deadline": pick(*[10**9] * 6, 100, 30),
    "goodFor": pick(*[ABSENT] * 5, 30, 200),
    "goodUntil": pick(*[ABSENT] * 9, 0, -5),
    "lifecycle": pick(ABSENT, "asynq", "asynq", "horsies"),
    "retryPolicy": pick(*({"kind": "exponential", "base": base, "jitter": 0.75} for base in (10, 1000)), {"kind": "asynq"}),
}
# Nothing that exists: a job with `after` adopts no promise, and the ids of jobs are soon in use.
waiting_job_fields: Fields = {
    **plain_job_fields,
    "who": pick(*[None] * 6, 0, 1, 2, 3, 4, 5),
    "after": few_awaited,
    "afterFailed": pick(ABSENT, ABSENT, "cancel", "run", "run"),
    "process": pick(*[ABSENT] * 4, ("in", 100), ("in", 500), ("at", 10)),
    "deadline": pick(*[10**9] * 6, 500, 100, 0),
    "goodUntil": pick(*[ABSENT] * 6, 500, 50, -5),
    "retention": pick(ABSENT, 0, 0, 50, 5000),
    "uniqueKey": pick(*[ABSENT] * 6, *pools.UNIQUE_KEYS),
}
# Members that a job of a schedule may have.
template_fields: Fields = {
    name: job_fields[name]
    for name in (
        "queue",
        "type",
        "priority",
        "timeout",
        "retention",
        "maxRetries",
        "retryPolicy",
        "onExhausted",
        "lifecycle",
        "cancelWithAwaiters",
    )
} | {
    "processIn": seldom([0, 10, 1500], 1),
    "goodFor": seldom([50, 1500, 0], 1),
    "uniqueKey": pick(ABSENT, ABSENT, *pools.UNIQUE_KEYS),
    "uniqueFor": seldom([100, 5000], 3),
    "group": pick(ABSENT, *pools.GROUPS),
}
child_job_fields: Fields = {
    **plain_job_fields,
    "who": pick(0, 0, 0, None),
    "after": st.one_of(*[st.just(ABSENT)] * 4, few_awaited),
    "process": pick(*[ABSENT] * 4, ("in", 100)),
    "deadline": pick(*[10**9] * 6, 100, 0),
    "goodUntil": pick(*[ABSENT] * 6, 500, -5),
    "retention": pick(ABSENT, 0, 50),
    "group": pick(*[ABSENT] * 6, "g1"),
    "cancelWithAwaiters": pick(*[ABSENT] * 3, False),
    "tags": pick({}, {}, {}, {"origin": "other", "branch": "br"}),
}
one_node = st.fixed_dictionaries(
    {**plain_job_fields, "earlier": st.lists(pick(0, 1, 2), max_size=3), "afterFailed": pick(ABSENT, "cancel", "run")}
)
one_waiting_job = st.fixed_dictionaries(waiting_job_fields)
one_gathering_job = st.fixed_dictionaries(gathering_job_fields)
one_job = st.one_of(st.fixed_dictionaries(plain_job_fields), st.fixed_dictionaries(job_fields))
versioned_fields: Fields = {"who": who, "aimed": aimed, "version": version}
named_jobs = st.lists(st.fixed_dictionaries(versioned_fields), min_size=1, max_size=3)
filters = st.fixed_dictionaries(
    {},
    optional={
        "queue": st.sampled_from(pools.QUEUES),
        "type": st.sampled_from(pools.TYPES),
        "tags": pick({"own": "1"}, {}, None),
        "group": pick(*pools.GROUPS, None, ""),
    },
)


def administration(*states: str) -> Fields:
    """Return the fields of a request on one job, or on all jobs that match a filter."""
    filtered: SearchStrategy[Any] = filters
    if states:
        filtered = st.builds(lambda state, more: {"state": state, **more}, st.sampled_from(states), filters)
    return {"who": who, "aimed": pick(True, True, True, False), "filter": st.one_of(st.none(), st.none(), st.none(), filtered)}


OPERATIONS: dict[str, Fields] = {
    "job_enqueue": {"job": one_job},
    "unique_enqueue": {
        "queue": pick("q1", "q1", "q2"),
        "uniqueKey": st.sampled_from(pools.UNIQUE_KEYS),
        "uniqueFor": pick(ABSENT, ABSENT, 100, 5000),
    },
    "group_enqueue": {"job": one_gathering_job},
    "group_enqueue_many": {"jobs": st.lists(one_gathering_job, min_size=2, max_size=4), "atomic": atomic},
    "after_enqueue": {"job": one_waiting_job},
    "after_enqueue_many": {
        "jobs": st.lists(st.one_of(one_waiting_job, one_waiting_job, one_job), min_size=2, max_size=4),
        "atomic": atomic,
    },
    "graph_enqueue": {"jobs": st.lists(one_node, min_size=2, max_size=4), "atomic": pick(True, True, True, ABSENT)},
    "job_schedule": {
        "who": pick(0, 1),
        "cron": st.sampled_from(pools.CRONS),
        "template": st.sampled_from(pools.TEMPLATES),
        "timeout": pick(10**9, 10**9, 10_000, 1000, 1, 0, INT64_MAX),
        "param": st.sampled_from(VALUES),
        "tags": pick({}, {}, {}, {"own": "1"}, {"target": "poll://any@g"}, {"timer": "true"}),
        "job": st.fixed_dictionaries(template_fields),
        "wrong": seldom(pools.ONLY_OF_JOBS, 4),
    },
    "job_enqueue_many": {"jobs": st.lists(one_job, min_size=1, max_size=3), "atomic": atomic},
    "job_get": {"who": who, "aimed": aimed},
    "job_claim": {
        "queues": st.lists(
            st.tuples(st.sampled_from([*pools.QUEUES, *pools.QUEUES, "none"]), pick(None, None, None, 1, 2, 5, 0)),
            min_size=1,
            max_size=4,
            unique_by=lambda one: one[0],
        ),
        "count": pick(1, 1, 2, 3, ABSENT, 0),
        "worker": st.sampled_from(pools.WORKERS),
        "lease": st.sampled_from(pools.LEASES),
        "runLease": seldom([20, 5000], 1),
        "strict": pick(ABSENT, False, True),
        "start": pick(ABSENT, ABSENT, ABSENT, 1, 1, 2, 3, 3, 0, -1),
    },
    "job_start": {**versioned_fields, "lease": seldom([300, 300, *pools.LEASES], 1)},
    "job_start_many": {"jobs": named_jobs, "lease": seldom([20, 5000], 1)},
    "job_heartbeat": {"worker": pick("its holder", "its holder", *pools.WORKERS), "aimed": aimed, "jobs": named_jobs},
    "job_complete": {**versioned_fields, "result": st.sampled_from(VALUES)},
    "job_complete_many": {"jobs": named_jobs, "result": st.sampled_from(VALUES)},
    "job_fail": {
        **versioned_fields,
        "code": st.sampled_from([*pools.CODES, *pools.CODES, ""]),
        "message": pick(ABSENT, "boom", '\xe9\u2028"\\\n', ""),
        "data": pick(ABSENT, ABSENT, "d"),
        "retryable": pick(ABSENT, ABSENT, True, False),
        "retryAfter": seldom([0, 30, 10**12], 1),
        "archive": pick(*[ABSENT] * 6, True, False, None),
    },
    "job_release": versioned_fields,
    "job_snooze": {**versioned_fields, "delay": st.sampled_from(pools.DELAYS)},
    "job_suspend": {
        **versioned_fields,
        "awaits": st.one_of(*[few_awaited] * 5, awaited, st.just([])),
        "until": pick(ABSENT, "any", "all", "all", "all", None, "other"),
    },
    "job_report": {
        **versioned_fields,
        "progress": pick(ABSENT, 0, 0.5, 1, 1.5),
        "lines": pick(ABSENT, ["one"], ["\xe9\u2028"], ["many"] * 60, [], [""], ["x" * 1001], ["many"] * 101),
    },
    "job_cancel": administration(),
    "job_run": administration("archived", "retry", "scheduled", "waiting", "pending"),
    "run_gathering": {"queue": pick(ABSENT, "q1"), "group": pick("g1", "g1", "g2")},
    "job_archive": administration("pending", "scheduled", "waiting", "retry", "archived"),
    "job_delete": administration(*pools.STATES),
    "job_search": {
        "filter": filters,
        "id": st.sampled_from(pools.GLOBS),
        "state": pick(ABSENT, ABSENT, *pools.STATES, "other"),
        "uniqueKey": seldom(["u1"]),
        "limit": pick(ABSENT, 1, 2, 1000, 0, 1001),
        "cursor": pick(ABSENT, "", "j1", "j.3"),
    },
    "job_stats": {"queue": pick(ABSENT, *pools.QUEUES, "none")},
    "queue_set": {
        "queue": st.sampled_from(pools.QUEUES),
        "lifecycle": seldom([None, "asynq", "horsies", "workflow"], 1),
        "weight": seldom([1, 3, 1000, 1001], 1),
        "concurrency": seldom([None, 1, 2, 0], 1),
        "rate": seldom([None, None, *pools.RATES, {"limit": 0, "per": 1}], 1),
        "groups": seldom([None, *pools.GATHERING, *pools.BAD_GATHERING], 1),
        "defaults": seldom([None, *pools.DEFAULTS, {"priority": 0}], 1),
    },
    "queue_get": {"queue": st.sampled_from([*pools.QUEUES, "none"])},
    "queue_pause": {"queue": st.sampled_from(pools.QUEUES)},
    "queue_resume": {"queue": st.sampled_from(pools.QUEUES)},
    "queue_list": {},
}
CHILD_OPERATIONS = child_operations(versioned_fields, {"who": who, "aimed": aimed}, child_job_fields)
OPERATIONS |= CHILD_OPERATIONS
# A job's life takes several requests, so the instant often stays the same.
slower = st.one_of(still, still, still, moving)
JOB_STRATEGIES = {name: operation(name, fields, slower) for name, fields in OPERATIONS.items()}
# A job that joins a little later moves the instant of the group; a job that joins at that instant begins another group.
JOB_STRATEGIES["group_enqueue"] = operation("group_enqueue", OPERATIONS["group_enqueue"], st.one_of(still, moving))
join_late = operation(
    "join_late",
    {"who": who, "aimed": st.just("gathering"), "job": one_gathering_job},
    st.tuples(st.just("its flight"), pick(0, 0, -1, 1, 50, -100)),
)
alone: Fields = {"who": who, "aimed": st.just("gathering"), "filter": st.none()}
leave = st.one_of(
    *(operation(name, alone, slower) for name in ("job_cancel", "job_run", "job_archive", "job_delete")),
    *[operation("promise_settle", {**settle_fields, "aimed": st.just("gathering")}, slower)] * 2,
)
"""Operations that remove one job from its gathering group."""
cancel_awaiter = operation(
    "promise_settle", {**settle_fields, "state": st.just("rejected_canceled"), "aimed": st.just("awaiter")}, slower
)
"""Cancels a promise that awaits a job."""
settle_awaited = operation(
    "promise_settle",
    {**settle_fields, "state": pick("resolved", "resolved", "rejected", "rejected_canceled"), "aimed": st.just("awaited")},
    slower,
)
"""Settles a promise for which a job waits."""
waiting_alone: Fields = {**alone, "aimed": st.just("waiting")}
stop_waiting = st.one_of(
    *(operation(name, waiting_alone, slower) for name in ("job_cancel", "job_run", "job_archive", "job_delete")),
    operation("promise_settle", {**settle_fields, "aimed": st.just("waiting")}, slower),
)
"""Operations on one job that waits for promises."""
claim_a_batch = operation(
    "job_claim",
    {
        **OPERATIONS["job_claim"],
        "queues": st.just([("default", None), ("q1", None)]),
        "count": pick(1, 2),
        "lease": pick(20, 10, 1000),
        "runLease": pick(ABSENT, ABSENT, 1000),
    },
    slower,
)
# Operations on promises, tasks and schedules that may affect jobs.
OTHERS = [
    "promise_create",
    "promise_get",
    "promise_settle",
    "register",
    "listen",
    "task_create",
    "task_suspend",
    "task_fulfill",
    "task_heartbeat",
    "task_halt",
    "task_continue",
    "task_acquire",
    "task_release",
    "task_get",
    "task_search",
    "fence_create",
    "fence_settle",
    "schedule_create",
    "schedule_delete",
    "schedule_get",
    "schedule_pause",
    "schedule_resume",
    "schedule_search",
    "debug",
]
any_job_operation = st.one_of(*JOB_STRATEGIES.values(), *JOB_STRATEGIES.values(), *(STRATEGIES[name] for name in OTHERS))


@st.composite
def batches(draw: Callable[..., Any]) -> list[Any]:
    """Return a strategy of up to six operations. ``st.lists`` is not used: its description of the operations would be very long."""
    return [draw(any_job_operation) for _ in range(draw(st.integers(0, 6)))]


JOB_GROUPS = {
    "make": ["job_enqueue", "job_enqueue", "job_enqueue", "job_enqueue_many"],
    "make_unique": ["unique_enqueue"],
    "gather": ["group_enqueue"],
    "gather_many": ["group_enqueue_many"],
    "make_waiting": ["after_enqueue", "after_enqueue", "after_enqueue_many", "graph_enqueue"],
    "suspend": ["job_suspend"],
    "schedule": [
        "job_schedule",
        "job_schedule",
        "job_schedule",
        "job_schedule",
        "schedule_create",
        "schedule_delete",
        "schedule_get",
        "schedule_pause",
        "schedule_resume",
    ],
    "claim": ["job_claim", "job_claim", "job_claim", "job_start", "job_start_many"],
    "end": ["job_complete", "job_fail", "job_fail", "job_snooze", "job_suspend", "job_complete_many"],
    "complete": ["job_complete"],
    "fail": ["job_fail", "job_fail", "job_snooze"],
    "hold": ["job_heartbeat", "job_report", "job_report", "job_start", "job_claim", "job_release"],
    "administer": ["run_gathering", "job_cancel", "job_run", "job_run", "job_run", "job_archive", "job_delete"],
    "queue": ["queue_set", "queue_set", "queue_set", "queue_pause", "queue_resume", "queue_resume", "queue_get", "queue_list"],
    "show": ["job_get", "job_search", "job_stats", "job_stats"],
    "others": OTHERS,
    "await_a_job": ["register", "listen", "promise_settle", "task_fulfill", "task_suspend"],
}
EVERY = {**STRATEGIES, **JOB_STRATEGIES}
GROUP_STRATEGIES = {group: st.one_of([EVERY[name] for name in names]) for group, names in JOB_GROUPS.items()}
GROUP_STRATEGIES |= child_groups(CHILD_OPERATIONS, {"who": who, "filter": st.none()})
GROUP_STRATEGIES["join_late"] = join_late
GROUP_STRATEGIES["leave"] = leave
GROUP_STRATEGIES["cancel_awaiter"] = cancel_awaiter
GROUP_STRATEGIES["settle_awaited"] = settle_awaited
GROUP_STRATEGIES["stop_waiting"] = stop_waiting
GROUP_STRATEGIES["claim_a_batch"] = claim_a_batch
