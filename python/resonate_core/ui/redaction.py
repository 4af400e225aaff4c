"""Redaction: values that must not leave the store are replaced in every response.

A value is found in a payload, by its key or by the type of its job. It is then replaced wherever its text occurs in
the same response: tracebacks, error messages, log lines and sentences may quote it.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from .._core import Needles
from ..base.globs import Globs
from .assignments import NAMERS, Assignments
from .options import UiOptions
from .parameters import BadParameter

__all__ = ["BUDGET", "DEEPEST", "REDACTED", "Redaction", "RedactionRules"]

REDACTED = "[redacted]"
#: The most levels of JSON that are examined, shown and taken, JSON in texts included. Deeper JSON is redacted, or shown as text.
DEEPEST = 100
#: The most characters that are searched for one response; further ones are redacted.
BUDGET = 8_388_608
#: Each value counts as so many characters more, and each place of a text that is examined.
_EACH, _PLACE = 32, 64
#: The longest text that is taken for a name, and the characters of a value by which its occurrences are found (as in the core).
_LONGEST_NAME, _LONGEST_NEEDLE = 256, 256
#: Texts of so many characters are searched once in a response.
_REPEATED = 256
#: Shorter texts are redacted in their place only: they occur in other words by chance.
_SHORTEST = 4
#: A payload that is redacted as a whole holds ordinary words, too; so do the lines of a text.
_SHORTEST_OF_TYPE = 8
#: The most characters of the values that are replaced in one response. If there are more, all texts that may quote them are redacted.
_MOST_SECRETS = 1_048_576
#: Members that name a record; a page needs them to ask for it.
_NAMES = frozenset(("id", "ids", "root", "queue", "next", "cursor", "travel", "kind", "leader", "batch"))
#: Members whose texts the product chooses, or that name something.
_STRUCTURE = _NAMES | {
    *("state", "status", "change", "type", "name", "format", "code", "role", "who", "from", "version", "clock", "place"),
    *("outcome", "address", "worker", "pid", "claimedBy", "cron"),
}
#: Members below which the names are chosen by users, too.
_OF_USERS = frozenset(("json", "tags", "headers", "promiseTags"))
#: How many times a quoted value may be escaped as JSON, and the characters that any escaping changes.
_ESCAPED, _ESCAPABLE = 4, re.compile(r"""["'\\&<>/\x00-\x1f\x7f-\U0010ffff]+""")
#: What begins as the base64 of JSON does.
_BASE64 = re.compile(r"(?<![\w+/-])(?:e[wy]|[WI]|77u[/_])[\w+/-]{8,}={0,2}", re.ASCII)
#: What may stand around JSON: white space and byte order marks.
_AROUND = " \t\r\n\f\v\ufeff\ufffe\u200b\u00a0"
#: Integers of so many digits, which Python may refuse to read (at least 640 digits are read).
_LONGEST_NUMBER, _LONG_NUMBER = 640, re.compile(r"(?<!\d)\d{640}", re.ASCII)


class RedactionRules:
    """Which keys and types are redacted.

    Args:
        options: The patterns.

    Example:
        >>> from resonate_core.ui.options import UiOptions
        >>> from resonate_core.ui.redaction import RedactionRules
        >>> rules = RedactionRules(UiOptions(redact_keys=["password", "*_token"], redact_types=["card:*"]))
        >>> rules.hides_key("Password"), rules.hides_key("api_token"), rules.hides_key("token"), rules.hides_type("card:charge")
        (True, True, False, True)
    """

    def __init__(self, options: UiOptions) -> None:
        self._keys = Globs(options.redact_keys, ignore_case=True)
        self._types = Globs(options.redact_types)
        self._known = lru_cache(maxsize=4096)(self._keys.match)
        self.assignments = Assignments(self.hides_key, options.redact_keys)

    @property
    def any(self) -> bool:
        """Whether anything is redacted."""
        return bool(self._keys or self._types)

    @property
    def by_key(self) -> bool:
        """Whether values are redacted by key."""
        return bool(self._keys)

    @property
    def by_type(self) -> bool:
        """Whether payloads are redacted by type."""
        return bool(self._types)

    def hides_key(self, key: str) -> bool:
        """Return whether the values of a key are redacted."""
        key = key.strip()
        return self._known(key) if len(key) < 100 else self._keys.match(key)

    def is_key(self, text: str) -> bool:
        """Return whether a text is the name of a redacted key, or a path to it, and no sentence."""
        last = re.split(r"[./\[\]]+", text.rstrip("]"))[-1]
        return len(text.split()) <= self.assignments.words and (self.hides_key(text) or self.hides_key(last))

    def hides_type(self, type: str | None) -> bool:
        """Return whether the payloads of a type of jobs, or of a function, are redacted. Views ask `StoreAccess.hides`."""
        return type is not None and self._types.match(type)

    def hides_path(self, path: str) -> bool:
        """Return whether a path into a payload leads through a redacted key."""
        return any(self.hides_key(part) for part in path.split("."))

    def refuse_tags(self, name: str, tags: object) -> None:
        """Refuse a filter by a redacted key: its result would confirm a guess of the value.

        Raises:
            BadParameter: A key is redacted.
        """
        for key in tags if isinstance(tags, Mapping) else ():
            if isinstance(key, str) and self.hides_key(key):
                raise BadParameter(f"{name} must not name a redacted member, got {key!r}")


class Redaction:
    """Redacts one response: collects the values that must not be sent, and replaces them.

    Args:
        rules: Which keys and types are redacted.
        budget: The most characters that are searched.

    Attributes:
        left: The characters that may still be searched; negative once the budget is used up.
        count: The number of values that were replaced in their place.
    """

    def __init__(self, rules: RedactionRules, budget: int = BUDGET) -> None:
        self.rules = rules
        self.left = budget
        self.count = 0
        self._secrets: set[str] = set()
        self._room = _MOST_SECRETS
        self._finder: Needles | None = None
        self._known: dict[str, str] = {}
        self._payloads: dict[str, tuple[Any, bool]] = {}  # and whether anything was replaced

    # --- values -------------------------------------------------------------------------------------------------------------

    def hide(self, value: Any, shortest: int = _SHORTEST_OF_TYPE) -> None:
        """Note all texts and numbers in a value, which must not be sent."""
        waiting = [value]
        while waiting and self._spend(_EACH):
            one = waiting.pop()
            if isinstance(one, Mapping):
                waiting.extend(one.values())
            elif isinstance(one, (list, tuple)):
                waiting.extend(one)
            elif isinstance(one, str):
                self._note(one, shortest)
                if one.lstrip(_AROUND)[:1] in ("{", "[") and self._spend(len(one)):
                    waiting.append(_json_in(one))
            elif isinstance(one, (int, float)) and not isinstance(one, bool):
                self._note(json.dumps(one), shortest)
        if waiting:
            self._room = -1

    def _note(self, text: str, shortest: int) -> None:
        if len(text) < shortest or text in self._secrets:
            return
        for line in text.splitlines() if "\n" in text else ():  # reports and tracebacks are shown by line
            self._note(line.strip(), _SHORTEST_OF_TYPE)
        self._room -= min(len(text), _LONGEST_NEEDLE)
        if self._room >= 0:
            self._secrets.add(text)
            self._finder = None

    def members(self, value: Any, levels: int = DEEPEST) -> Any:
        """Return JSON with the values of redacted keys replaced; they are noted.

        Args:
            value: The JSON.
            levels: How many levels are examined. Deeper lists and objects are replaced whole.
        """
        if not self.rules.any:
            return value
        if not self._spend(_EACH):
            return self._replaced()
        if isinstance(value, str):
            return self._text(value, levels)
        if not isinstance(value, (Mapping, list)):
            return value
        if levels == 0:
            return self._replaced()
        if isinstance(value, Mapping):
            named = self._is_pair(value)
            return {key: self._member(key, member, named, levels - 1) for key, member in value.items()}
        made, named = [], False
        for member in value:
            made.append(self._hidden(member) if named else self.members(member, levels - 1))
            # A list of names and values, such as that of arguments or of headers.
            named = not named and self.left >= 0 and self._is_key(member)  # beyond the budget, every member is replaced
        return made

    def payload(self, data: str, content: Any) -> Any:
        """Return the JSON of a payload as `members` does; that of the same data is examined once in a response.

        Args:
            data: The data as stored.
            content: Its JSON.
        """
        if data not in self._payloads:
            before = self.count
            made = self.members(content)
            self._payloads[data] = made, self.count > before
        else:
            self.count += self._payloads[data][1]
        return self._payloads[data][0]

    def pairs(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return tags or headers with the values of redacted keys replaced."""
        made = self.members(value)
        return made if isinstance(made, dict) else {REDACTED: REDACTED}

    def _member(self, key: str, value: Any, named: bool, levels: int) -> Any:
        self.left -= len(key)
        if self.rules.hides_key(key) or (named and not self._is_key(value)):
            return self._hidden(value)
        return self.members(value, levels)

    def _is_pair(self, value: Mapping[str, Any]) -> bool:
        """Whether an object names one of its members by another: `{"name": "password", "value": …}`."""
        if not self.rules.by_key or len(value) < 2:
            return False
        return any(self._is_key(one) for key, one in value.items() if len(value) == 2 or key.casefold() in NAMERS)

    def _is_key(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= _LONGEST_NAME and self.rules.is_key(value.strip().strip("-:="))

    def _hidden(self, value: Any) -> Any:
        self.hide(value, _SHORTEST)
        return self._replaced()

    def _replaced(self) -> str:
        self.count += 1
        return REDACTED

    @contextmanager
    def within(self, budget: int) -> Iterator[None]:
        """Search at most so many characters in a `with` block; `left` is negative there once these are used up."""
        kept = max(self.left - budget, 0)
        self.left -= kept
        try:
            yield
        finally:
            self.left = kept + max(self.left, 0) if kept else self.left

    def _spend(self, characters: int) -> bool:
        self.left -= characters
        return self.left >= 0

    # --- texts --------------------------------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """Return a text without assignments to redacted keys; JSON in it is redacted as JSON."""
        made: str = self.members(text)
        return made

    def _text(self, text: str, levels: int) -> str:
        if not self.rules.by_key:
            return text
        if len(text) < _REPEATED:
            return self._searched(text, levels)
        if text not in self._known:  # an error is that of its attempt, too
            self._known[text] = self._searched(text, levels)
        self.count += self._known[text] != text
        return self._known[text]

    def _searched(self, text: str, levels: int) -> str:
        if not self._spend(len(text)):
            return self._replaced()
        if _may_be_json(text):
            content = _json_in(text)
            if isinstance(content, (dict, list, str)):
                if levels == 0:
                    return self._replaced()
                before = self.count
                content = self.members(content, levels - 1)
                if self.count > before:
                    return json.dumps(content, ensure_ascii=False)
        if len(text) > _SHORTEST:
            text = _BASE64.sub(lambda found: self._base64(found[0], levels), text)
        return self._assigned(text, note=True)

    def _base64(self, text: str, levels: int) -> str:
        """Return the base64 of JSON, as the product encodes payloads, without the values of redacted keys."""
        padded = text.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            raw = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
            content = _json_in(raw.decode(json.detect_encoding(raw), "surrogatepass"))
        except (binascii.Error, ValueError):
            return text
        if not isinstance(content, (dict, list, str)):
            return text
        if levels == 0:
            return self._replaced()
        before = self.count
        content = self.members(content, levels - 1)
        if self.count == before:
            return text
        return base64.b64encode(json.dumps(content, ensure_ascii=True).encode()).decode()

    def _assigned(self, text: str, *, note: bool) -> str:
        if not self.rules.by_key or not self.rules.assignments.may_be_in(text):
            return text
        made, values, places = self.rules.assignments.hidden(text, REDACTED)
        self.count += len(values)
        self.left -= _PLACE * places
        for quotable in (one for some in values for one in some) if note else ():
            self._note(quotable, _SHORTEST)
        return made

    # --- responses ----------------------------------------------------------------------------------------------------------

    def document(self, document: Any) -> Any:
        """Return a response in which no noted value occurs, in any text of it."""
        if not self.rules.any:
            return document
        return self._response(document, None, of_user=False, cut=False)

    def content(self, value: Any) -> Any:
        """Return a payload in which no noted value occurs."""
        return self._response(value, None, of_user=True, cut=False)

    def _response(self, value: Any, key: str | None, *, of_user: bool, cut: bool) -> Any:
        if isinstance(value, str):
            if key in _NAMES and not of_user:
                return value
            if self._room < 0 and (of_user or key not in _STRUCTURE):
                return REDACTED
            return self._without_secrets(value if of_user else self._assigned(value, note=False), cut or value.endswith("…"))
        if isinstance(value, Mapping):
            cut = bool(value.get("truncated"))
            return {
                self._without_secrets(name, False) if of_user else name: self._response(
                    one, name, of_user=of_user or name in _OF_USERS, cut=cut
                )
                for name, one in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._response(one, key, of_user=of_user, cut=False) for one in value]
        if of_user and isinstance(value, (int, float)) and not isinstance(value, bool) and json.dumps(value) in self._secrets:
            return REDACTED
        return value

    def _without_secrets(self, text: str, cut: bool) -> str:
        if not self._secrets or len(text) < _SHORTEST:
            return text
        if self._finder is None:
            self._finder = Needles([_encoded(form) for form in self._forms()])
        end = "…" if cut and text.endswith("…") else ""
        whole = _encoded(text[: len(text) - len(end)])
        replaced = self._finder.replaced(whole, REDACTED.encode(), cut)
        return replaced.decode("utf-8", "surrogatepass") + end

    def _forms(self) -> Iterable[str]:
        """The noted values as texts hold them: plain, and with the escapes of JSON in JSON, Python, addresses and markup."""
        for secret in self._secrets:
            secret = secret[: _LONGEST_NEEDLE + 1]
            yield secret
            if secret.isalnum() and secret.isascii():
                continue
            forms = {secret, repr(secret)[1:-1]}
            for _ in range(_ESCAPED):
                forms = {json.dumps(form, ensure_ascii=ascii)[1:-1] for form in forms for ascii in (True, False)} - {secret}
                yield from forms
            plain = secret.encode("utf-8", "replace")
            yield from (repr(secret)[1:-1], html.escape(secret), quote(plain), quote(plain, safe=""), quote_plus(plain))
            # Whatever else escapes a text leaves these parts of it.
            yield from (part for part in _ESCAPABLE.split(secret) if len(part) >= _SHORTEST_OF_TYPE)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _may_be_json(text: str) -> bool:
    return text.lstrip(_AROUND)[:1] in ("{", "[", '"')


def _json_in(text: str) -> Any:
    """Return the JSON that a text is, also with what other readers than Python's take; None if it is none."""
    text = text.strip(_AROUND)
    try:
        # Python refuses to read a long integer: it becomes the text of its digits.
        return json.loads(text, strict=False, parse_int=_digits if _LONG_NUMBER.search(text) else None)
    except (ValueError, RecursionError):
        return None


def _digits(text: str) -> int | str:
    return int(text) if len(text) < _LONGEST_NUMBER else text
