"""The occurrences of a cron expression (PROTOCOL 4 and 8), by the ``cronsim`` library.

``cronsim`` gives local times without a zone. This module adds the zone, so that skipped
and repeated local times follow the contract's rule and not the library's, which knows
Debian's rule for five fields and for changes by whole hours alone.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from resonate_core.base.extras import how_to_install

try:
    from cronsim import CronSim, CronSimError
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"the reference model needs cronsim: {how_to_install('conformance')}") from error

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
LONGEST_SKIP = timedelta(hours=3)
WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
DAYS = "SUN|MON|TUE|WED|THU|FRI|SAT"


def split(text):
    """Separates the zone from the fields; None if the text is not a cron expression."""
    zone = timezone.utc
    if text.startswith("CRON_TZ="):
        name, _, text = text[len("CRON_TZ=") :].partition(" ")
        try:
            zone = ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            return None
    fields = WORDS.get(text.strip(), text).split()
    if len(fields) == 5:
        fields.insert(0, "0")
    if len(fields) != 6:
        return None
    # The library accepts L, W and #, which the contract does not allow.
    for place, field in enumerate(fields):
        names = {4: MONTHS, 5: DAYS}.get(place)
        plain = re.sub(names, "1", field.upper()) if names else field
        if re.fullmatch(r"[0-9*,/-]+", plain) is None:
            return None
    return zone, " ".join(fields)


def is_interval(fields):
    """Whether an expression follows elapsed time when the offset of the zone changes (PROTOCOL 8)."""
    return any(field.startswith("*") for field in fields.split()[:3])


def first_change(after, until, zone):
    """The first instant in (after, until], to the second, at which the zone changes its offset; None if it does not."""
    while after < until:
        step = min(after + DAY, until)
        if step.astimezone(zone).utcoffset() == after.astimezone(zone).utcoffset():
            after = step
            continue
        while step - after > SECOND:
            middle = after + (step - after) // SECOND // 2 * SECOND
            if middle.astimezone(zone).utcoffset() == after.astimezone(zone).utcoffset():
                after = middle
            else:
                step = middle
        return step
    return None


def next_of_interval(fields, start, zone):
    """The first instant after ``start`` at which the clock of the zone shows a match."""
    local = start.astimezone(zone).replace(tzinfo=None)
    while True:
        offset = start.astimezone(zone).utcoffset()
        moment = next(CronSim(fields, local)).replace(tzinfo=timezone.utc) - offset
        change = first_change(start, moment, zone)
        if change is None:
            return moment
        start = change
        local = change.astimezone(zone).replace(tzinfo=None) - SECOND


def next_of_local_times(fields, start, zone):
    """The first instant after ``start`` for which there is a match: the clock shows it for the first time, or skips it there."""
    for local in CronSim(fields, start.astimezone(zone).replace(tzinfo=None)):
        before, after = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        moment = before.astimezone(timezone.utc)
        if moment.astimezone(zone).replace(tzinfo=None) != local:
            if after.utcoffset() - before.utcoffset() >= LONGEST_SKIP:
                continue
            moment = first_change(after.astimezone(timezone.utc), moment, zone)
        if moment > start:
            return moment
    return None


@functools.lru_cache(maxsize=4096)
def next_after(text, instant):
    """The first occurrence strictly after ``instant`` (ms), or None if there is none."""
    parts = split(text)
    if parts is None:
        return None
    zone, fields = parts
    try:
        start = EPOCH + timedelta(seconds=instant // 1000)
        moment = (next_of_interval if is_interval(fields) else next_of_local_times)(fields, start, zone)
    except (CronSimError, OverflowError, StopIteration):
        return None
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)


@functools.lru_cache(maxsize=4096)
def can_fire(text):
    """Whether the text parses and has at least one occurrence."""
    return next_after(text, 0) is not None
