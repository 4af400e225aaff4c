"""Redaction: values that must not leave the store are replaced in every response.

A value is found in a payload, by its key or by the type of its job. It is then replaced wherever its text occurs in
the same response: tracebacks, error messages, log lines and sentences may quote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._failed_attempts import FailedAttempt
from .options import UiOptions

__all__ = ["DEEPEST", "REDACTED", "Redaction", "Rules"]

REDACTED = "[redacted]"
#: The most levels of JSON that are examined, shown and taken: deeper JSON of a program is shown as text.
DEEPEST = 100
#: Shorter texts are redacted in their place only: they occur in other words by chance.
_SHORTEST = 4
#: A payload that is redacted as a whole holds ordinary words, too.
_SHORTEST_OF_TYPE = 8
#: The most values that are replaced in one response.
_MOST_SECRETS = 5000
#: Members that name a record; a page needs them to ask for it.
_NAMES = frozenset(("id", "ids", "root", "queue", "next", "cursor", "travel", "kind", "leader", "batch"))


class Rules:
    """Which keys and types are redacted.

    Args:
        options: The patterns.

    Example:
        >>> from resonate_core.ui.options import UiOptions
        >>> from resonate_core.ui.redaction import Rules
        >>> rules = Rules(UiOptions(redact_keys=["password", "*_token"], redact_types=["card:*"]))
        >>> rules.hides_key("Password"), rules.hides_key("api_token"), rules.hides_key("token"), rules.hides_type("card:charge")
        (True, True, False, True)
    """

    def __init__(self, options: UiOptions) -> None:
        self._keys = _pattern(options.redact_keys, re.IGNORECASE)
        self._types = _pattern(options.redact_types, 0)
        self._assigned = _assignment(options.redact_keys)

    @property
    def any(self) -> bool:
        """Whether anything is redacted."""
        return self._keys is not None or self._types is not None

    @property
    def by_type(self) -> bool:
        """Whether payloads are redacted by type."""
        return self._types is not None

    def hides_key(self, key: str) -> bool:
        """Return whether the values of a key are redacted."""
        return self._keys is not None and self._keys.fullmatch(key) is not None

    def hides_type(self, type: str | None) -> bool:
        """Return whether the payloads of a type of jobs, or of a function, are redacted."""
        return self._types is not None and type is not None and self._types.fullmatch(type) is not None

    def hides_path(self, path: str) -> bool:
        """Return whether a path into a payload leads through a redacted key."""
        return any(self.hides_key(part) for part in path.split("."))

    def without_assignments(self, text: str) -> str:
        """Return a text in which `key=value`, `"key": "value"` and the like are redacted."""
        if self._assigned is None:
            return text
        return self._assigned.sub(lambda found: found[1] + REDACTED, text)


class Redaction:
    """Redacts one response: collects the values that must not be sent, and replaces them.

    Args:
        rules: Which keys and types are redacted.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._secrets: set[str] = set()

    def hide(self, value: Any, shortest: int = _SHORTEST_OF_TYPE) -> None:
        """Note all texts and numbers in a value, which must not be sent."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, Mapping):
                waiting.extend(one.values())
            elif isinstance(one, list):
                waiting.extend(one)
            elif isinstance(one, (str, int, float)) and not isinstance(one, bool):
                text = one if isinstance(one, str) else json.dumps(one)
                if len(text) >= shortest and len(self._secrets) < _MOST_SECRETS:
                    self._secrets.add(text)

    def members(self, value: Any, levels: int = DEEPEST) -> Any:
        """Return JSON with the values of redacted keys replaced; they are noted.

        Args:
            value: The JSON.
            levels: How many levels are examined. Deeper lists and objects are replaced whole.
        """
        if not self.rules.any:
            return value
        if isinstance(value, (Mapping, list)) and levels == 0:
            return REDACTED
        if isinstance(value, Mapping):
            return {key: self._member(key, member, levels - 1) for key, member in value.items()}
        if isinstance(value, list):
            return [self.members(member, levels - 1) for member in value]
        return self.rules.without_assignments(value) if isinstance(value, str) else value

    def _member(self, key: str, value: Any, levels: int) -> Any:
        if self.rules.hides_key(key):
            self.hide(value, _SHORTEST)
            return REDACTED
        return self.members(value, levels)

    def text(self, text: str) -> str:
        """Return a text without assignments to redacted keys; JSON in it is redacted as JSON."""
        if not self.rules.any:
            return text
        if text[:1] in ("{", "["):
            try:
                return json.dumps(self.members(json.loads(text)), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass
        return self.rules.without_assignments(text)

    def failure(self, failed: FailedAttempt) -> str:
        """Return the error of a failed attempt as it may be shown: that of a redacted function is its class."""
        return failed.error.partition(":")[0] if self.rules.hides_type(failed.func) else self.text(failed.error)

    def document(self, document: Any) -> Any:
        """Return a response in which no noted value occurs, in any text of it."""
        if not self._secrets:
            return document
        found = re.compile("|".join(re.escape(secret) for secret in sorted(self._forms(), key=len, reverse=True)))
        return _replaced(document, found, None)

    def _forms(self) -> Iterable[str]:
        """The noted values as texts hold them: plain, and with the escapes of JSON and of Python."""
        for secret in self._secrets:
            yield secret
            yield from {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]} - {secret}


def _replaced(value: Any, found: re.Pattern[str], key: str | None) -> Any:
    if isinstance(value, str):
        return value if key in _NAMES else found.sub(REDACTED, value)
    if isinstance(value, dict):
        return {found.sub(REDACTED, name): _replaced(one, found, name) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(one, found, key) for one in value]
    return value


def _pattern(patterns: Iterable[str], flags: int) -> re.Pattern[str] | None:
    parts = [".*".join(re.escape(part) for part in pattern.split("*")) for pattern in patterns]
    return re.compile("|".join(f"(?:{part})" for part in parts), flags | re.DOTALL) if parts else None


def _assignment(keys: Iterable[str]) -> re.Pattern[str] | None:
    parts = [r"[\w-]*".join(re.escape(part) for part in key.split("*")) for key in keys]
    if not parts:
        return None
    names = "|".join(f"(?:{part})" for part in parts)
    value = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&}\])]+)"""
    return re.compile(rf"""((?<![\w-])["']?(?:{names})["']?\s*(?:=>|[:=])\s*){value}""", re.IGNORECASE)
