"""The Hypothesis state machine: rules for every kind of call."""

from __future__ import annotations

import copy

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from homes import Files, PostgresSchemas
from property.judge import Judge, JudgeOfTwo
from property.statistics import REACHED
from resonate_core.conformance.reference import Model
from resonate_core.testing.operations import pools, prelude
from resonate_core.testing.operations.drawing import GROUPED, any_operation, corruption, moving, options, pick, when
from resonate_core.testing.operations.resolver import Resolver, corrupt

MOST_TICKS = 12


class Machine(RuleBasedStateMachine):
    """Base of all machines: runs operations, and has rules for calls that are not requests.

    Attributes:
        rule_set: The rules of store and model.
        resolver_type: Turns operations into requests.
        prelude: The first requests of most examples.
        furthest: How far ahead a timer may be at most, so that time is moved to it.
    """

    rule_set = "compatible"
    resolver_type = Resolver
    prelude = prelude.REQUESTS
    furthest = pools.INT64_MAX
    examples = 0
    steps = 0

    def make_judge(self, model, chosen):
        import resonate_core

        return Judge(resonate_core, model, chosen, REACHED)

    @initialize(chosen=options, busy=pick(True, True, False))
    def open(self, chosen, busy):
        chosen = {"rules": self.rule_set, **chosen}
        type(self).examples += 1
        self.model = Model(**chosen)
        self.resolver = self.resolver_type(self.model)
        self.judge = self.make_judge(self.model, chosen)
        for request in self.prelude if busy else []:
            self.judge.request(copy.deepcopy(request))

    def instant(self, operation):
        """The instant of an operation; None for a debug tick, which has its own."""
        if operation["name"] == "debug_tick":
            return None
        return self.resolver.instant_of(operation)

    def run_operation(self, operation):
        type(self).steps += 1
        now = self.instant(operation)
        self.judge.request(self.resolver.request(operation, now), now, operation["sent_as"])

    def run_spoilt(self, operation, wrong):
        type(self).steps += 1
        now = self.instant(operation)
        self.judge.request(corrupt(self.resolver.request(operation, now), wrong), now, operation["sent_as"])

    def run_batch(self, operations, atomic, at):
        type(self).steps += 1
        # It is not specified whether an undone batch moves the clock, so an atomic batch does not move it.
        now = None if atomic else self.resolver.instant(at)
        scratch = self.model.fork()
        envelopes = []
        for operation in operations:
            if operation["name"] == "debug_tick" or (operation["name"], operation.get("kind")) == ("debug", "debug.reset"):
                continue
            envelopes.append(self.resolver_type(scratch).request(operation, now))
            scratch.apply(envelopes[-1], now)
        self.judge.batch(envelopes, now, atomic)

    @rule(at=moving)
    def tick(self, at):
        type(self).steps += 1
        self.judge.tick(self.resolver.instant(at))

    @rule(ticks=pick(1, 0, 2, 5, MOST_TICKS), offset=pick(0, 1, -1, 3))
    def advance(self, ticks, offset):
        """Advances over several due instants, to the last one or to just before or after it."""
        type(self).steps += 1
        if (ticks, offset) == (1, 0) and not self.is_too_far(self.model.next_due()):
            self.judge.advance_to_next()
            return
        scratch = self.model.fork()
        for _ in range(ticks):
            if not self.is_too_far(scratch.next_due()):
                scratch.advance_to_next()
        self.judge.advance_to(self.resolver.not_too_far(scratch.now + offset))

    def is_too_far(self, instant):
        return instant is not None and instant > self.model.now + self.furthest

    @rule(limit=pick(None, 1, 2, 0))
    def take_messages(self, limit):
        type(self).steps += 1
        self.judge.take_messages(limit)

    @rule(how=pick("go_on_with_a_fork", "go_on_with_a_restored_copy", "restore_an_earlier_state", "debug_snapshot"))
    def copy_or_show(self, how):
        type(self).steps += 1
        getattr(self.judge, how)()

    def teardown(self):
        if hasattr(self, "judge"):
            self.judge.end()


class StoreAndModel(Machine):
    """Promises, tasks and schedules; a subclass chooses the rule set and the judge."""

    @rule(operation=any_operation, wrong=corruption)
    def corrupted_request(self, operation, wrong):
        self.run_spoilt(operation, wrong)

    @rule(text=st.sampled_from(pools.RAW_TEXTS))
    def raw_text(self, text):
        type(self).steps += 1
        self.judge.raw(text)

    @rule(operations=st.lists(any_operation, max_size=6), atomic=pick(False, False, True), at=when)
    def batch(self, operations, atomic, at):
        self.run_batch(operations, atomic, at)


class TwoStores:
    """A mixin for machines with a store in memory and a durable one, which a rule closes and opens again.

    Attributes:
        home: Where the durable store is.
    """

    home = Files

    def make_judge(self, model, chosen):
        import resonate_core

        return JudgeOfTwo(self.home(resonate_core), resonate_core, model, chosen, REACHED)

    @rule()
    def close_and_reopen(self):
        type(self).steps += 1
        self.judge.close_and_reopen()


class TwoStoresAndModel(TwoStores, StoreAndModel):
    """The same machine with a store in memory and one in a file."""


class PostgresAndModel(TwoStoresAndModel):
    """The same machine with a store in memory and one in PostgreSQL."""

    home = PostgresSchemas


def request_rule(group, operations):
    """A rule for a group of operations."""

    def run(self, operation):
        self.run_operation(operation)

    run.__name__ = group
    return rule(operation=operations)(run)


for _group, _operations in GROUPED.items():
    setattr(StoreAndModel, _group, request_rule(_group, _operations))
