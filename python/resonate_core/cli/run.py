"""One run of the command line: whatever happens becomes an exit code and a line that says why, never a traceback."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import typer

import resonate_core as rc
from resonate_core.cli.exits import Exit, Failure, ReaderGone, code_of
from resonate_core.cli.show import clean, say

__all__ = ["run"]

# typer brings its own copy of click, or uses the installed one: what it raises is found through what it exports.
_ClickError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _tell(message: str, status: int | None, code: int, as_json: bool) -> int:
    # Messages quote ids and answers, which other people wrote.
    text = "\n".join(clean(line) for line in message.split("\n"))
    say(json.dumps({"error": message, "status": status, "exit": int(code)}) if as_json else text)
    return int(code)


def run(arguments: Sequence[str]) -> int:
    """Runs one command and gives its exit code."""
    from resonate_core.cli.app import app_for

    as_json = "--json" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal's encoding does not have is no reason to stop
    try:
        if not arguments:
            app_for(())(args=["--help"], prog_name="resonate-core", standalone_mode=False)
            return Exit.USAGE
        ended = app_for(arguments)(args=list(arguments), prog_name="resonate-core", standalone_mode=False)
        sys.stdout.flush()
        return ended if isinstance(ended, int) else Exit.DONE
    except Failure as failure:
        return _tell(failure.message, failure.status, failure.code, as_json)
    except rc.StoreBusy as error:
        return _tell(str(error), error.status, Exit.UNREACHABLE, as_json)
    except rc.ResonateError as error:
        return _tell(str(error), error.status, code_of(error.status), as_json)
    except UnicodeEncodeError as error:  # bytes of the command line that are no UTF-8
        return _tell(f"{error.object!r} is no UTF-8", None, Exit.USAGE, as_json)
    except (BrokenPipeError, ReaderGone):
        # Who read it has gone. What Python would flush at its end has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _tell(f"{error.filename or 'output'}: {error.strerror or error}", None, Exit.FAILED, as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _tell("interrupted", None, 128 + signal.SIGINT, as_json)
    except _ClickError as error:
        if as_json:
            return _tell(error.format_message(), None, Exit.USAGE, as_json)
        context = getattr(error, "ctx", None)
        if not error.format_message():  # no arguments at all: its help was shown
            return Exit.USAGE
        if context is not None:
            say(context.get_usage())
            say(f"{error.format_message()}\nSee {context.command_path} --help.")
        else:
            say(error.format_message())
        return Exit.USAGE
