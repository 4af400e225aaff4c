"""The form of a reply, which the judge of a server and the conformance tests check with one function (WIRE 1)."""

from __future__ import annotations

from typing import Any

import pytest

from resonate_core.conformance.reply_form import fault_of
from resonate_core.conformance.requests import V25, V26, request

REQUEST = request("promise.get", {"id": "p"}, V26, "7")


def reply(data: Any = "there is no promise p", **head: Any) -> dict[str, Any]:
    """A reply to the request, with these members of the head in place of the right ones."""
    return {"kind": "promise.get", "head": {"corrId": "7", "status": 404, "version": V26, **head}, "data": data}


RIGHT = [reply(), reply({"promise": {}}, status=200), reply(version=V25), {**reply(), "more": 1}]
WRONG: list[tuple[Any, str]] = [
    (None, "an envelope"),
    ([], "an envelope"),
    ({"kind": "promise.get", "head": {"status": 404}}, "an envelope"),
    ({**reply(), "head": "404"}, "an envelope"),
    (reply(status="404"), "head.status must be an integer, got '404'"),
    (reply(status=True), "head.status must be an integer, got True"),
    ({**reply(), "kind": "promise.create"}, "kind and corrId"),
    (reply(corrId="8"), "kind and corrId"),
    (reply({"promise": {}}, status=200, version=V25), "head.version must be '2026-04-01', got '2025-01-15'"),
    (reply({"reason": "none"}), "the data of an error must be a string"),
]


@pytest.mark.parametrize("right", RIGHT)
def test_a_right_reply_has_no_fault(right: Any) -> None:
    assert fault_of(REQUEST, right) is None


@pytest.mark.parametrize(("wrong", "why"), WRONG)
def test_a_fault_is_named(wrong: Any, why: str) -> None:
    assert why in (fault_of(REQUEST, wrong) or "")
