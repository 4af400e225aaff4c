"""Tracebacks in stretches, so that a page can fold the frames of libraries."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["stretches"]

_FRAME = re.compile(r'[\s|+]*File "(.+?)", line \d+')
_LIBRARY = re.compile(r"(site|dist)-packages|[\\/]lib[\\/]python3|[\\/]resonate_core[\\/]|^<")
_MARGIN = re.compile(r"[\s|+]*")


def stretches(trace: str) -> list[dict[str, Any]]:
    r"""Return the lines of a traceback of Python in stretches: `text`, and `frames`, the number of frames of libraries; 0 for all else.

    A text that is no traceback is one stretch.

    Example:
        >>> from resonate_core.ui.traces import stretches
        >>> [(one["frames"], one["text"]) for one in stretches('  File "/lib/python3.13/ssl.py", line 4, in x\n    x()\nOSError: down')]
        [(1, '  File "/lib/python3.13/ssl.py", line 4, in x\n    x()'), (0, 'OSError: down')]
    """
    found: list[dict[str, Any]] = []
    lines: list[list[str]] = []
    depth, is_library = 0, False
    for line in trace.split("\n"):
        frame = _FRAME.match(line)
        margin = _MARGIN.match(line)
        indent = 0 if margin is None or margin.end() == len(line) else margin.end()
        if frame is not None:
            depth, is_library = indent, _LIBRARY.search(frame[1]) is not None
        elif indent <= depth:
            is_library = False
        if not found or is_library != (found[-1]["frames"] > 0):
            found.append({"frames": 0, "text": ""})
            lines.append([])
        lines[-1].append(line)
        found[-1]["frames"] += frame is not None and is_library
    for one, own in zip(found, lines, strict=True):
        one["text"] = "\n".join(own)
    return found
