"""The call of a handler with the payload and context of a job."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from .._core import Value
from ..errors import Invalid
from .arguments import EMPTY, ByName, Ignored, Invoke, Raw, Upcast, Whole, data_of
from .context import BatchContext, JobContext
from .conversion import Unfit
from .encoding import payload_encoded
from .option_values import flag
from .signature import NAMELESS, Signature, is_a, is_async

__all__ = ["BatchCall", "HandlerCall", "Invoke", "InvokeBatch", "Read", "Upcast", "is_async"]

#: How the payload of a job is read.
Read = Callable[[JobContext], Any]
InvokeBatch = Callable[[BatchContext], Any]


class HandlerCall:
    """How a handler is called with the payload of a job, and how a payload is made for it.

    Parameters annotated `JobContext` get the context and do not count. Then one rule holds, whatever the number of parameters:

    - The payload is an object, and each parameter gets the member of its name.
    - A handler declares by its first parameter that it takes the whole payload instead: the parameter is named ``payload``, has no
      name (it is positional-only), or is annotated with a type whose JSON is an object, with `bytes`, or with `Value`. Its other
      parameters then have defaults, which they keep.
    - A payload that is not an object is the first argument.

    Args:
        function: The handler.
        unpack: True: members by name in any case. False: the payload in any case. None: as the handler declares.
        upcast: Makes the present payload of an older one, before it is converted.
        names: The names of the scope in which the handler is defined, for its annotations.

    Attributes:
        invoke: Calls the handler with a context.
        takes_dependencies: Whether a parameter gets the dependencies of the job.

    Raises:
        TypeError: The handler cannot be called so, or an annotation has no JSON.
        ImportError: An annotation needs a library that is not installed.

    Example:
        >>> from resonate_core.worker.calling import HandlerCall
        >>> HandlerCall(lambda to, subject: to).payload_of("ada", subject="hi")
        {'to': 'ada', 'subject': 'hi'}
        >>> HandlerCall(lambda to, subject: to, unpack=False)
        Traceback (most recent call last):
        ...
        TypeError: with unpack=False a handler must take the payload as its one argument, got (to, subject)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        names: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        if unpack is not None:
            flag("unpack", unpack)
        signature = Signature(function, JobContext, names)
        if unpack and any(p.kind in NAMELESS for p in signature.rest):
            raise TypeError(f"with unpack=True a handler must take its parameters by name, got {signature}")
        if unpack is False and signature.rest and not signature.takes_one:
            raise TypeError(f"with unpack=False a handler must take the payload as its one argument, got {signature}")
        if upcast is not None and not callable(upcast):
            raise TypeError(f"upcast must be a function of a payload, got {upcast!r}")
        self._signature = signature
        self._public = inspect.Signature(signature.rest)
        self._way = self._chosen(signature, unpack, upcast)
        self.invoke: Invoke = self._way.invoke
        self.takes_dependencies = signature.takes_dependencies

    @staticmethod
    def _chosen(signature: Signature, unpack: bool | None, upcast: Upcast | None) -> Ignored | Raw | Whole | ByName:
        first = signature.first
        if not signature.rest:
            return Ignored(signature)
        whole = signature.declares_whole() if unpack is None else not unpack
        if not whole or first is None:
            return ByName(signature, upcast, first_alone=unpack is None and signature.takes_one)
        hint = signature.hint(first)
        if not (is_a(hint, Value) or is_a(hint, bytes)):
            return Whole(signature, first, upcast)
        if upcast is not None:
            raise TypeError(f"upcast must be None for a payload that is not decoded, got {upcast!r} for {signature}")
        return Raw(signature, first)

    @property
    def hints(self) -> dict[str, Any]:
        """The annotations of the handler."""
        return self._signature.hints

    @property
    def parameters(self) -> list[str]:
        """The parameters that get the payload, as they are written in the function."""
        return [str(each) for each in self._signature.rest]

    def checked(self, payload: Any) -> Any:
        """Return a payload in the store's form; raises if it does not fit the handler.

        Args:
            payload: The payload: JSON-able, a value of an annotated type, bytes, or a `Value`.

        Raises:
            Invalid: It does not fit, or holds a secret; the error names the member.
            TypeError: It has no JSON.
        """
        given = payload_encoded(payload)
        if isinstance(self._way, (Ignored, Raw)):
            return given
        try:
            self._way.decode(_given_data(given))
        except Unfit as error:
            raise Invalid(str(error)) from error
        return given

    def payload_of(self, *args: Any, **kwargs: Any) -> Any:
        """The payload of a call with these arguments.

        Raises:
            TypeError: The handler cannot be called so.
        """
        return self._way.payload_of(self._public.bind(*args, **kwargs).arguments)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the payload."""
        return _with_definitions(self._way.schema)


def _given_data(payload: Any) -> Any:
    """The JSON of a payload that is to be enqueued."""
    if payload is None:
        return EMPTY
    if isinstance(payload, Value):
        return data_of(payload)
    if isinstance(payload, (bytes, bytearray, memoryview)):
        try:
            return json.loads(bytes(payload))
        except ValueError as error:
            raise Unfit(f"the payload must be JSON, got bytes that are not: {error}") from error
        except RecursionError as error:
            raise Unfit("the payload must not be nested so deeply that it cannot be read") from error
    return payload


def _with_definitions(schema: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    found = schema(definitions)
    return {**found, "$defs": definitions} if definitions else found


def _payloads(batch: BatchContext) -> list[Any]:
    return batch.payloads


class BatchCall:
    """How the payload of each job is read for a handler of batches, and the call of that handler.

    A parameter annotated `BatchContext` gets the context and does not count. The handler is called with one argument, the list of
    payloads, each read as the annotation of the list's elements says; or with none, if it takes none.

    Args:
        function: The handler.
        upcast: As of `HandlerCall`.
        names: As of `HandlerCall`.

    Attributes:
        invoke: Calls the handler with a context.
        read: Reads the payload of one job.
        takes_dependencies: False; the context of each job has them.

    Raises:
        TypeError: It cannot be called so.

    Example:
        >>> from resonate_core.worker.calling import BatchCall
        >>> BatchCall(lambda payloads: payloads).checked({"a": 1})
        {'a': 1}
    """

    def __init__(
        self,
        function: Callable[..., Any],
        upcast: Upcast | None = None,
        names: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        signature = Signature(function, BatchContext, names)
        single = any(is_a(signature.hints.get(p.name), JobContext) for p in signature.rest)
        if single or len(signature.contexts) > 1 or (signature.rest and not signature.takes_one):
            raise TypeError(
                f"{function!r} must take a list of payloads as its one argument, and a BatchContext where a parameter is annotated "
                f"so, got {signature}"
            )
        self._signature = signature
        self.takes_dependencies = False
        self.invoke: InvokeBatch = signature.whole(_payloads)
        hint = signature.hint(signature.first) if signature.first is not None else inspect.Parameter.empty
        elements = typing.get_args(hint)
        element = elements[0] if elements else hint if is_a(hint, bytes) or is_a(hint, Value) else inspect.Parameter.empty

        def one(payload: Any, /) -> Any:
            return payload

        one.__annotations__ = {"payload": element}
        self._one = HandlerCall(one, upcast=upcast)
        self.read: Read = self._one.invoke

    @property
    def hints(self) -> dict[str, Any]:
        """As of `HandlerCall`."""
        return self._signature.hints

    @property
    def parameters(self) -> list[str]:
        """As of `HandlerCall`."""
        return [str(each) for each in self._signature.rest]

    def checked(self, payload: Any) -> Any:
        """As `HandlerCall.checked`, for the payload of one job."""
        return self._one.checked(payload)

    def payload_of(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses: the arguments of the function are those of many jobs.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a handler of batches takes a list of payloads, {self._signature}: enqueue each payload by itself")

    def schema(self) -> dict[str, Any]:
        """As `HandlerCall.schema`, for the payload of one job."""
        return self._one.schema()
