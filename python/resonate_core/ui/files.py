"""The page of the dashboard and its modules, as files of the package."""

from __future__ import annotations

import hashlib
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
    """

    content: bytes
    type: str
    tag: str


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
                tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                known = self._known[path] = (changed, Asset(content, type, tag))
        except (OSError, ValueError):
            return None
        return known[1]
