"""The log of the server on standard error."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from resonate_core.server.settings import LogSettings

PROGRAM = """
import logging
from resonate_core.server.logs import configure
from resonate_core.server.settings import LogSettings
configure(LogSettings.model_validate_json({settings!r}))
log = logging.getLogger("resonate_core.server")
log.debug("not at info")
log.info("serving %s", "a.db")
try:
    raise ValueError("why")
except ValueError:
    log.exception("failed", extra={{"corr_id": "c-1"}})
logging.getLogger("uvicorn.access").info("GET /")
"""


def written(**settings) -> list[str]:
    program = PROGRAM.format(settings=LogSettings(**settings).model_dump_json())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_text():
    lines = written()
    assert lines[0].endswith("INFO    resonate_core.server: serving a.db")
    assert lines[-1] == "ValueError: why"
    assert not any("not at info" in line or "GET /" in line for line in lines)


def test_json_is_one_object_a_line():
    lines = [json.loads(line) for line in written(format="json")]
    assert [line["message"] for line in lines] == ["serving a.db", "failed"]
    assert lines[0]["level"] == "INFO" and lines[0]["name"] == "resonate_core.server" and "time" in lines[0]
    assert lines[1]["corr_id"] == "c-1" and "ValueError: why" in lines[1]["exc_info"]


@pytest.mark.parametrize("level,seen", [("debug", True), ("info", False)])
def test_the_level(level, seen):
    assert any("not at info" in line for line in written(level=level)) is seen


def test_the_access_log_is_asked_for():
    assert any("GET /" in line for line in written(access=True))


def test_json_without_its_library_says_what_is_missing(monkeypatch):
    from resonate_core.server.logs import configure

    monkeypatch.setitem(sys.modules, "pythonjsonlogger", None)
    monkeypatch.setitem(sys.modules, "pythonjsonlogger.json", None)
    before = list(logging.getLogger().handlers)
    with pytest.raises(ImportError, match=r"resonate-core\[cli\]"):
        configure(LogSettings(format="json"))
    assert logging.getLogger().handlers == before
