"""Builds the pages with Sphinx: `scripts/docs`. Nothing is fetched while building, and the pages fetch nothing when read."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.ext.napoleon import Config, GoogleDocstring

import resonate_core

project = "resonate_core"
author = "the authors of resonate_core"
copyright = "the authors of resonate_core, Apache-2.0"
version = release = resonate_core.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
default_role = "py:obj"  # single backticks in docstrings
root_doc = "index"
exclude_patterns = ["**/_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# docs/notebooks is a link to notebooks/, whose files have their outputs: scripts/notebooks stores them, the tests compare them.
nb_execution_mode = "off"
nb_merge_streams = True

html_theme = "furo"
html_title = "resonate_core"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "native"

# `type[T]` in a signature is the built-in; four records have an attribute of this name.
suppress_warnings = ["ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"RetryOn": "RetryOn", "Duration": "Duration", "Queues": "Queues", "Middleware": "Middleware"}
autodoc_default_options = {"members": True, "undoc-members": False}
MODULE_PATH = re.compile(r"\b(?:resonate_core\._core|collections\.abc|typing|datetime)\.")


def short_signature(app: Any, what: str, name: str, obj: object, options: Any, signature: str | None, returns: str | None) -> Any:
    """Shows the signatures of the compiled module as a user writes them: without `self` and without modules' names."""

    def short(text: str | None) -> str | None:
        if text is None:
            return None
        text = MODULE_PATH.sub("", text)
        text = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        return re.sub(r"^\(self(: \w+)?(, )?", "(", text)

    return short(signature), short(returns)


def give_signature(described: Any) -> None:
    """Give Sphinx the signature of a class of the compiled module, from the first line of `__init__`'s docstring."""
    found = re.match(r"__init__(\(.*\)) -> None", described.__init__.__doc__ or "")
    if found is not None:
        made: dict[str, Any] = {}
        exec(f"from __future__ import annotations\ndef __init__{found[1]}: ...", made)
        whole = inspect.signature(made["__init__"])
        described.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])


for public in resonate_core.__all__:
    if inspect.isclass(member := getattr(resonate_core, public)) and not issubclass(member, Exception):
        give_signature(member)


def google_docstring(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Reads docstrings in Google's style. Properties are plain text: a colon in one would be taken for the end of a type."""
    if what != "property":
        lines[:] = GoogleDocstring(
            lines, Config(napoleon_use_rtype=False, napoleon_use_ivar=True), app, what, name, obj, options
        ).lines()


def setup(app: Any) -> None:
    """Connects the above."""
    app.connect("autodoc-process-docstring", google_docstring)
    app.connect("autodoc-process-signature", short_signature)
