"""Exceptions as texts of a bounded length: the beginning of the message, and the end of the traceback."""

from __future__ import annotations

import concurrent.futures
import os
import textwrap
import traceback
from types import TracebackType

__all__ = ["MESSAGE_KEPT", "TRACEBACK_KEPT", "bounded", "described", "of_program", "traced"]

#: The most characters of a message, and of a traceback with its messages.
MESSAGE_KEPT, TRACEBACK_KEPT = 4000, 8000
#: The most characters of a message, and of one frame, inside a traceback; the most frames of one exception.
_MESSAGE_INSIDE, _FRAME_INSIDE, _FRAMES_INSIDE = 1500, 1000, 100
#: The longest chain of causes that `traceback` may read.
_READ_OF_A_CHAIN = 100
#: The most parts of an exception group, and the deepest group inside of another, that are written.
_PARTS, _DEPTH = 15, 5
#: No exception is written into less room (characters).
_LEAST_ROOM = 300
#: The least room of an exception of a group, if not all of them can be written.
_ROOM_OF_A_PART = 700

_HERE = os.path.dirname(__file__)
#: The files through which a call of a workflow leads before it comes to the function of the program.
_MACHINERY = (
    *(os.path.join(_HERE, name) for name in ("workflows" + os.sep, "execution.py", "workflow_task.py")),
    os.path.dirname(concurrent.futures.__file__),
)

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def bounded(text: str, most: int) -> str:
    """Return the text, or its beginning with the number of characters that are left out.

    Example:
        >>> from resonate_core.worker.tracebacks import bounded
        >>> bounded("short", 40), bounded("x" * 1000, 40)
        ('short', 'xxxxxxxxxxx… (989 characters left out)')
    """
    if len(text) <= most:
        return text
    note = f"… ({len(text):,} characters left out)"
    kept = max(0, most - len(note))
    return text[:kept] + f"… ({len(text) - kept:,} characters left out)"


def described(error: BaseException, most: int = MESSAGE_KEPT) -> str:
    """Return type and text of an exception, also of one whose ``__str__`` raises.

    Args:
        error: The exception.
        most: The most characters.

    Example:
        >>> from resonate_core.worker.tracebacks import described
        >>> described(ValueError("no number")), len(described(ValueError("x" * 5_000_000)))
        ('ValueError: no number', 4000)
    """
    return bounded(_only(error).strip(), most)


def _only(error: BaseException) -> str:
    """Write an exception without its traceback.

    `traceback` reads all that caused it even then, and so takes seconds if a loop of retries has made a chain of thousands.
    """
    first = error
    for _ in range(_READ_OF_A_CHAIN):
        before = first.__cause__ or first.__context__
        if before is None:
            return "".join(traceback.format_exception_only(type(error), error))
        first = before
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception:
        message = "<exception str() failed>"
    return f"{name}: {message}\n" if message else f"{name}\n"


def traced(error: BaseException, most: int = TRACEBACK_KEPT) -> str:
    """Return the traceback of an exception. If it is too long, the last frames of the last exception are kept.

    Args:
        error: The exception; its causes stand before it, as far as there is room.
        most: The most characters.

    Example:
        >>> from resonate_core.worker.tracebacks import traced
        >>> try:
        ...     int("x" * 5_000_000)
        ... except ValueError as error:
        ...     text = traced(error)
        >>> len(text) <= 8000, text.splitlines()[0]
        (True, 'Traceback (most recent call last):')
    """
    text = _chain(error, most, 0)
    return text if len(text) <= most else text[-most:]


def of_program(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the library that runs workflows; as it is, if it has no others.

    Example:
        >>> from resonate_core.worker.tracebacks import of_program
        >>> of_program(None) is None
        True
    """
    kept: list[TracebackType] = []
    each = trace
    while each is not None:
        if not each.tb_frame.f_code.co_filename.startswith(_MACHINERY):
            kept.append(each)
        each = each.tb_next
    made: TracebackType | None = None
    for one in reversed(kept):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace if made is None else made


def _chain(error: BaseException, room: int, depth: int) -> str:
    """Write an exception and what it was caused by; the oldest is the first."""
    sections: list[str] = []
    written: set[int] = set()
    before: BaseException | None = error
    link = ""
    while before is not None and id(before) not in written:
        if sections and room < _LEAST_ROOM:
            sections.append("… (earlier exceptions are left out)\n" + link)
            break
        written.add(id(before))
        section = _section(before, room - len(link), depth) + link
        sections.append(section)
        room -= len(section)
        if before.__cause__ is not None:
            before, link = before.__cause__, _CAUSE
        else:
            before, link = (None if before.__suppress_context__ else before.__context__), _CONTEXT
    return "".join(reversed(sections))


def _section(error: BaseException, room: int, depth: int) -> str:
    written = _only(error).rstrip("\n")
    message = bounded(written, min(_MESSAGE_INSIDE, max(_LEAST_ROOM, room) // 3)) + "\n"
    parts = getattr(error, "exceptions", None)
    is_group = isinstance(parts, tuple) and parts and all(isinstance(part, BaseException) for part in parts)
    room -= len(message)
    frames = _frames(error.__traceback__, room // 2 if is_group else room)
    if not is_group:
        return frames + message
    assert isinstance(parts, tuple)
    room -= len(frames)
    return frames + message + bounded(_group(parts, room, depth).rstrip("\n"), max(room, _LEAST_ROOM) - 1) + "\n"


def _frames(trace: TracebackType | None, room: int) -> str:
    """Write the last frames, as many as there is room for, and at least one."""
    found = traceback.format_tb(trace, -_FRAMES_INSIDE)
    if not found:
        return ""
    head, left_out = "Traceback (most recent call last):\n", "  … (earlier frames are left out)\n"
    room -= len(head) + len(left_out)
    kept: list[str] = []
    for frame in reversed(found):
        text = bounded(frame.rstrip("\n"), min(_FRAME_INSIDE, max(_LEAST_ROOM, room))) + "\n"
        if kept and len(text) > room:
            break
        kept.append(text)
        room -= len(text)
    whole = len(kept) == len(found) and len(list(traceback.walk_tb(trace))) <= _FRAMES_INSIDE
    return head + ("" if whole else left_out) + "".join(reversed(kept))


def _end(text: str, most: int) -> str:
    """Return the end of a text, which begins with a whole line."""
    if len(text) <= most:
        return text
    return text[-most:].partition("\n")[2] or text[-most:]


def _group(parts: tuple[BaseException, ...], room: int, depth: int) -> str:
    """Write the exceptions of a group, as many as there is room for, each into the same room."""
    shown = parts[: min(_PARTS, max(1, room // _ROOM_OF_A_PART))] if depth < _DEPTH else ()
    left_out = f"    … ({len(parts) - len(shown)} more exceptions are left out)\n" if len(parts) > len(shown) else ""
    room -= len(left_out)
    texts = []
    for number, part in enumerate(shown, start=1):
        share = room // (len(shown) - number + 1)
        text = f"  +---------------- {number} ----------------\n"
        part_text = textwrap.indent(_chain(part, share * 4 // 5, depth + 1), "    | ", lambda line: True)
        text += _end(part_text, max(share, _LEAST_ROOM) - len(text))
        texts.append(text)
        room -= len(text)
    return "".join(texts) + left_out
