"""One run of the command line: an error becomes an exit code and one line, never a traceback."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import typer

import resonate_core as rc
from resonate_core.cli.exits import CommandFailed, Exit, OutputClosed, code_of
from resonate_core.cli.show import put_json, say
from resonate_core.http.surroundings import OddSurroundings

__all__ = ["run"]

# typer has its own copy of click, or uses the installed one: the base of its errors is found through its exports.
_ClickError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _fail(message: str, status: int | None, code: int, as_json: bool) -> int:
    if as_json:
        put_json({"error": message, "status": status, "exit": int(code)}, to=sys.stderr)
    else:
        # A message may quote others: the lines after the first one are indented, so that none looks like a message of its own.
        say(message.replace("\n", "\n  "))
    return int(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command, and return its exit code."""
    from resonate_core.cli.app import command_for

    as_json = "--json" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal's encoding does not have is no reason to stop
    try:
        if not arguments:
            command_for(())(args=["--help"], prog_name="resonate-core", standalone_mode=False)
            return Exit.USAGE
        ended = command_for(arguments)(args=list(arguments), prog_name="resonate-core", standalone_mode=False)
        sys.stdout.flush()
        return ended if isinstance(ended, int) else Exit.DONE
    except CommandFailed as failure:
        return _fail(failure.message, failure.status, failure.code, as_json)
    except (rc.StoreBusy, rc.errors.NoEnvelope) as error:
        return _fail(str(error), error.status, Exit.UNREACHABLE, as_json)
    except OddSurroundings as error:
        return _fail(str(error), None, Exit.USAGE, as_json)
    except rc.ResonateError as error:
        return _fail(str(error), error.status, code_of(error.status), as_json)
    except UnicodeEncodeError as error:  # bytes of the command line that are no UTF-8
        return _fail(f"{error.object!r} is no UTF-8", None, Exit.USAGE, as_json)
    except (BrokenPipeError, OutputClosed):
        # The reader of standard output has ended. Python must not flush the rest into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}", None, Exit.FAILED, as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", None, 128 + signal.SIGINT, as_json)
    except _ClickError as error:
        if as_json:
            return _fail(error.format_message(), None, Exit.USAGE, as_json)
        context = getattr(error, "ctx", None)
        if not error.format_message():  # no arguments at all: its help was shown
            return Exit.USAGE
        if context is not None:
            say(context.get_usage())
            say(f"{error.format_message()}\nSee {context.command_path} --help.")
        else:
            say(error.format_message())
        return Exit.USAGE
