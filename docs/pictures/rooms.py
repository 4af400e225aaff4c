"""Draws the rooms of the Python package (rooms.svg) from the layers in pyproject.toml: `python docs/pictures/rooms.py`."""

from __future__ import annotations

from html import escape
from pathlib import Path

import tomllib

FOLDER = Path(__file__).parent
#: The purpose of each layer, by its first module.
PURPOSE = {
    "__main__": "python -m resonate_core; FastAPI, Starlette, Django",
    "asgi": "the server as an app; the command; search for races, simulation",
    "workflow": "the names that workflows import",
    "connection": "programs of the SDK, the HTTP server, the job worker",
    "conformance": "judges; HTML of records; submitted requests; the dashboard",
    "timeline": "data, picture and widget of a timeline",
    "history": "the lives of records, from a recording",
    "explain": "why, spans, call tree, differences, recordings",
    "client": "a client of a server",
    "aio": "asyncio on a store; HTTP as a client speaks it",
    "calls": "each typed call once; waiting, delivery",
    "base": "instants, states, payloads, argument errors",
    "errors": "the exceptions",
    "_foreign_text": "texts of others, made printable; tables and widgets of notebooks",
}
ROOMS = frozenset(
    {
        "base",
        "calls",
        "connection",
        "cli",
        "conformance",
        "contrib",
        "explain",
        "http",
        "notebook",
        "server",
        "testing",
        "timeline",
        "ui",
        "worker",
        "workflow",
    }
)
"""Packages; the others are modules."""

LEFT, WIDTH, STEP, HEIGHT = 20, 400, 34, 28


def layers() -> list[list[str]]:
    """Return the layers of the package, the highest one first."""
    tables = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (found,) = (table["layers"] for table in tables if table.get("containers") == ["resonate_core"])
    return [layer.split(" | ") for layer in found]


def draw(path: Path) -> None:
    """Write the picture."""
    all_layers = layers()
    height = STEP * len(all_layers) + 64
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" width="900" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13" role="img" '
        'aria-label="The rooms of the Python package from the command line down to the errors; each uses only what is below it">',
        f'  <rect width="900" height="{height}" fill="#ffffff" rx="6"/>',
    ]
    for row, names in enumerate(all_layers):
        y = 20 + row * STEP
        width = (WIDTH - 8 * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            x = LEFT + place * (width + 8)
            fill = "#cfe0f1" if name in ROOMS else "#eef1f4"
            lines.append(f'  <rect x="{x:g}" y="{y}" width="{width:g}" height="{HEIGHT}" rx="7" fill="{fill}" stroke="#55606e"/>')
            lines.append(f'  <text x="{x + width / 2:g}" y="{y + 19}" text-anchor="middle" fill="#1f2937">{escape(name)}</text>')
        lines.append(f'  <text x="{LEFT + WIDTH + 20}" y="{y + 19}" fill="#4b5563">{escape(PURPOSE[names[0]])}</text>')
    lines.append(
        f'  <text x="{LEFT}" y="{height - 18}" font-size="12" fill="#6b7280">'
        "blue: a package; grey: one module. Each uses only what is below it; below all of them is _core, the compiled engine.</text>"
    )
    path.write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    draw(FOLDER / "rooms.svg")
