"""``resonate-core ui``: the dashboard of a file, a database, a server or a recording, in the browser of this machine."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import resonate_core as rc
from resonate_core.base.extras import how_to_install
from resonate_core.base.files import refuse_irregular
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.places import place_of, refuse_missing
from resonate_core.cli.show import put, say
from resonate_core.http.surroundings import OddSurroundings

if TYPE_CHECKING:
    from resonate_core.ui.mounted import MountedUi
    from resonate_core.ui.proxy import ServerUi

__all__ = ["ui"]

#: The id of the recording that the command has opened, for the page.
OPENED = "opened"
#: What a recording begins with, and no store does.
_RECORDING = b'{"kind"'
_HOST = "127.0.0.1"

_PLACE = Annotated[
    str,
    typer.Argument(
        metavar="FILE|URL", help="a store's file, a URL postgresql://, a server's URL, or a recording", show_default=False
    ),
]
_OPERATE = Annotated[
    bool, typer.Option("--operate", help="permit actions; without it, a store is opened for reading", show_default=False)
]
_PORT = Annotated[int, typer.Option("--port", min=0, max=65_535, help="the port to listen on, on the loopback; 0: a free one")]
_TOKEN = Annotated[
    str | None,
    typer.Option("--token", metavar="JWT", help="token for the server; default: RESONATE_TOKEN, which other users cannot see"),
]
_KEYS = Annotated[
    list[str] | None, typer.Option("--redact-key", metavar="NAME", help="never show members of this name; may be repeated")
]
_TYPES = Annotated[
    list[str] | None,
    typer.Option("--redact-type", metavar="TYPE", help="never show payloads of this type of jobs; may be repeated"),
]


def ui(
    place: _PLACE,
    operate: _OPERATE = False,
    port: _PORT = 0,
    token: _TOKEN = None,
    redact_key: _KEYS = None,
    redact_type: _TYPES = None,
) -> None:
    """Show the dashboard of a store, a server or a recording in the browser, until Ctrl-C."""
    try:
        import uvicorn

        app = _app(place, operate, token, redact_key or [], redact_type or [])
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("resonate_core"):
            raise
        raise CommandFailed(f"ui needs {error.name}: {how_to_install('server')}", Exit.USAGE) from error
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CommandFailed(f"cannot listen on {_HOST}:{port}: {error.strerror or error}", Exit.UNREACHABLE) from error
    with listening:
        put(f"http://{_HOST}:{listening.getsockname()[1]}/")
        sys.stdout.flush()
        say("Ctrl-C ends it" if operate else "Ctrl-C ends it; --operate permits actions")
        config = uvicorn.Config(
            _own_names_only(app),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
        )
        config.timeout_graceful_shutdown = 2
        uvicorn.Server(config).run([listening])


def _app(place: str, operate: bool, token: str | None, keys: list[str], types: list[str]) -> MountedUi | ServerUi:
    from resonate_core.ui.mounted import MountedUi, create_ui, local_role
    from resonate_core.ui.options import UiOptions

    if place.startswith(("http://", "https://")):
        if operate or keys or types:
            raise CommandFailed(
                "--operate, --redact-key and --redact-type are for stores: a server decides by its settings and tokens", Exit.USAGE
            )
        try:
            return create_ui(place, token=token or os.environ.get("RESONATE_TOKEN") or None)
        except OddSurroundings:
            raise
        except ValueError as error:
            raise CommandFailed(str(error), Exit.USAGE) from error
    if token is not None:
        raise CommandFailed("--token is for a server", Exit.USAGE)
    options = UiOptions(keys, types)
    where = place_of(place, "FILE|URL")
    if isinstance(where, Path) and _is_recording(where):
        return _of_recording(where, options)
    try:
        store = rc.Store(where, read_only=not operate)
    except rc.ResonateError as error:
        raise CommandFailed(str(error), Exit.USAGE if isinstance(error, rc.Invalid) else Exit.UNREACHABLE, error.status) from error
    return MountedUi(lambda: store, True, local_role, options, "", read_only=not operate)


def _of_recording(file: Path, options: Any) -> MountedUi:
    from resonate_core.ui.dashboard import Dashboard
    from resonate_core.ui.mounted import MountedUi, local_role
    from resonate_core.ui.recording import Recording

    try:
        with open(file, "rb") as lines:
            recording = Recording(lines, file.name)
    except rc.ResonateError as error:
        raise CommandFailed(f"{file}: {error}", Exit.REFUSED) from error
    made = MountedUi(lambda: recording.state(len(recording.events) - 1), True, local_role, options, "", read_only=True)

    def prepare(dashboard: Dashboard) -> None:
        dashboard.name, dashboard.is_recording = file.name, True
        dashboard.recordings.add(recording, id=OPENED)

    made.prepare = prepare
    return made


def _is_recording(file: Path) -> bool:
    try:
        refuse_irregular(file)
        with open(file, "rb") as content:
            return content.read(len(_RECORDING)) == _RECORDING
    except OSError as error:
        if not file.exists():
            refuse_missing(file)
        raise CommandFailed(f"{file}: {error.strerror}", Exit.UNREACHABLE) from error


def _own_names_only(app: Any) -> Any:
    """Refuse requests under names that a foreign web page may have (DNS rebinding), and from other origins."""
    from resonate_core.server.origins import Origins
    from resonate_core.server.settings import ServerSettings

    origins = Origins(ServerSettings(), requires_tokens=False)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        refusal = origins.refusal(scope, scope["path"]) if scope["type"] == "http" else None
        if refusal is None:
            await app(scope, receive, send)
            return
        await send(
            {"type": "http.response.start", "status": refusal[0], "headers": [(b"content-type", b"text/plain; charset=utf-8")]}
        )
        await send({"type": "http.response.body", "body": refusal[1].encode()})

    return guarded
