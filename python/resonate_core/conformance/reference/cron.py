"""The occurrences of a cron expression (PROTOCOL 4 and 8), by the ``cronsim`` library.

``cronsim`` gives local times without a zone. This module adds the zone, so that skipped
and repeated local times follow the contract's rule and not the library's.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from resonate_core._extras import how_to_install

try:
    from cronsim import CronSim, CronSimError
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"the reference model needs cronsim: {how_to_install('conformance')}") from error

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
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


@functools.lru_cache(maxsize=4096)
def next_after(text, instant):
    """The first occurrence strictly after ``instant`` (ms), or None if there is none."""
    parts = split(text)
    if parts is None:
        return None
    zone, fields = parts
    try:
        start = (EPOCH + timedelta(seconds=instant // 1000)).astimezone(zone)
        for local in CronSim(fields, start.replace(tzinfo=None)):
            moment = local.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
            skipped = moment.astimezone(zone).replace(tzinfo=None, fold=0) != local
            occurrence = (moment - EPOCH) // timedelta(milliseconds=1)
            if not skipped and occurrence > instant:
                return occurrence
    except (CronSimError, OverflowError):
        pass
    return None


@functools.lru_cache(maxsize=4096)
def can_fire(text):
    """Whether the text parses and has at least one occurrence."""
    return next_after(text, 0) is not None
