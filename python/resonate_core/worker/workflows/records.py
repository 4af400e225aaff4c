"""A record of a call: the name of the call, and its value as the annotated type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..._core import Promise, Value
from ...calls.workflow_records import NAME_TAG, name_in
from ...errors import Invalid
from ..conversion import Conversion, Unfit, conversion
from ..encoding import encoded
from ..signature import is_a

__all__ = ["JOB", "NAME_TAG", "PATCHED", "Reader", "Step", "is_pending", "name_of", "settled"]

#: How the name of the mark of `patched` begins.
PATCHED = "patched "
#: How the name of a child job begins.
JOB = "job "

#: A step as `job.record` takes it.
Step = dict[str, Any]

#: Types whose values are in JSON what they are in Python.
_SAME = frozenset({str, int, bool, type(None)})


def name_of(record: Promise) -> str:
    """Return what was called, as `resonate_core.calls.workflow_records.name_of`, but without a dict of all tags.

    Example:
        >>> from resonate_core.worker.workflows.records import name_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> name_of(store.promises.create("a:1", timeout=1, tags={"resonate:name": "charge"}))
        'charge'
    """
    return record._tag(NAME_TAG) or name_in(record.tags)


def is_pending(record: Promise) -> bool:
    """Whether it has no outcome yet."""
    return record.state == "pending"


def settled(id: str, name: str, state: str, value: Any, param: Any = None, tags: Mapping[str, str] | None = None) -> Step:
    """Return a settled step as `job.record` takes it."""
    step: Step = {"id": id, "state": state, "value": value, "tags": {NAME_TAG: name} if tags is None else {NAME_TAG: name, **tags}}
    if param is not None:
        step["param"] = param
    return step


class Reader:
    """Reads values of one annotated type, and makes them.

    Args:
        hint: The annotation; `inspect.Parameter.empty`: any value.
        named: Whose it is, for errors.

    Raises:
        TypeError: Its values have no JSON.
        ImportError: It needs a library that is not installed.

    Example:
        >>> import datetime
        >>> from resonate_core.worker.workflows.records import Reader
        >>> Reader(datetime.date, "result of pay").checked(datetime.date(2026, 2, 1))
        ('2026-02-01', datetime.date(2026, 2, 1))
    """

    __slots__ = ("_conversion", "_raw", "_value")

    def __init__(self, hint: Any, named: str) -> None:
        self._value, self._raw = is_a(hint, Value), is_a(hint, bytes)
        self._conversion: Conversion | None = None
        if not (self._value or self._raw or isinstance(hint, str)):
            self._conversion = conversion(hint, named)

    def read(self, value: Value) -> Any:
        """Return the value that is recorded.

        Raises:
            Unfit: It does not fit the type.
        """
        if self._value:
            return value
        if self._raw:
            return None if value.data is None else value.bytes()
        try:
            data = value.json()
        except Invalid as error:
            if self._conversion is None:
                return value.bytes()
            raise Unfit(str(error)) from error
        except RecursionError as error:
            raise Unfit("it is nested so deeply that it cannot be read") from error
        return self.of_json(data)

    def of_json(self, data: Any) -> Any:
        """Return the value of what JSON was decoded to.

        Raises:
            Unfit: It does not fit the type.
        """
        return data if self._conversion is None else self._conversion.convert(data)

    def checked(self, result: Any) -> tuple[Any, Any]:
        """Return a result as it is stored, and as a replay reads it.

        Raises:
            Exception: It cannot be stored, or does not fit the type.
        """
        if type(result) in _SAME:
            return result, result if self._conversion is None else self._conversion.convert(result)
        stored = encoded(result)
        if isinstance(stored, Value):
            return stored, self.read(stored)
        if isinstance(stored, (bytes, bytearray, memoryview)):
            return stored, bytes(stored)
        if self._value or self._raw:
            raise Unfit(f"expected {'a Value' if self._value else 'bytes'}, got {type(result).__name__}")
        data = json.loads(json.dumps(stored, allow_nan=False))
        return stored, data if self._conversion is None else self._conversion.convert(data)
