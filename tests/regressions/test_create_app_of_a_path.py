"""`create_app("shop.db")` made an app whose first request raised AttributeError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resonate_core.asgi import create_app


@pytest.mark.parametrize("given", ["shop.db", Path("shop.db"), None])
def test_what_is_no_store_is_refused_at_once(given: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"^store must be a Store, got {type(given).__name__}; .*create_app\(Store\('shop\.db'\)\)$"
    ):
        create_app(given)
