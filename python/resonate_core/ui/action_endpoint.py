"""`POST api/do`: an action or its preview, judged, run, answered and audited."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..base.payloads import parse_json
from .access import Refused, StoreAccess
from .actions import answered, requests_of, results_of
from .audit import target_of
from .audit_bounds import cut
from .dashboard import Dashboard
from .parameters import BadParameter
from .payloads import is_nested_deeper
from .preview import LONGEST_HORIZON, preview
from .principal import Principal
from .redaction import DEEPEST, REDACTED, Redaction

__all__ = ["need_operator", "parsed", "run_action"]

_USUAL_HORIZON = 60_000
#: What the audit line of a refusal says at most.
_MOST_TEXT = 300
#: The most characters of it that are searched for redacted values, and of the data of the refused request that it may quote.
_MOST_SEARCHED, _MOST_REFUSED = 4096, 131_072
#: The text before a value in an error, and the one for a list with too many values, which quotes none of them.
_QUOTE, _COUNT = re.compile(r""", got |["'`]"""), re.compile(r"\d+ of them")


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


def need_operator(principal: Principal, dashboard: Dashboard) -> None:
    """Refuse an action of a principal without the role, before anything of its request is read; the audit has a line of it.

    Raises:
        Refused: The principal must not act.
    """
    if not principal.may("operate"):
        why = (
            "the store was opened for reading: start the dashboard with --operate"
            if dashboard.read_only
            else dashboard.no_role or "Forbidden"
        )
        dashboard.audit.add(dashboard.store.now, principal, "do", {}, 403, False, why)
        raise Refused(403, why)


def run_action(access: StoreAccess, body: Mapping[str, Any], dashboard: Dashboard) -> dict[str, Any]:
    """Run an action, or show what it would do. The principal has the role: `need_operator`.

    Raises:
        Refused: It was refused; the audit has a line of it.
    """
    kind, data, tried = body.get("kind"), body.get("data", {}), body.get("preview", False)
    horizon = body.get("horizonMs", _USUAL_HORIZON)
    name, about = str(kind)[:100], data if isinstance(data, Mapping) else {}

    def note(status: int, detail: str | None, target: Mapping[str, Any]) -> int:
        redaction = access.redaction
        shown = None if detail is None else redaction.document(redaction.text(detail[:_MOST_SEARCHED]))[:_MOST_TEXT]
        return dashboard.audit.add(access.store.now, access.principal, name, target, status, tried is True, shown)

    def done(status: int, detail: str | None = None) -> int:
        access.redaction.members(about)  # the answer may quote the values of the request
        return note(status, detail, access.redaction.pairs(target_of(about)))

    def refuse(status: int, detail: str) -> tuple[str, int]:
        """Write the line of a refusal, after little work whatever the size of the body; return the text and the number of the line."""
        with access.redaction.within(_MOST_REFUSED):
            target = access.redaction.pairs(target_of(about))
            why = _quoting(access.redaction, about, detail)
        return why, note(status, why, target)

    try:
        if not isinstance(kind, str) or not isinstance(data, Mapping) or not isinstance(tried, bool):
            raise Refused(400, "the body must have kind (a text), data (an object) and perhaps preview (true or false)")
        if isinstance(horizon, bool) or not isinstance(horizon, int) or not 0 <= horizon <= LONGEST_HORIZON:
            raise Refused(400, f"horizonMs must be from 0 to {LONGEST_HORIZON}, got {horizon!r}")
        requests = requests_of(access, kind, data)
        if tried:
            made = preview(access, requests, horizon, bulk=kind == "bulk")
            if made["error"] is None:
                return {**made, "audit": done(made["status"])}
            why, number = refuse(made["status"], made["error"])
            return {**made, "error": why, "audit": number}
        answers = access.ask_all(requests)
    except (Refused, BadParameter) as error:
        status = error.status if isinstance(error, Refused) else 400
        raise Refused(status, refuse(status, str(error))[0]) from error
    if kind == "bulk":
        results = results_of(requests, answers)
        good = sum(200 <= status <= 300 for status, _ in answers)
        number = done(200, f"{good} of {len(answers)} done")
        return {"status": 200, "data": {"done": good, "refused": len(answers) - good}, "results": results, "audit": number}
    ((status, answer),) = answers
    if not 200 <= status <= 300:
        raise Refused(status, refuse(status, answer if isinstance(answer, str) else json.dumps(answer))[0])
    return {"status": status, "data": answered(access, answer), "results": None, "audit": done(status)}


def _quoting(redaction: Redaction, about: Mapping[str, Any], detail: str) -> str:
    """Note the values of a refused request that its error may quote. If there are too many to be searched, the error quotes nothing."""
    redaction.members(about)
    detail = cut(detail, _MOST_SEARCHED - 1) or ""
    quote = _QUOTE.search(detail)
    if redaction.left >= 0 or quote is None or _COUNT.fullmatch(detail, quote.end()):
        return detail
    return detail[: quote.end()].rstrip("\"'`") + REDACTED
