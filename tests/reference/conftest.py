"""Fixtures of the model's own tests."""

import pytest

from reference.client import Client


@pytest.fixture
def send():
    """A client of an empty model."""
    return Client()
