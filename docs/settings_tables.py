"""Writes the tables of settings into `server.md`, from the models that hold the settings: run it after changing one."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from typing import Any

from resonate_core.cli.configuration import flag_of
from resonate_core.server.settings import Settings

PAGE = Path(__file__).parent / "server.md"
_PLACE = re.compile(r"(<!-- settings: [^\n]*-->\n).*?(<!-- end of settings -->)", re.DOTALL)


def _shown(default: Any) -> str:
    if default is None or default == [] or default == "":
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    return str(default)


def tables() -> str:
    """A table in Markdown for each table of settings: key, flag, default and meaning."""
    lines = []
    for name, field in Settings.model_fields.items():
        model = typing.cast(Any, field.annotation)
        about = " ".join(model.__doc__.split()).split("; see")[0].rstrip(".")
        lines += ["", f"### `[{name}]`", "", f"{about}.", "", "| key | flag | default | meaning |", "|---|---|---|---|"]
        for key, setting in model.model_fields.items():
            meaning = setting.description.replace("|", "\\|")
            lines.append(f"| `{key}` | `{flag_of(name, key)}` | {_shown(setting.default)} | {meaning} |")
    return "\n".join([*lines, "", ""])


def written(page: str) -> str:
    """A page, with its tables of settings as they are now."""
    return _PLACE.sub(lambda found: found[1] + tables() + found[2], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
