"""The actions of the dashboard. Each is one or several requests of the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .._instants import NEVER
from .._payloads import decoded
from . import records
from .access import Refused, StoreAccess
from .jobs import RERUN_OF
from .payloads import encoded
from .redaction import REDACTED

__all__ = ["KINDS", "answered", "requests_of", "results_of"]

Request = tuple[str, dict[str, Any]]

_PROTOCOL = frozenset(
    f"{noun}.{verb}"
    for noun, verbs in {
        "job": ("enqueue", "run", "cancel", "archive", "delete"),
        "queue": ("set", "pause", "resume"),
        "promise": ("settle", "create"),
        "task": ("halt", "continue"),
        "schedule": ("create", "delete", "pause", "resume"),
    }.items()
    for verb in verbs
)
_BULK = frozenset(("job.run", "job.cancel", "job.archive", "job.delete"))
#: Every action: requests of the protocol, and those that are made of such requests.
KINDS = _PROTOCOL | {"job.rerun", "schedule.run", "bulk"}
#: The most ids of one bulk action: it is one transaction for each, and others wait for none of them.
_MOST_IDS = 500
#: Members of a job that its copy has, too. A unique key is not among them: the first job may still hold it.
_COPIED = ("queue", "type", "payload", "priority", "timeout", "maxRetries", "retryPolicy", "onExhausted", "group")
_ENCODED = {"payloadJson": "payload", "valueJson": "value", "paramJson": "param", "promiseParamJson": "promiseParam"}
_LINEAGE = ("resonate:origin", "resonate:branch", "resonate:parent", "resonate:prefix")


def requests_of(access: StoreAccess, kind: str, data: Mapping[str, Any]) -> list[Request]:
    """Return the requests of an action.

    Raises:
        Refused: The action does not exist, or lacks something.
    """
    if kind not in KINDS:
        raise Refused(400, f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    if kind == "bulk":
        return _bulk(data)
    if kind == "job.rerun":
        return [("job.enqueue", _rerun(access, data))]
    if kind == "schedule.run":
        return [_occurrence(access, _id(data))]
    return [(kind, _wire(data))]


def _id(data: Mapping[str, Any]) -> str:
    id = data.get("id")
    if not isinstance(id, str) or not id:
        raise Refused(400, f"data.id must be a text that is not empty, got {id!r}")
    return id


def _wire(data: Mapping[str, Any]) -> dict[str, Any]:
    """Encode the values that were given as JSON. A placeholder of redaction is no value."""
    made = {name: value for name, value in data.items() if name not in _ENCODED}
    for name, member in _ENCODED.items():
        if name in data:
            if _has_placeholder(data[name]):
                raise Refused(400, f"data.{name} must not contain {REDACTED!r}: give the value")
            made[member] = encoded(data[name])
    return made


def _bulk(data: Mapping[str, Any]) -> list[Request]:
    kind, ids = data.get("kind"), data.get("ids")
    if not isinstance(kind, str) or kind not in _BULK:
        raise Refused(400, f"data.kind must be one of {', '.join(sorted(_BULK))}, got {kind!r}")
    if not isinstance(ids, list) or not 1 <= len(ids) <= _MOST_IDS or not all(isinstance(id, str) and id for id in ids):
        got = f"{len(ids)} of them" if isinstance(ids, list) else repr(ids)
        raise Refused(400, f"data.ids must be 1 to {_MOST_IDS} texts that are not empty, got {got}")
    return [(kind, {"id": id}) for id in dict.fromkeys(ids)]


def _rerun(access: StoreAccess, data: Mapping[str, Any]) -> dict[str, Any]:
    id = _id(data)
    job = access.find("job", id)
    if job is None:
        raise Refused(404, f"job {id!r} does not exist")
    made = {name: job[name] for name in _COPIED if name in job}
    made["tags"] = {**job.get("tags", {}), RERUN_OF: id}
    made["retention"] = job.get("retention")
    made |= {name: value for name, value in data.items() if name not in ("id", "newId", "payload", "payloadText")}
    if "newId" in data:
        made["id"] = data["newId"]
    headers = {"headers": job["payload"]["headers"]} if "headers" in job["payload"] else {}
    if "payloadText" in data:
        text = data["payloadText"]
        if not isinstance(text, str) or REDACTED in text:
            raise Refused(400, f"data.payloadText must be a text without {REDACTED!r}")
        try:
            made["payload"] = {**headers, "data": base64.b64encode(text.encode()).decode()}
        except UnicodeEncodeError as error:
            raise Refused(400, f"data.payloadText must be valid Unicode, got {text[:40]!a}") from error
    elif "payload" in data:
        original = decoded(job["payload"]).content
        content = _restored(data["payload"], original)
        if _has_placeholder(content):
            raise Refused(400, f"data.payload must have {REDACTED!r} only where the payload of job {id!r} has a value")
        made["payload"] = {**headers, **encoded(content)}
    return made


def _restored(edited: Any, original: Any) -> Any:
    """Put the original values back where a page was sent placeholders."""
    if edited == REDACTED:
        return original
    if isinstance(edited, dict) and isinstance(original, dict):
        return {key: _restored(value, original.get(key, value)) for key, value in edited.items()}
    if isinstance(edited, list) and isinstance(original, list):
        return [_restored(value, original[place] if place < len(original) else value) for place, value in enumerate(edited)]
    return edited


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_placeholder(one) for one in value.values())
    if isinstance(value, list):
        return any(_has_placeholder(one) for one in value)
    return bool(value == REDACTED)


def _occurrence(access: StoreAccess, id: str) -> Request:
    """An occurrence of a schedule at this instant, as its step creates it (PROTOCOL 4)."""
    schedule = access.find("schedule", id)
    if schedule is None:
        raise Refused(404, f"schedule {id!r} does not exist")
    now = access.store.now
    made = schedule["promiseId"].replace("{{.id}}", id).replace("{{.timestamp}}", str(now))
    tags = dict(schedule["promiseTags"])
    if access.store.rules == "compatible":
        tags = {**dict.fromkeys(_LINEAGE, made), **tags, "resonate:schedule": id}
    deadline = min(now + schedule["promiseTimeout"], NEVER)
    if "job" in schedule:
        return "job.enqueue", {
            **schedule["job"],
            "id": made,
            "payload": schedule["promiseParam"],
            "tags": tags,
            "deadline": deadline,
        }
    return "promise.create", {"id": made, "timeoutAt": deadline, "param": schedule["promiseParam"], "tags": tags}


def results_of(requests: Sequence[Request], answers: Sequence[tuple[int, Any]]) -> list[dict[str, Any]]:
    """Return the outcome of each request of a bulk action: its id, its status, and the error of a refused one."""
    results = []
    for (_, data), (status, answer) in zip(requests, answers, strict=True):
        refused = {} if 200 <= status <= 300 else {"error": answer if isinstance(answer, str) else json.dumps(answer)}
        results.append({"id": data["id"], "status": status, **refused})
    return results


def answered(access: StoreAccess, data: Any) -> Any:
    """Return the data of a reply with its records as the views show them."""
    if not isinstance(data, Mapping):
        return data
    made = dict(data)
    for name, show in (("job", records.job), ("promise", records.promise), ("schedule", records.schedule)):
        if isinstance(made.get(name), Mapping):
            made[name] = show(access, made[name])
    return made
