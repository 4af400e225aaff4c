"""The widget of differences between two states. Imported only where it is shown, since anywidget is an extra."""

from __future__ import annotations

from typing import Any

import traitlets

from .js_bundle import bundle, stylesheet
from .widget import PicturedWidget
from .widget_view import HIDE_STILLS

__all__ = ["DiffWidget"]

_DIFF_MODULE = f"""{HIDE_STILLS}
export default {{
  render({{ model, el }}) {{
    const view = views["diff.js"].render(el, model.get("diff"));
    const hidden = hideStills(model);
    const show = () => view.update(model.get("diff"));
    model.on("change:diff", show);
    return () => {{
      hidden.remove();
      model.off("change:diff", show);
      view.destroy();
    }};
  }},
}};
"""


class DiffWidget(PicturedWidget):
    """What differs between two states, with a filter and the members of each change.

    Args:
        diff: What `rc.diff(a, b).to_dict()` returns.
        picture: The MIME bundle for a front end without widgets.

    Attributes:
        diff: What `rc.diff(a, b).to_dict()` returns.
    """

    _esm = bundle("diff.js") + _DIFF_MODULE
    _css = stylesheet("diff.css")

    diff = traitlets.Dict().tag(sync=True)

    def __init__(self, diff: dict[str, Any], picture: dict[str, str]) -> None:
        self._picture = picture
        super().__init__(diff=diff)

    def _still(self) -> dict[str, str]:
        return self._picture
