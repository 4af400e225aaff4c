"""What a server writes to standard error."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import LogSettings

__all__ = ["configure"]


def configure(settings: LogSettings) -> None:
    """Sends the logs of this process to standard error, as text or as one JSON object a line.

    Raises:
        ImportError: JSON is asked for, and python-json-logger is not installed.
    """
    handler = logging.StreamHandler(sys.stderr)
    if settings.format == "json":
        try:
            from pythonjsonlogger.core import RESERVED_ATTRS
            from pythonjsonlogger.json import JsonFormatter
        except ImportError as error:
            raise ImportError("log.format json needs python-json-logger: pip install 'resonate-core[cli]'") from error
        handler.setFormatter(
            JsonFormatter(
                "%(asctime)s %(levelname)s %(name)s %(message)s",
                rename_fields={"asctime": "time", "levelname": "level"},
                reserved_attrs=[*RESERVED_ATTRS, "color_message"],  # uvicorn's own text for terminals
            )
        )
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    # uvicorn's own lines about its process say what ours say.
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, root.level))
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if settings.access else logging.WARNING)
    for noisy in ("asyncio", "httpcore"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
