"""What rich draws for a terminal, with escapes for what is not printable in the texts of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.segment import Segment

from resonate_core._foreign_text import clean_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["Foreign"]


class Foreign:
    r"""A table, a tree or a text that may hold texts of others.

    Texts are cleaned before they are laid out, so that columns have the right widths; this is the last look at all of them.
    Styles and the moves of a live view are those of rich; a link of a style is left out, since its address is text of others, too.

    Args:
        drawn: What rich draws.

    Example:
        >>> from rich.console import Console
        >>> from rich.text import Text
        >>> from resonate_core.cli.drawing import Foreign
        >>> console = Console(width=40, color_system=None)
        >>> console.print(Foreign(Text("a\x1b]8;;http://b\x07c")))
        a\x1b]8;;http://bc
    """

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._drawn, options):
            if segment.control:
                yield segment
                continue
            style = segment.style
            if style is not None and style.link is not None:
                style = style.update_link(None)
            yield Segment(clean_lines(segment.text), style)
