"""Programs of the published clients on our server, each in its own process."""

import pytest

pytest.register_assert_rewrite(
    *(f"integration.clients.scenarios.{name}" for name in ("calls", "failures", "quickstart", "surroundings", "waiting")),
    *(f"integration.clients.{name}" for name in ("own_tests", "peer_process", "scene", "server_process")),
)
