"""The actions of the dashboard. Each is one or several requests of the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.instants import NEVER
from ..base.payloads import decoded
from ..base.states import ONE_OR_MANY
from . import records
from .access import Refused, StoreAccess
from .lineage import RERUN_OF, RERUN_TYPES, ancestry_of_job
from .payloads import FULL, encoded
from .redaction import REDACTED, Redaction

__all__ = ["KINDS", "answered", "requests_of", "results_of"]

Request = tuple[str, dict[str, Any]]

_PROTOCOL = frozenset(
    f"{noun}.{verb}"
    for noun, verbs in {
        "job": ("enqueue", "run", "cancel", "archive", "delete", "send", "fork"),
        "queue": ("set", "pause", "resume"),
        "promise": ("settle", "create"),
        "task": ("halt", "continue"),
        "schedule": ("create", "delete", "pause", "resume"),
    }.items()
    for verb in verbs
)
#: Every action: requests of the protocol, and those that are made of such requests.
KINDS = _PROTOCOL | {"job.rerun", "schedule.run", "bulk"}
#: The most ids of one bulk action: it is one transaction for each, and others wait for none of them.
_MOST_IDS = 500
#: The most characters of these ids together. The answer repeats them, and both are searched for redacted values.
_MOST_OF_IDS = 65_536
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
    if kind in ONE_OR_MANY:
        access.redaction.rules.refuse_tags("data.tags", data.get("tags"))
    if kind == "job.rerun":
        made = _rerun(access, data)
        _refuse_comparison(access, made)
        return [("job.enqueue", made)]
    if kind == "schedule.run":
        return [_occurrence(access, _id(data))]
    if kind == "job.fork":
        _refuse_fork(access, _id(data))
    made = _wire(data)
    if kind == "job.enqueue":
        _refuse_comparison(access, made)
    return [(kind, made)]


def _refuse_comparison(access: StoreAccess, data: Mapping[str, Any]) -> None:
    """Refuse to enqueue on the id of a job with redacted values: the status would tell whether a guess of its payload is right.

    The engine answers the same job (JOBS 3) with 200 and any other with 409.
    """
    id = data.get("id")
    if not access.redaction.rules.any or not isinstance(id, str):
        return
    job = access.find("job", id)
    if job is None:
        return
    redaction = Redaction(access.redaction.rules)
    if records.job(access.redacting(redaction), job)["payload"]["kind"] == "redacted" or redaction.count:
        raise Refused(409, f"job {id!r} exists")


def _refuse_fork(access: StoreAccess, id: str) -> None:
    """Refuse to fork a job that is redacted because of what it descends from: its fork would descend from nothing."""
    job = access.find("job", id)
    if job is None or not access.hides_job(job):
        return
    tags = {name: text for name, text in job.get("tags", {}).items() if name not in (*_LINEAGE, "resonate:scope")}
    if not access.hides(None, ancestry_of_job({"type": job["type"], "tags": tags})):
        raise Refused(409, f"job {id!r} must not be forked here: it is redacted because of the workflow that it belongs to")


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
    if not isinstance(kind, str) or kind not in ONE_OR_MANY:
        raise Refused(400, f"data.kind must be one of {', '.join(sorted(ONE_OR_MANY))}, got {kind!r}")
    if not isinstance(ids, list) or not 1 <= len(ids) <= _MOST_IDS or not all(isinstance(id, str) and id for id in ids):
        got = f"{len(ids)} of them" if isinstance(ids, list) else repr(ids)
        raise Refused(400, f"data.ids must be 1 to {_MOST_IDS} texts that are not empty, got {got}")
    if sum(map(len, ids)) > _MOST_OF_IDS:
        raise Refused(
            400, f"data.ids must have at most {_MOST_OF_IDS} characters together, got {sum(map(len, ids))}: give fewer at once"
        )
    if len(data) > 2:
        raise Refused(400, "data must have kind and ids alone")
    return [(kind, {"id": id}) for id in dict.fromkeys(ids)]


def _rerun(access: StoreAccess, data: Mapping[str, Any]) -> dict[str, Any]:
    id = _id(data)
    job = access.find("job", id)
    if job is None:
        raise Refused(404, f"job {id!r} does not exist")
    records.job(access, job)  # notes what its page hides: the answer may quote that, whatever the new payload is
    made = {name: job[name] for name in _COPIED if name in job}
    made["tags"] = job.get("tags", {})
    made["retention"] = job.get("retention")
    made |= {name: value for name, value in data.items() if name not in ("id", "newId", "payload", "payloadText")}
    if "newId" in data:
        made["id"] = data["newId"]
    if isinstance(made["tags"], Mapping):  # the engine refuses anything else
        types = [name for name in access.names_of(id) if name != made.get("type")]
        made["tags"] = {**made["tags"], RERUN_OF: id, **({RERUN_TYPES: json.dumps(types)} if types else {})}
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
        made["payload"] = {**headers, **encoded(_edited(access, job, data["payload"]))}
    return made


def _edited(access: StoreAccess, job: Mapping[str, Any], edited: Any) -> Any:
    """Return an edited payload with the original values in place of the placeholders that its page was sent.

    Raises:
        Refused: A placeholder stands where the page had none, or would show its value there.
    """
    redaction = Redaction(access.redaction.rules)
    show = records.job(access.redacting(redaction), job, most=FULL)
    # The texts of the payload that quote a redacted value of the job were replaced when the page was made.
    made = _restored(edited, redaction.document(show)["payload"].get("json", REDACTED), decoded(job["payload"]).content)
    if _has_placeholder(made):
        raise Refused(400, f"data.payload must have {REDACTED!r} only where the payload of job {job['id']!r} has a value")
    if not access.hides_job(job):
        check = Redaction(access.redaction.rules)
        if not _keeps(edited, check.document(check.members(made))):
            raise Refused(400, f"data.payload must have {REDACTED!r} only below the names that the payload has there")
    return made


def _restored(edited: Any, shown: Any, original: Any) -> Any:
    """Put the original values back where a page was sent placeholders."""
    if edited == shown and _has_placeholder(edited):
        return original
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(original, dict):
        return {
            key: _restored(value, shown[key], original[key]) if key in shown and key in original else value
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list) and isinstance(original, list):
        beside = zip(edited, shown, original, strict=False)
        return [_restored(*one) for one in beside] + edited[min(len(shown), len(original)) :]
    return edited


def _keeps(edited: Any, shown: Any) -> bool:
    """Whether every placeholder of an edited payload is still one where the payload is shown."""
    if isinstance(edited, dict):
        return (
            not _has_placeholder(edited)
            or (isinstance(shown, dict) and all(_keeps(value, shown.get(key)) for key, value in edited.items()))
            or shown == REDACTED
        )
    if isinstance(edited, list):
        return (
            not _has_placeholder(edited)
            or (isinstance(shown, list) and len(shown) == len(edited) and all(map(_keeps, edited, shown)))
            or shown == REDACTED
        )
    return not _has_placeholder(edited) or (isinstance(shown, str) and _has_placeholder(shown))


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_placeholder(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return any(_has_placeholder(one) for one in value)
    return isinstance(value, str) and REDACTED in value


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
        if isinstance(made.get(f"{name}s"), list):
            made[f"{name}s"] = [show(access, one) if isinstance(one, Mapping) else one for one in made[f"{name}s"]]
    return made
