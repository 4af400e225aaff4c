"""Fixtures of the tests of the dashboard."""

from __future__ import annotations

from typing import Any

import pytest

from ui.ui_client import Client, client_of, scene


@pytest.fixture
def filled(store: Any) -> Any:
    """A store in each storage, in which every view has something to show."""
    scene(store)
    return store


@pytest.fixture
def ui(filled: Any) -> Client:
    """A dashboard on it, whose user may operate."""
    return client_of(filled)
