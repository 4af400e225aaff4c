"""Runs every call on the store and on the model and compares all that they show."""

from __future__ import annotations

import json

from property.in_step import Clocks, Stores
from property.script import Script
from resonate_core.base.json_differences import differences
from resonate_core.conformance.compare import plain_reply, sorted_lists

PLAIN_STATUSES = (200, 300)


class Judge:
    """A store and a model that get the same calls.

    Args:
        subject: The module under test (``resonate_core``).
        model: The reference model.
        options: The options of both.
        statistics: Counts the cases that were reached.
    """

    def __init__(self, subject, model, options, statistics):
        self.subject = subject
        self.model = model
        self.options = options
        self.statistics = statistics
        self.script = Script(options)
        self.clock = self.new_clock(0)
        self.store = self.new_store(self.clock)
        self.same("the empty store")

    # ---- the store and its clock

    def new_clock(self, now):
        return self.subject.ManualClock(now)

    def new_store(self, clock):
        return self.subject.Store(clock=clock, check=True, **self.options)

    def end(self):
        """Ends the example."""

    # ---- calls

    def request(self, envelope, now=None, sent_as="dict"):
        """Sends one envelope in one of the ways: as a dict, as JSON, in a batch, with a debug time."""
        if sent_as == "debug_time" and now is not None and isinstance(envelope.get("head"), dict):
            envelope["head"]["resonate:debug_time"] = now
            now = None
        expected = self.model.apply(envelope, now)
        if sent_as == "json":
            self.script.add(f"store.apply_json(json.dumps({envelope!r}), now={now!r})")
            got = json.loads(self.store.apply_json(json.dumps(envelope), now=now))
        elif sent_as == "json batch":
            self.script.add(f"store.apply_json([json.dumps({envelope!r}, ensure_ascii=False).encode()], now={now!r})")
            [text] = self.store.apply_json([json.dumps(envelope, ensure_ascii=False).encode()], now=now)
            got = json.loads(text)
        elif sent_as == "batch":
            self.script.add(f"store.apply([{envelope!r}], now={now!r})[0]")
            [got] = self.store.apply([envelope], now=now)
        else:
            self.script.add(f"store.apply({envelope!r}, now={now!r})")
            got = self.store.apply(envelope, now=now)
        self.count(envelope, expected)
        self.same_reply(expected, got)
        self.same("after the request")

    def raw(self, text):
        """Sends a text that may be neither an envelope nor JSON."""
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
        expected = self.model.apply(parsed)
        self.script.add(f"store.apply_json({text!r})")
        self.same_reply(expected, json.loads(self.store.apply_json(text)))
        self.same("after a raw text")

    def batch(self, envelopes, now, atomic):
        """Sends several envelopes in one transaction."""
        expected = self.model.apply_batch(envelopes, now, atomic)
        self.script.add(f"store.apply({envelopes!r}, now={now!r}, atomic={atomic!r})")
        got = self.store.apply(envelopes, now=now, atomic=atomic)
        if atomic and any(one["head"]["status"] not in PLAIN_STATUSES for one in expected):
            self.statistics["batch", "undone"] += 1
        self.equal(len(got), len(expected), "replies")
        for one, other in zip(expected, got):
            self.same_reply(one, other)
        self.same("after the batch")

    def tick(self, now):
        self.script.add(f"store.tick({now!r})")
        if now is not None and now < self.model.now:
            with_error = False
            try:
                self.store.tick(now)
            except self.subject.errors.Invalid:
                with_error = True
            self.equal(with_error, True, "a tick into the past is refused")
        else:
            self.same_fired(self.model.tick(now), self.store.tick(now))
        self.same("after the tick")

    def advance_to(self, instant):
        self.script.add(f"clock.advance_to({instant!r})")
        self.same_fired(self.model.advance_to(instant), self.clock.advance_to(instant))
        self.same("after the advance")

    def advance_to_next(self):
        self.script.add("clock.advance_to_next()")
        self.same_fired(self.model.advance_to_next(), self.clock.advance_to_next())
        self.same("after the advance")

    def take_messages(self, limit):
        self.script.add(f"store.take_messages({limit!r})")
        self.equal(self.store.take_messages(limit), self.model.take_messages(limit), "messages taken")
        self.same("after the taking")

    def purge(self, settled_before):
        self.script.add(f"store.purge(settled_before={settled_before!r})")
        expected = self.model.purge(settled_before)
        self.statistics["purge", "some" if expected else "none"] += 1
        self.equal(self.store.purge(settled_before=settled_before), expected, "promises purged")
        self.same("after the purge")

    def debug_snapshot(self):
        self.script.add('store.snapshot(format="debug")')
        self.equal(sorted_lists(self.store.snapshot(format="debug")), sorted_lists(self.model.debug_snapshot()), "debug snapshot")

    def go_on_with_a_fork(self):
        """Forks the store, changes the original, which must not affect the fork, and continues with the fork."""
        self.script.add("store, old = store.fork(), store; clock = store.clock; old.tick(old.now + 10**6)")
        fork = self.store.fork()
        if not self.model.world.schedules:
            self.store.tick(min(self.store.now + 10**6, 2**63 - 1))
        self.store, self.clock = fork, fork.clock
        self.same("in the fork")

    def go_on_with_a_restored_copy(self):
        """Continues with a new store that restores the snapshot from JSON text."""
        self.script.add("snapshot = json.loads(json.dumps(store.snapshot()))")
        self.script.add("clock = rc.ManualClock(clock.now); store = rc.Store(clock=clock, check=True, **options)")
        self.script.add("store.restore(snapshot)")
        snapshot = json.loads(json.dumps(self.store.snapshot()))
        clock = self.new_clock(self.clock.now)
        copied = self.new_store(clock)
        copied.restore(snapshot)
        self.equal(copied.digest(), self.store.digest(), "digest of a restored copy")
        self.store, self.clock = copied, clock
        self.same("in the restored copy")

    def restore_an_earlier_state(self):
        """Takes a snapshot, changes the store, and restores the snapshot."""
        self.script.add("snapshot, before = store.snapshot(), store.digest()")
        self.script.add("store.take_messages(); store.restore(snapshot); assert store.digest() == before")
        snapshot, before = self.store.snapshot(), self.store.digest()
        self.store.take_messages()
        self.store.restore(snapshot)
        self.equal(self.store.digest(), before, "digest after going back")
        self.same("after going back")

    # ---- comparisons

    def count(self, envelope, expected):
        kind, version = expected["kind"], expected["head"]["version"]
        self.statistics[kind, version, expected["head"]["status"]] += 1

    def same_reply(self, expected, got):
        self.equal(plain_reply(got), plain_reply(expected), "reply")

    def same_fired(self, expected, got):
        for one in expected:
            self.statistics["fired", one["kind"]] += 1
        got = [{name: getattr(one, name) for name in ("kind", "id", "at", "now", "detail")} for one in got]
        self.equal([dict(one, detail=dict(one["detail"])) for one in got], expected, "fired")

    def same(self, where):
        """Compares everything that a store shows without a request."""
        self.equal(without_watched(without_hours(self.store.snapshot())), self.model.snapshot(), f"snapshot {where}")
        self.equal([wire_form(one) for one in self.store.messages()], self.model.messages(), f"messages {where}")
        self.equal(self.store.next_due(), self.model.next_due(), f"next_due {where}")
        self.equal(self.store.now, self.model.now, f"now {where}")
        self.equal(list(self.store.check()), [], f"check {where}")

    def equal(self, got, expected, what):
        if got != expected:
            lines = "\n".join(list(differences(got, expected, ("the store", "the model")))[:20])
            raise AssertionError(f"{what}: the store and the model differ\n{lines}\n\n{self.script}")


def without_watched(snapshot):
    """A snapshot without the note that something besides a job awaited a child: it only saves the engine looks."""
    for promise in snapshot["promises"]:
        promise.get("job", {}).pop("watched", None)
    return snapshot


class JudgeOfTwo(Judge):
    """A judge of three: a store in memory, a durable store, and the model.

    Args:
        home: Where the durable stores are.
        others: As for `Judge`.
    """

    def __init__(self, home, *others):
        self.home = home
        super().__init__(*others)

    def new_clock(self, now):
        return Clocks(self.subject.ManualClock(now), self.subject.ManualClock(now))

    def new_store(self, clock):
        return Stores(self.subject, self.home, clock, **self.options)

    def close_and_reopen(self):
        self.script.add("store.close(); store = rc.Store(path, clock=clock, **options)")
        self.store.reopen()
        self.same("after a restart")

    def end(self):
        self.store.close()
        self.home.end()


def without_hours(snapshot):
    """A full snapshot without the hourly counts, which the model does not have; test_views_hours.py tests them."""
    kept = {name: rows for name, rows in snapshot.items() if name != "hours"}
    if "queues" in snapshot:
        kept["queues"] = [{name: value for name, value in queue.items() if name != "hour"} for queue in snapshot["queues"]]
    return kept


def wire_form(message):
    """The fields of a Message that the model has too."""
    return {"key": message.key, "address": message.address, "message": message.message}
