"""The one module that imports the SDK, when it is needed, with a clear error if it is missing."""

from __future__ import annotations

import importlib
import logging
import sys
from functools import reduce
from types import CodeType, ModuleType

from resonate_core.base.extras import how_to_install

__all__ = ["SdkMissing", "code_of", "go_without", "sdk_module"]

_log = logging.getLogger(__name__)
#: The internals of the SDK that were reported as missing.
_missing: set[str] = set()

_NEEDS = f"resonate_core.connection needs Python 3.12 or newer and the SDK: {how_to_install('sdk')}"


class SdkMissing(ImportError):
    """The SDK is needed and is not installed, or Python is older than 3.12."""


def sdk_module(name: str) -> ModuleType:
    """Import one module of the SDK.

    Args:
        name: Its full name, such as ``"resonate.resonate"``.

    Raises:
        SdkMissing: Python is too old, or the SDK is not installed.
    """
    if sys.version_info < (3, 12):
        raise SdkMissing(f"{_NEEDS} (this is Python {sys.version_info.major}.{sys.version_info.minor})")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise SdkMissing(f"{_NEEDS} (no module named {missing.name!r})") from missing


def go_without(internal: str) -> None:
    """Warn, once in a process, that an internal of the SDK is missing, which only the log of failed attempts needs.

    Args:
        internal: Its name, such as ``resonate.core.Core``.
    """
    if internal not in _missing:
        _missing.add(internal)
        _log.warning(
            "the installed SDK has no %s: programs run, but not every failed attempt of a durable function is logged and shown, "
            "and the error of a promise without a value may say less. Tell the authors of resonate_core the version of resonate-sdk",
            internal,
        )


def code_of(module: str, method: str) -> CodeType | None:
    """Return the code of a method of the SDK; None, with a warning, if this SDK has none of that name.

    Args:
        module: Its module.
        method: Its class and name, such as ``"Core.run"``.

    Raises:
        SdkMissing: Python is too old, or the SDK is not installed.
    """
    sdk_module("resonate")
    try:
        code: CodeType = reduce(getattr, [*method.split("."), "__code__"], importlib.import_module(module))  # type: ignore[assignment]
    except (ModuleNotFoundError, AttributeError):
        go_without(f"{module}.{method}")
        return None
    return code
