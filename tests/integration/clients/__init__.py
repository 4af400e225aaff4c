"""Programs with the published clients on a server of ours, all of them processes."""

import pytest

pytest.register_assert_rewrite(
    *(f"integration.clients.scenarios.{name}" for name in ("calls", "failures", "quickstart", "surroundings", "waiting")),
    *(f"integration.clients.{name}" for name in ("peer_process", "scene", "server_process")),
)
