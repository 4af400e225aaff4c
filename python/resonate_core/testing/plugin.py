"""The pytest plugin by its other name, for ``pytest -p resonate_core.testing.plugin``.

An installed resonate_core needs no ``-p``: pytest finds the plugin by its entry point. The plugin itself is `resonate_core_pytest`, which
does not import the engine.

Example:
    >>> from resonate_core.testing import plugin
    >>> plugin.pytest_plugins
    ['resonate_core_pytest']
"""

from __future__ import annotations

__all__ = ["pytest_plugins"]

pytest_plugins = ["resonate_core_pytest"]
