"""The values of a recording as a story may contain them: redacted, and encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.payloads import decoded
from .access import StoreAccess
from .lineage import Ancestry, ancestry_of, ancestry_of_job
from .payloads import encoded
from .recording import Recording
from .redaction import BUDGET, REDACTED

__all__ = ["ExportedValues"]

_VALUES = frozenset(("payload", "result", "param", "value", "promiseParam"))
_TAGS = frozenset(("tags", "promiseTags"))
#: Members that hold texts of handlers.
_TEXTS = frozenset(("lines", "text", "message", "detail"))
#: A story is the whole recording, and is examined twice.
_TIMES = 4


class ExportedValues:
    """Redacts requests and snapshots of a recording.

    Args:
        access: To the store, with the redaction of the response.
        recording: The recording.
        n: The last event of the story.
    """

    def __init__(self, access: StoreAccess, recording: Recording, n: int) -> None:
        self._access, self._redaction = access, access.redaction
        self._known: dict[str, Ancestry] = {}
        self._is_last = False
        if not self._redaction.rules.any:
            return
        self._redaction.left = _TIMES * BUDGET
        lines = [recording.line(event) for event in recording.events[: n + 1]]
        if self._redaction.rules.by_type:
            for line in lines:
                self._learn([line["req"], line["res"]])
        for line in lines:  # what is redacted in one request may be quoted by an earlier one
            self.redacted([line["req"], line["res"]])
        self._is_last = True

    def _learn(self, value: Any) -> None:
        """Note the types of all records: a request about a job has its id only, and the job may be deleted later."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, list):
                waiting += one
            elif isinstance(one, Mapping):
                waiting += (member for name, member in one.items() if name not in _VALUES)
                if isinstance(one.get("id"), str):
                    self._known[one["id"]] = self._known.get(one["id"], Ancestry()) | _ancestry(one)

    def redacted(self, value: Any, hidden: bool = False) -> Any:
        """Return JSON of the protocol or a snapshot with the values of payloads redacted.

        Args:
            value: The JSON.
            hidden: Whether it belongs to a record of which all values are redacted.
        """
        if not self._redaction.rules.any:
            return value
        if isinstance(value, list):
            return [self.redacted(one, hidden) for one in value]
        if isinstance(value, str):
            return self._final(self._redaction.text(value))
        if not isinstance(value, Mapping):
            return value
        hidden = hidden or self._hides(value)
        return {name: self._member(name, member, hidden) for name, member in value.items()}

    def _hides(self, value: Mapping[str, Any]) -> bool:
        if not self._redaction.rules.by_type:
            return False
        id = value.get("id")
        waiting, seen = [_ancestry(value)], set[str]()
        while waiting:  # those of the recording, which may not be in the store
            one = waiting.pop()
            if self._access.hides(None, Ancestry(one.names)):
                return True
            above = {*one.above, *([id] if isinstance(id, str) else [])} - seen
            seen |= above
            waiting += (self._known[other] for other in above if other in self._known)
        return False

    def _member(self, name: str, member: Any, hidden: bool) -> Any:
        if name in _VALUES and isinstance(member, Mapping):
            return self._value(member, hidden)
        if name in _TAGS and isinstance(member, Mapping):
            return self._final(self._redaction.pairs(member))
        if name == "error" and isinstance(member, Mapping):
            return {part: REDACTED if hidden and part != "code" else self.redacted(one) for part, one in member.items()}
        if hidden and name in _TEXTS:
            self._redaction.hide(member)
            return _placeholders(member)
        if isinstance(member, str):  # a name, except of what handlers wrote
            return self._final(self._redaction.text(member)) if name in _TEXTS else member
        return self.redacted(member, hidden)

    def _value(self, value: Mapping[str, Any], hidden: bool) -> dict[str, Any]:
        redaction = self._redaction
        kind, content, _ = decoded(value)
        made: dict[str, Any] = {}
        if value.get("headers"):
            if hidden:
                redaction.hide(value["headers"])
            made["headers"] = (
                dict.fromkeys(value["headers"], REDACTED) if hidden else self._final(redaction.pairs(value["headers"]))
            )
        if hidden and kind != "none":
            redaction.hide(content if kind != "binary" else None)
            return {**made, **encoded(REDACTED)}
        if kind in ("json", "text"):
            before = redaction.count
            shown = redaction.members(content)
            final = self._final(shown)
            unchanged = redaction.count == before and final == shown
            return {**value, **made} if unchanged else {**made, **encoded(final)}
        if kind == "binary" and redaction.rules.by_key:  # no view shows it, and keys in it are not recognized
            return {**made, **encoded(REDACTED)}
        return {**value, **made}

    def _final(self, value: Any) -> Any:
        """Replace the noted values of the whole story, once all are known: in base64 they could not be found."""
        return self._redaction.content(value) if self._is_last else value


def _ancestry(value: Mapping[str, Any]) -> Ancestry:
    job = value.get("job")
    row = {**value, "job": job if isinstance(job, Mapping) else {}}
    return ancestry_of(row) | ancestry_of_job(value)


def _placeholders(value: Any) -> Any:
    if isinstance(value, list):
        return [_placeholders(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _placeholders(one) if name in _TEXTS else one for name, one in value.items()}
    return REDACTED if isinstance(value, str) else value
