"""How an extra is installed, for errors that say that one is missing."""

from __future__ import annotations

__all__ = ["how_to_install"]


def how_to_install(extra: str) -> str:
    """What to do where an extra is missing. No package index has resonate-core: it is installed from a clone (docs/install.md).

    Example:
        >>> from resonate_core.base.extras import how_to_install
        >>> how_to_install("cli")
        "install the extra resonate-core[cli]: pip install '.[cli]' in a clone of the repository"
    """
    return f"install the extra resonate-core[{extra}]: pip install '.[{extra}]' in a clone of the repository"
