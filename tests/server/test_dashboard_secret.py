"""The secret of the cursors of the dashboard, which the processes of one server share."""

from __future__ import annotations

import pytest

from resonate_core.asgi import ServerSettings, UiSettings
from resonate_core.server.settings import Settings, StoreSettings


def test_the_processes_of_a_server_share_a_secret() -> None:
    made = Settings(store=StoreSettings(path="a.db"), server=ServerSettings(workers=2, ui=True)).with_secret()
    assert made.ui.secret is not None and len(made.ui.secret.get_secret_value()) >= 32
    assert made.of_worker().ui.secret == made.ui.secret and made.with_secret() is made
    assert Settings().with_secret().ui.secret != made.ui.secret
    assert made.ui.secret.get_secret_value() not in f"{made!r} {made.model_dump_json()}"


def test_a_secret_that_is_given_stays() -> None:
    given = Settings(ui=UiSettings(secret="sixteen characters"))  # type: ignore[arg-type]
    assert given.with_secret() is given
    with pytest.raises(ValueError, match="at least 16"):
        UiSettings(secret="short")  # type: ignore[arg-type]
