"""The log of a server, on standard error."""

from __future__ import annotations

import logging
import re
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .._foreign_text import clean, clean_json
from ..base.extras import how_to_install

if TYPE_CHECKING:
    from .._core import Envelope
    from .settings import LogSettings

__all__ = ["LINE", "Lines", "TagWarnings", "configure"]

_log = logging.getLogger("resonate_core.server")

#: The format of a record, for `Lines`.
LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_LIKE_A_RECORD = re.compile(r"^(?=\d{4}-\d\d-\d\d)", re.MULTILINE)
#: No more than this many different warnings of tags are logged: clients choose their tags.
_MOST_TAG_WARNINGS = 200
_LONGEST_ID = 100


def _cleaned(line: str) -> str:
    """Return a line with its tabs, and escapes in place of everything else that is not printable."""
    return "\t".join(map(clean, line.split("\t")))


class _Instants(logging.Formatter):
    """Writes instants in RFC 3339: UTC, milliseconds, `Z`."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return datetime.fromtimestamp(record.created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(record.msecs):03}Z"


class Lines(_Instants):
    """One line per record: a text from a client can neither begin a line nor look like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Write the first line of a record."""
        return _cleaned(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Write an exception on the lines after its record."""
        return _LIKE_A_RECORD.sub("  ", "\n".join(map(_cleaned, super().formatException(ei).split("\n"))))


def configure(settings: LogSettings) -> None:
    """Send the logs of this process to standard error, as text or as one JSON object per line.

    Raises:
        ImportError: JSON is asked for, and python-json-logger is not installed.
    """
    handler = logging.StreamHandler(sys.stderr)
    if settings.format == "json":
        try:
            from pythonjsonlogger.core import RESERVED_ATTRS
            from pythonjsonlogger.json import JsonFormatter
        except ImportError as error:
            raise ImportError(f"log.format json needs python-json-logger: {how_to_install('cli')}") from error

        class JsonLines(_Instants, JsonFormatter):
            """One object per line, with JSON's escapes for what is not printable."""

            def format(self, record: logging.LogRecord) -> str:
                return clean_json(super().format(record))

        handler.setFormatter(
            JsonLines(
                "%(asctime)s %(levelname)s %(name)s %(message)s",
                rename_fields={"asctime": "time", "levelname": "level"},
                reserved_attrs=[*RESERVED_ATTRS, "color_message"],  # uvicorn's own text for terminals
            )
        )
    else:
        handler.setFormatter(Lines(LINE))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    # uvicorn logs the start and the stop of the process as this package does.
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, root.level))
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if settings.access else logging.WARNING)
    for noisy in ("asyncio", "httpcore"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


class TagWarnings:
    """Logs that a tag looks misspelt, once for each: a client that misspells a tag misspells it in every request."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def check(self, envelope: Envelope) -> None:
        """Log the advice on the tags of a permitted request."""
        for advice in envelope.advice:
            if advice in self._logged or len(self._logged) >= _MOST_TAG_WARNINGS:
                continue
            self._logged.add(advice)
            of = f" of {envelope.ids[0][:_LONGEST_ID]!a}" if envelope.ids else ""
            _log.warning("%s%s: %s (this is said once)", envelope.kind, of, advice)
