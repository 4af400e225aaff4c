"""The page of the dashboard and its modules, as files of the package."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["Asset", "Assets"]

_FOLDER = Path(__file__).parent
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """A file.

    Attributes:
        content: Its bytes.
        type: Its content type.
        tag: Its ETag.
        packed: Its bytes, compressed by gzip; None if that does not make them shorter.
        packed_tag: The ETag of these.
    """

    content: bytes
    type: str
    tag: str
    packed: bytes | None
    packed_tag: str


class Assets:
    """Reads the files once each, again after they have changed.

    Example:
        >>> from resonate_core.ui.files import Assets
        >>> assets = Assets()
        >>> assets.find("modules/../app.py") is None, assets.find("app.py") is None
        (True, True)
    """

    def __init__(self, folder: Path = _FOLDER) -> None:
        self._folder = folder
        self._known: dict[str, tuple[int, Asset]] = {}

    def find(self, path: str) -> Asset | None:
        """Return `index.html` for an empty path, or a file below `modules/`; None if there is none."""
        parts = path.split("/") if path else ["index.html"]
        if path and (parts[0] != "modules" or len(parts) < 2):
            return None
        if any(part in ("", ".", "..") or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            return None
        file = self._folder.joinpath(*parts)
        type = _TYPES.get(file.suffix)
        if type is None or (path and type.startswith("text/html")):
            return None
        try:
            changed = file.stat().st_mtime_ns
            known = self._known.get(path)
            if known is None or known[0] != changed:
                content = file.read_bytes()
                digest = hashlib.sha256(content).hexdigest()[:32]
                packed = gzip.compress(content, mtime=0)
                short = packed if len(packed) < len(content) else None
                known = self._known[path] = (changed, Asset(content, type, f'"{digest}"', short, f'"{digest}-gzip"'))
        except (OSError, ValueError):
            return None
        return known[1]

    def response(
        self, path: str, method: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]] | None:
        """Return the status, the body and the headers of the answer to a request for a file; None if there is no such file.

        Args:
            path: As `find` takes it.
            method: Of the request; a HEAD gets no body.
            headers: Those of the request, with their names in lower case.
        """
        asset, given = self.find(path), dict(headers)
        if asset is None:
            return None
        content, tag, more = asset.content, asset.tag, [(b"cache-control", b"no-cache"), (b"vary", b"accept-encoding")]
        encoding = []
        if asset.packed is not None and _accepts_gzip(given.get(b"accept-encoding", b"").decode("latin-1")):
            content, tag, encoding = asset.packed, asset.packed_tag, [(b"content-encoding", b"gzip")]
        more.append((b"etag", tag.encode()))
        if given.get(b"if-none-match") == tag.encode():
            return 304, b"", more
        return 200, b"" if method == "HEAD" else content, [(b"content-type", asset.type.encode()), *encoding, *more]


def _accepts_gzip(accepted: str) -> bool:
    """Whether a client names gzip, and does not refuse it by `q=0`."""
    for one in accepted.lower().split(","):
        coding, *parameters = (part.strip() for part in one.split(";"))
        if coding == "gzip":
            return not any(re.fullmatch(r"q=0(\.0*)?", parameter) for parameter in parameters)
    return False
