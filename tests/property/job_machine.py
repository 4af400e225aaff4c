"""The Hypothesis state machine for jobs and queues, with some requests on promises and tasks."""

from __future__ import annotations

from hypothesis.stateful import initialize, rule

from homes import PostgresSchemas
from property.machine import Machine, TwoStores, request_rule
from resonate_core.testing.operations import job_prelude
from resonate_core.testing.operations.drawing import corruption, options, pick, when
from resonate_core.testing.operations.job_drawing import GROUP_STRATEGIES, any_job_operation, batches
from resonate_core.testing.operations.job_resolver import FAR_AHEAD, JobResolver


class JobsAndModel(Machine):
    """Jobs in a store in memory."""

    resolver_type = JobResolver
    prelude = job_prelude.REQUESTS
    furthest = FAR_AHEAD

    @initialize(chosen=options, busy=pick(True, True, False), rules=pick("compatible", "compatible", "strict"))
    def open(self, chosen, busy, rules):
        super().open(chosen={"rules": rules, **chosen}, busy=busy)

    @rule(operation=any_job_operation, wrong=corruption)
    def corrupted_request(self, operation, wrong):
        self.run_spoilt(operation, wrong)

    @rule(operations=batches(), atomic=pick(False, False, True), at=when)
    def batch(self, operations, atomic, at):
        self.run_batch(operations, atomic, at)

    @rule(ago=pick(0, 0, 1, 100, 10_000))
    def purge(self, ago):
        type(self).steps += 1
        self.judge.purge(max(0, self.model.now - ago))


class JobsInTwoStoresAndModel(TwoStores, JobsAndModel):
    """The same machine with a store in memory and one in a file."""


class JobsInPostgresAndModel(JobsInTwoStoresAndModel):
    """The same machine with a store in memory and one in PostgreSQL."""

    home = PostgresSchemas


for _group, _operations in GROUP_STRATEGIES.items():
    setattr(JobsAndModel, _group, request_rule(_group, _operations))
