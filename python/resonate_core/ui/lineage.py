"""What a record descends from: redaction by type follows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..calls.workflow_records import NAME_TAG
from ..explain.call_tree import function_of

__all__ = ["RERUN_OF", "RERUN_TYPES", "Ancestry", "ancestry_of", "ancestry_of_job"]

#: The tag of a job that was enqueued again from the dashboard: the id of the job that it was made from.
RERUN_OF = "rerun_of"
#: The tag with the types of the jobs that it was made from, as a list in JSON, if they are others than its own: those jobs may be deleted.
RERUN_TYPES = "rerun_types"
#: The words before a function or a type in the name of a record of a workflow, whose value is that of this function.
_CALLS = ("job", "rpc", "transaction", "retry", "begun")
#: The tags that name a record above: SDKs set several of them, and a program may set any one alone.
_ABOVE = (RERUN_OF, "resonate:parent", "resonate:origin", "resonate:branch", "resonate:root", "resonate:prefix")


@dataclass(frozen=True)
class Ancestry:
    """What decides whether the values of a record are redacted.

    Attributes:
        names: Its type, its function, and those of the jobs that it was made from.
        above: The ids of the records that it descends from.
    """

    names: frozenset[str] = frozenset()
    above: frozenset[str] = frozenset()

    def __or__(self, other: Ancestry) -> Ancestry:
        return Ancestry(self.names | other.names, self.above | other.above)


def ancestry_of(row: Mapping[str, Any]) -> Ancestry:
    """Return those of a promise, of the wire or of a snapshot, with its job.

    Example:
        >>> from resonate_core.ui.lineage import ancestry_of
        >>> found = ancestry_of({"id": "b", "job": {"type": "mail"}, "tags": {"rerun_of": "a", "rerun_types": '["card"]'}})
        >>> sorted(found.names), sorted(found.above)
        (['card', 'mail'], ['a'])
    """
    return _ancestry(row.get("id"), row.get("job", {}).get("type"), row.get("tags"), row.get("param"))


def ancestry_of_job(job: Mapping[str, Any]) -> Ancestry:
    """Return those of a job of the wire."""
    return _ancestry(job.get("id"), job.get("type"), job.get("tags"), job.get("payload"))


def _ancestry(id: Any, type: Any, tags: Any, param: Any) -> Ancestry:
    """A recording that a client wrote may hold anything."""
    tags = tags if isinstance(tags, Mapping) else {}
    called = tags.get(NAME_TAG)
    word, _, of = called.partition(" ") if isinstance(called, str) else ("", "", "")
    names = [type, function_of(param) if isinstance(param, Mapping) else None, *_types_in(tags.get(RERUN_TYPES)), called]
    above = [tags[name] for name in _ABOVE if name in tags and tags[name] != id]
    if word in _CALLS:  # a fork has copies of child jobs: promises that say their type here
        names.append(of)
    elif word == "result":
        above.append(of)
    return Ancestry(*(frozenset(one for one in some if isinstance(one, str)) for some in (names, above)))


def _types_in(text: Any) -> Iterable[str]:
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return ()
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else ()
