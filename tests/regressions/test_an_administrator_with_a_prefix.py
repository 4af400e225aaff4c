"""A token `{"role": "admin", "prefix": "b."}` says two things that exclude each other, and the page on security had it twice: everything, and
the ids of its prefix. Its issuer may have meant the lesser right: it is refused, with 403 at every door."""

from __future__ import annotations

from typing import Any

import pytest

from regressions.test_claims_of_a_wrong_type_give_rights import statuses

BOTH: list[dict[str, Any]] = [
    {"role": "admin", "prefix": "b."},
    {"role": "Admin", "prefix": "b."},
    {"role": "ADMIN", "prefix": "a"},
    {"role": "admin", "prefix": "b.", "queues": ["*"]},
    {"role": "admin", "prefix": "b.", "sub": "ann"},
]


@pytest.mark.parametrize("claims", BOTH, ids=str)
def test_it_permits_nothing(claims: dict[str, Any]) -> None:
    (found,) = statuses([claims])
    assert {status for _, _, status in found} == {403}, found


def test_each_alone_permits_what_it_says() -> None:
    """And a prefix that is empty says the same as the role."""
    for claims in ({"role": "admin"}, {"role": "admin", "prefix": ""}):
        (found,) = statuses([claims], changes=True)
        assert {status for _, _, status in found} == {200}, (claims, found)
    (found,) = statuses([{"prefix": "b."}], changes=True)
    assert {status for _, _, status in found} == {200, 403}, found
