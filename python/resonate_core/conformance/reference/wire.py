"""Records, envelopes and messages in the form of the two dialects (PROTOCOL 2 and 5)."""

from __future__ import annotations

from .world import NEW, OLD, task_version


def status(code, dialect):
    """The status in a dialect; 2025-01-15 has 400 in place of 422."""
    return 400 if dialect == OLD and code == 422 else code


def reply(kind, corr_id, code, version, data):
    return {"kind": kind, "head": {"corrId": corr_id, "status": code, "version": version}, "data": data}


def refusal(request, code, message):
    """The answer to an envelope that could not be read; it repeats kind, corrId and version if they are valid."""
    request = request if isinstance(request, dict) else {}
    head = request.get("head")
    head = head if isinstance(head, dict) else {}
    kind, corr_id, version = request.get("kind"), head.get("corrId"), head.get("version")
    return reply(
        kind if isinstance(kind, str) else "unknown",
        corr_id if isinstance(corr_id, str) else "0",
        code,
        version if version in (NEW, OLD) else NEW,
        message,
    )


def value(stored, dialect):
    """A param or value: in 2026-04-01 with its given members, in 2025-01-15 with both members."""
    shown = {"headers": {}, "data": "", **stored} if dialect == OLD else dict(stored)
    if "headers" in shown:
        shown["headers"] = dict(shown["headers"])
    return shown


def promise(row, dialect):
    """The record of a (projected) row."""
    shown = {
        "id": row["id"],
        "state": row["state"],
        "param": value(row["param"], dialect),
        "value": value(row["value"], dialect),
        "tags": dict(row["tags"]),
        "timeoutAt": row["timeoutAt"],
        "createdAt": row["createdAt"],
    }
    if "settledAt" in row:
        shown["settledAt"] = row["settledAt"]
    return shown


def task(row, dialect):
    """The record of the task of a (projected) row."""
    stored = row["task"]
    shown = {"id": row["id"], "version": task_version(stored, dialect)}
    if dialect == OLD:
        return shown
    shown["state"] = stored["state"]
    shown["resumes"] = len(stored["resumes"])
    if stored["state"] == "acquired":
        shown["pid"] = stored["pid"]
        shown["ttl"] = stored["ttl"]
    return shown


def schedule(row, dialect):
    shown = {name: stored for name, stored in row.items() if name != "dialect"}
    shown["promiseParam"] = value(row["promiseParam"], dialect)
    shown["promiseTags"] = dict(row["promiseTags"])
    return shown


def message_key(stored):
    if "version" in stored:
        return f"execute:{stored['id']}"
    return f"unblock:{stored['id']}:{stored['address']}"


def message(stored, promises):
    """A queued message with its payload, which is made when the message is read."""
    if "version" in stored:
        data = {"task": {"id": stored["id"], "version": stored["version"]}}
    else:
        dialect = OLD if stored["kind"] == "notify" else NEW
        data = {"promise": promise(promises[stored["id"]], dialect)}
    return {
        "key": message_key(stored),
        "address": stored["address"],
        "message": {"kind": stored["kind"], "head": {}, "data": data},
    }
