"""Lines of logs that quote what others wrote.

A text of a client or of a job neither begins a line nor moves a cursor, whatever handlers a program has.
"""

from __future__ import annotations

import logging

from .._foreign_text import clean, is_clean

__all__ = ["escape_lines"]


class _Escapes(logging.Filter):
    """Writes what is not printable in a record's message as escapes. What such a record is about stays in its `extra` members."""

    def filter(self, record: logging.LogRecord) -> bool:
        line = record.getMessage()
        if not is_clean(line):
            record.msg, record.args = clean(line), None
        return True


def escape_lines(*loggers: str) -> None:
    r"""Let the messages of loggers be one line each, with escapes in place of what is not printable.

    Tracebacks, which the handlers of a program write, are left as they are.

    Args:
        loggers: Their names. Loggers below them are not meant.

    Example:
        >>> import logging
        >>> from resonate_core.base.log_lines import escape_lines
        >>> escape_lines("example")
        >>> records = []
        >>> class Kept(logging.Handler):
        ...     def emit(self, record):
        ...         records.append(record.getMessage())
        >>> logging.getLogger("example").addHandler(Kept())
        >>> logging.getLogger("example").warning("job %s failed", "a\nERROR forged")
        >>> records
        ['job a\\nERROR forged failed']
    """
    for name in loggers:
        logger = logging.getLogger(name)
        if not any(isinstance(one, _Escapes) for one in logger.filters):
            logger.addFilter(_Escapes())
