"""The one module that imports the SDK, when it is needed, with a clear error if it is missing."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from resonate_core._extras import how_to_install

__all__ = ["SdkMissing", "sdk_module"]

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
