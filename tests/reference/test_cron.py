"""Cron occurrences that were computed by hand (PROTOCOL 4 and 8)."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from resonate_core.conformance.reference import cron


def ms(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "1970-01-01T00:00:00", "1970-01-01T00:01:00"),
        ("*/20 * * * * *", "1970-01-01T00:00:40", "1970-01-01T00:01:00"),
        ("@hourly", "2024-03-01T10:00:00", "2024-03-01T11:00:00"),
        ("@weekly", "2024-03-01T10:00:00", "2024-03-03T00:00:00"),
        ("30 4 * jan-mar Mon-Fri", "2024-03-29T12:00:00", "2025-01-01T04:30:00"),
        ("0 0 29 2 *", "2024-03-01T00:00:00", "2028-02-29T00:00:00"),
        # Both restricted: either matches. The 13th is a Wednesday, the 15th a Friday.
        ("0 0 13 * fri", "2024-03-10T00:00:00", "2024-03-13T00:00:00"),
        ("0 0 13 * fri", "2024-03-13T00:00:00", "2024-03-15T00:00:00"),
        # A field that begins with a star is unrestricted: both must match.
        ("0 0 */2 * mon", "2024-03-04T00:00:00", "2024-03-11T00:00:00"),
        ("0 0 * * 7", "2024-03-01T00:00:00", "2024-03-03T00:00:00"),
        # Berlin skips 02:00 to 03:00 on 2024-03-31 and has it twice on 2024-10-27.
        ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-03-30T01:30:00", "2024-03-31T01:00:00"),
        ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-03-31T01:00:00", "2024-04-01T00:30:00"),
        ("CRON_TZ=Europe/Berlin */10 2 * * *", "2024-03-31T00:00:00", "2024-04-01T00:00:00"),
        ("CRON_TZ=Europe/Berlin 0 * * * *", "2024-10-27T00:00:00", "2024-10-27T01:00:00"),
        ("CRON_TZ=Europe/Berlin */15 2 * * *", "2024-10-27T00:45:00", "2024-10-27T01:00:00"),
        # Lord Howe moves its clock by half an hour; Samoa had no 30 December 2011.
        ("CRON_TZ=Australia/Lord_Howe 10 2 * * *", "2024-10-05T00:00:00", "2024-10-05T15:30:00"),
        ("CRON_TZ=Pacific/Apia 0 9 * * *", "2011-12-29T19:00:00", "2011-12-30T19:00:00"),
        ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-26T00:30:00", "2024-10-27T00:30:00"),
        ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-27T00:30:00", "2024-10-28T01:30:00"),
    ],
)
def test_next_occurrence(text, after, expected):
    assert cron.next_after(text, ms(after)) == ms(expected)


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "0 0 30 2 *", "0 0 L * *", "0 0 * * 1#2", "CRON_TZ=Nowhere/Land * * * * *"]
)
def test_no_cron_text(text):
    assert not cron.can_fire(text)
