"""A timeline as one page that needs no network: data, modules and style inside."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from resonate_core.notebook.js_bundle import bundle, stylesheet

__all__ = ["json_script", "timeline_page", "write_page"]

_PAGE_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; } }
body { margin: 0; padding: 16px; background: var(--page); }
main { max-width: 1400px; margin: 0 auto; }
"""

_START = """
const data = JSON.parse(document.getElementById("data").textContent);
views["timeline.js"].render(document.querySelector("main"), data);
"""


def json_script(data: Any) -> str:
    """Return JSON for a script element: it cannot end the element or begin a comment.

    Example:
        >>> from resonate_core.timeline.page import json_script
        >>> "<" in json_script("</script>")
        False
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def timeline_page(data: Mapping[str, Any], picture: str = "") -> str:
    """Return the page of a timeline. Its policy allows its own script and style and nothing else: no network, no other script.

    Args:
        data: What `timeline_data` returns.
        picture: HTML that is shown where no script runs, such as the static SVG.
    """
    script = f"(() => {{\n{bundle('timeline.js')}{_START}}})();\n"
    style = _PAGE_STYLE + stylesheet("timeline.css")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    title = escape(str(data.get("title") or "Timeline"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main></main>\n"
        f"<noscript>{picture or '<p>This timeline needs scripts.</p>'}</noscript>\n"
        f'<script type="application/json" id="data">{json_script(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def write_page(page: str, path: str | os.PathLike[str] | None) -> str:
    """Write a page to a file, if there is a path, and return it."""
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page
