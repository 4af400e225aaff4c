"""`POST api/do`: an action or its preview, judged, run, answered and audited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._payloads import parse_json
from .access import Refused, StoreAccess
from .actions import answered, requests_of, results_of
from .audit import target_of
from .parameters import BadParameter
from .payloads import is_nested_deeper
from .preview import LONGEST_HORIZON, preview
from .principal import Principal
from .redaction import DEEPEST
from .site import Site

__all__ = ["do", "need_operator", "parsed"]

_USUAL_HORIZON = 60_000
#: What the audit line of a refusal says at most.
_MOST_TEXT = 300
#: The most characters of it that are searched for redacted values.
_MOST_SEARCHED = 4096


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request.

    Raises:
        Refused: It is none.
    """
    try:
        made = parse_json(body)
    except ValueError as error:
        raise Refused(400, "the body must be JSON") from error
    if not isinstance(made, dict):
        raise Refused(400, f"the body must be a JSON object, got {type(made).__name__}")
    if is_nested_deeper(made, DEEPEST + 2):  # the body, its data, and a payload
        raise Refused(400, f"the body must have payloads nested at most {DEEPEST} deep")
    return made


def need_operator(principal: Principal, site: Site) -> None:
    """Refuse an action of a principal without the role, before anything of its request is read; the audit has a line of it.

    Raises:
        Refused: The principal must not act.
    """
    if not principal.may("operate"):
        why = (
            "the store was opened for reading: start the dashboard with --operate"
            if site.read_only
            else site.no_role or "Forbidden"
        )
        site.audit.add(site.store.now, principal, "do", {}, 403, False, why)
        raise Refused(403, why)


def do(access: StoreAccess, body: Mapping[str, Any], site: Site) -> dict[str, Any]:
    """Run an action, or show what it would do. The principal has the role: `need_operator`.

    Raises:
        Refused: It was refused; the audit has a line of it.
    """
    kind, data, tried = body.get("kind"), body.get("data", {}), body.get("preview", False)
    horizon = body.get("horizonMs", _USUAL_HORIZON)
    name, about = str(kind)[:100], data if isinstance(data, Mapping) else {}

    def note(status: int, detail: str | None) -> int:
        redaction = access.redaction
        redaction.members(about)  # an error may quote the values of the request
        shown = None if detail is None else redaction.document(redaction.text(detail[:_MOST_SEARCHED]))[:_MOST_TEXT]
        target = redaction.pairs(target_of(about))
        return site.audit.add(access.store.now, access.principal, name, target, status, tried is True, shown)

    try:
        if not isinstance(kind, str) or not isinstance(data, Mapping) or not isinstance(tried, bool):
            raise Refused(400, "the body must have kind (a text), data (an object) and perhaps preview (true or false)")
        if isinstance(horizon, bool) or not isinstance(horizon, int) or not 0 <= horizon <= LONGEST_HORIZON:
            raise Refused(400, f"horizonMs must be from 0 to {LONGEST_HORIZON}, got {horizon!r}")
        requests = requests_of(access, kind, data)
        if tried:
            made = preview(access, requests, horizon, bulk=kind == "bulk")
            return {**made, "audit": note(made["status"], made["error"])}
        answers = access.ask_all(requests)
    except (Refused, BadParameter) as error:
        note(error.status if isinstance(error, Refused) else 400, str(error))
        raise
    if kind == "bulk":
        results = results_of(requests, answers)
        done = sum(200 <= status <= 300 for status, _ in answers)
        number = note(200, f"{done} of {len(answers)} done")
        return {"status": 200, "data": {"done": done, "refused": len(answers) - done}, "results": results, "audit": number}
    ((status, answer),) = answers
    if not 200 <= status <= 300:
        why = answer if isinstance(answer, str) else json.dumps(answer)
        note(status, why)
        raise Refused(status, why)
    return {"status": status, "data": answered(access, answer), "results": None, "audit": note(status, None)}
