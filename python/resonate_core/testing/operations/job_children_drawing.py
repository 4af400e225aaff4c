"""Strategies of operations on records, messages and children of jobs (JOBS 9)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from . import job_pools as pools
from .drawing import Fields, operation, pick, settle_fields, still
from .job_pools import ABSENT
from .pools import VALUES

__all__ = ["child_groups", "child_operations"]

number = pick(0, 1, 2, 0, 1, 2, 3, 4)
values = st.sampled_from([ABSENT, ABSENT, *[one for one in VALUES if one is not None]])
times = pick(*[ABSENT] * 4, 10, 100, 100, 1000, 0, -1)
# A pending step that has a value is refused, so most of those that are drawn have none.
over = st.fixed_dictionaries({"state": pick("resolved", "resolved", "rejected", "rejected_canceled"), "value": values})
not_over = st.fixed_dictionaries({"state": pick(ABSENT, ABSENT, "pending"), "value": st.just(ABSENT)})
either = st.fixed_dictionaries({"state": pick(ABSENT, "resolved", "other"), "value": values})
# Whose id the step has: a new or a known one below the job's, that of a child of it, or any.
ids = st.tuples(pick(*["own"] * 9, "child", "child", "child", "any"), number)
step_tags = pick(
    *[{}] * 8,
    {"target": "poll://any@g"},
    {"delay": 50},
    {"timer": "true"},
    {"origin": "other", "branch": "br"},
    {"target": ""},
)
one_step = st.builds(
    lambda how, more: {**how, **more},
    st.one_of(not_over, not_over, not_over, over, over, over, either),
    st.fixed_dictionaries({"id": ids, "param": values, "tags": step_tags, "timeoutIn": times}),
)
topics = pick(*pools.TOPICS, *pools.TOPICS, *pools.TOPICS, "", "a:b")


def child_operations(versioned: Fields, whom: Fields, job_fields: Fields) -> dict[str, Fields]:
    """Return the fields of each operation.

    Args:
        versioned: The fields of a request on a job and its version.
        whom: The fields of a request on a job.
        job_fields: The fields of a job that is enqueued.
    """
    return {
        "job_record": {**versioned, "steps": st.lists(one_step, max_size=3)},
        "job_receive": {**versioned, "step": ids, "topic": topics, "timeoutIn": times},
        "job_send": {**whom, "topic": topics, "key": pick(*[ABSENT] * 4, "k1", "k1", "k2", "#1", ""), "value": values},
        "job_history": {
            **whom,
            "limit": pick(ABSENT, 1, 1, 2, 1000, 0),
            "cursor": st.one_of(st.just(ABSENT), number, number, pick("", "x", "5:")),
        },
        "job_start_over": {**versioned, "args": values},
        "job_fork": {
            **whom,
            "from": pick(0, 1, 2, 3, 4, None),
            "whole": pick(True, True, True, False),
            "newId": st.one_of(st.none(), st.none(), st.none(), number),
        },
        "child_enqueue": {**versioned, "job": st.fixed_dictionaries(job_fields), "id": ids, "parent": pick(*[True] * 7, False)},
    }


def child_groups(operations: dict[str, Fields], cancelled: Fields) -> dict[str, SearchStrategy[Any]]:
    """Return the operations in groups, each of which is one rule of the random machines.

    Args:
        operations: The fields of each operation.
        cancelled: The fields of a request that ends one job.
    """
    own = {name: operation(name, fields, still) for name, fields in operations.items()}
    moved = operation("job_receive", operations["job_receive"])
    settled = operation("promise_settle", {**settle_fields, "aimed": st.just("child")})
    end = [operation(name, {**cancelled, "aimed": st.just("parent")}) for name in ("job_cancel", "job_cancel", "job_delete")]
    return {
        "record": st.one_of(own["job_record"], own["job_record"], own["job_record"], own["child_enqueue"]),
        "exchange": st.one_of(own["job_send"], own["job_send"], own["job_receive"], moved),
        "enqueue_child": own["child_enqueue"],
        "settle_a_child": settled,
        "end_a_parent": st.one_of(*end, operation("job_complete", operations_of_parents(operations))),
        "begin_again": st.one_of(own["job_start_over"], own["job_fork"], own["job_fork"], own["job_history"]),
    }


def operations_of_parents(operations: dict[str, Fields]) -> Fields:
    """The fields of the completion of a job that has children or messages."""
    versioned = {name: field for name, field in operations["job_start_over"].items() if name != "args"}
    return {**versioned, "aimed": st.just("running parent"), "result": st.sampled_from(VALUES)}
