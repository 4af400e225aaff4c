"""Prints what the extras of pyproject.toml require, so that pip installs it beside the build of the package.

python requirements.py demo,tests    one requirement a line; extras of the project itself are resolved
python requirements.py --build       what the build itself requires
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # the copy that pip reads pyproject.toml with
    from pip._vendor import tomli as tomllib

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_OWN_EXTRAS = re.compile(r"resonate-core\[([\w,]+)\]$")


def requirements(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Lists the requirements of extras, without those of the project itself.

    Args:
        project: The table `project` of pyproject.toml.
        extras: Names of extras. An unknown one is a KeyError.
    """
    found: dict[str, None] = dict.fromkeys(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            own = _OWN_EXTRAS.match(requirement)
            more = requirements(project, own[1].split(",")) if own else [requirement]
            found.update(dict.fromkeys(more))
    return list(found)


if __name__ == "__main__":
    content = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    if sys.argv[1] == "--build":
        print(*content["build-system"]["requires"], sep="\n")
    else:
        print(*requirements(content["project"], sys.argv[1].split(",")), sep="\n")
