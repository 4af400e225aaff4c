"""A judge without a store: checks the invariants (PROTOCOL 6) on the model alone."""

from __future__ import annotations

import json

from property import children_reached, groups_reached, waits_reached
from reference import properties


class Alone:
    """Runs every call on the model and checks the model's states."""

    def __init__(self, model, options, statistics):
        self.model = model
        self.rules = options["rules"]
        self.statistics = statistics
        self.before = model.snapshot()
        self.fired = []

    def request(self, envelope, now=None, sent_as="dict"):
        reply = self.model.apply(envelope, now)
        self.statistics[reply["kind"], reply["head"]["version"], reply["head"]["status"]] += 1
        self.count(self.model.world.fired)
        groups_reached.by_request(self.statistics, self.model.world.promises, envelope, reply)
        self.same(reset=reply["kind"] == "debug.reset")

    def raw(self, text):
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
        self.model.apply(parsed)
        self.same()

    def batch(self, envelopes, now, atomic):
        self.model.apply_batch(envelopes, now, atomic)
        self.same(one_request=False)

    def tick(self, now):
        if now is None or now >= self.model.now:
            self.count(self.model.tick(now))
        self.same()

    def advance_to(self, instant):
        self.count(self.model.advance_to(instant))
        self.same()

    def advance_to_next(self):
        self.count(self.model.advance_to_next())
        self.same()

    def take_messages(self, limit):
        self.model.take_messages(limit)
        self.same()

    def purge(self, settled_before):
        purged = self.model.purge(settled_before)
        self.statistics["purge", "some" if purged else "none"] += 1
        waits_reached.by_purge(self.statistics, self.model.world.promises, purged)
        self.same(may_vanish=True)

    def debug_snapshot(self):
        self.model.debug_snapshot()

    def go_on_with_a_restored_copy(self):
        self.model.restore(json.loads(json.dumps(self.model.snapshot())))
        self.same()

    go_on_with_a_fork = restore_an_earlier_state = go_on_with_a_restored_copy

    def end(self):
        pass

    def count(self, fired):
        self.fired = fired
        for one in fired:
            self.statistics["fired", one["kind"]] += 1

    def same(self, reset=False, one_request=True, may_vanish=False):
        after = self.model.snapshot()
        broken = properties.of_a_state(after, self.rules)
        if not reset:
            changed = properties.of_a_change(self.before, after, one_request)
            broken += [one for one in changed if not (may_vanish and one[0] == "vanished")]
            self.count_edges(self.before, after)
            groups_reached.by_change(self.statistics, self.before, after, self.fired)
            waits_reached.by_change(self.statistics, self.before, after)
            children_reached.by_change(self.statistics, self.before, after, self.fired)
        self.fired = []
        assert broken == [], broken
        self.before = after

    def count_edges(self, before, after):
        old = {row["id"]: row["task"]["state"] for row in before["promises"] if "task" in row}
        for row in after["promises"]:
            if row["id"] in old and "task" in row and old[row["id"]] != row["task"]["state"]:
                self.statistics["edge", old[row["id"]], row["task"]["state"]] += 1
        old = {row["id"]: row["job"]["state"] for row in before["promises"] if "job" in row}
        for row in after["promises"]:
            if row["id"] in old and "job" in row and old[row["id"]] != row["job"]["state"]:
                self.statistics["job", old[row["id"]], row["job"]["state"]] += 1
