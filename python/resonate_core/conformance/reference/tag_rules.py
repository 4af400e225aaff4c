"""Rules on tags, listener addresses and cron expressions (PROTOCOL 2.1 and 3)."""

from __future__ import annotations

import re

from . import cron
from .shape import Refused, check_text
from .world import INT64_MAX, NEW, is_timer, target_of

ANY_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+", re.DOTALL)
STRICT_ADDRESS = re.compile(r"https?://.+|poll://.*@.*", re.DOTALL)


def check_target(tags, dialect, strict):
    """A target must not be empty; under strict rules a timer has no target."""
    target = target_of(tags, dialect)
    if target is not None:
        check_text(target, "the target")
        if strict and is_timer(tags):
            raise Refused(400, "a timer with a target")


def check_promise(tags, timeout_at, dialect, strict):
    """Checks the tags of a promise that a client creates."""
    check_target(tags, dialect, strict)
    delay = tags.get("resonate:delay")
    if delay is None:
        return
    if re.fullmatch("[0-9]+", delay) is None or int(delay) > INT64_MAX:
        raise Refused(400, f"delay is {delay!r}")
    if int(delay) >= timeout_at:
        raise Refused(400, f"delay {delay} is not before the deadline {timeout_at}")
    if target_of(tags, dialect) is None:
        raise Refused(400, "a delay without a target")


def check_task_create(tags, dialect):
    """Checks the further rules of ``task.create`` on tags."""
    if "resonate:delay" in tags:
        raise Refused(400, "a delay in task.create")
    if dialect == NEW and target_of(tags, dialect) is None:
        raise Refused(400, "task.create without a target")


def check_schedule(tags, dialect, strict):
    """Checks the promiseTags of a schedule."""
    check_target(tags, dialect, strict)
    if "resonate:delay" in tags:
        raise Refused(400, "a delay in a schedule")


def check_listener_address(address, strict):
    """Checks an address by the form that the rule set allows."""
    pattern = STRICT_ADDRESS if strict else ANY_ADDRESS
    if pattern.fullmatch(address) is None:
        raise Refused(400, f"address is {address!r}")


def check_cron(text):
    """A cron expression must parse and have an occurrence."""
    if not cron.can_fire(text):
        raise Refused(400, f"cron is {text!r}")
