"""A newline in `kind` made the server's log contain a line that a client had written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any
from urllib.parse import quote

from resonate_core.server.settings import LogSettings
from server.served import served

FORGED = "2026-01-01 00:00:00,000 ERROR   resonate_core.server: forged"
RECORD = re.compile(r"\d{4}-\d\d-\d\d\S* .*")
TEXTS = [
    f"a\n{FORGED}",
    f"a\r\n{FORGED}",
    f"a\x0b{FORGED}",
    f"a\x85{FORGED}",
    f"a\u2028{FORGED}",
    "a\x1b[2J",
    "a\x00b",
    "a\u202eb",
    "a\x7f\x9b",
]

PROGRAM = """
import json, logging, sys
from resonate_core.server.logs import configure
from resonate_core.server.settings import LogSettings
configure(LogSettings.model_validate_json({settings!r}))
log = logging.getLogger("resonate_core.server")
for text in json.loads({texts!r}):
    log.info("about %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("failed: %s", text, extra={{"id": text}})
"""


def written(format: str) -> str:
    program = PROGRAM.format(settings=LogSettings(format=format).model_dump_json(), texts=json.dumps([*TEXTS, "half \ud800"]))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60).stderr.decode()


def test_in_text() -> None:
    log = written("text")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", log)
    records = [line for line in log.split("\n") if RECORD.match(line)]
    assert len(records) == 2 * (len(TEXTS) + 1)
    assert not any(line.startswith(FORGED) for line in log.split("\n"))
    assert f"about a\\n{FORGED}" in log and "half \\ud800" in log


def test_in_json() -> None:
    lines = written("json").splitlines()
    assert [json.loads(line)["message"][:5] for line in lines] == ["about", "faile"] * (len(TEXTS) + 1)


def test_by_a_kind_and_whatever_else_a_client_sends(tmp_path: Any) -> None:
    with served(tmp_path, "--log-level", "debug", "--access-log") as server:
        for text in (f"x\n{FORGED}", f"x\r{FORGED}"):
            for sent in (
                {"kind": text, "head": {"corrId": "c", "version": "2026-04-01"}, "data": {}},
                {"kind": "promise.get", "head": {"corrId": text, "version": text}, "data": {}},
                {"kind": "promise.get", "head": {"corrId": text, "version": "2026-04-01"}, "data": {"id": text}},
            ):
                assert server.client.post(server.url, json=sent).status_code in (400, 404)
            server.client.get(f"{server.url}/poll/{quote(text)}/x/y?{quote(text)}")
        lines = server.said().split("\n")
        assert any("answered with" in line for line in lines)
        assert not any(line.lstrip("\r").startswith("2026-01-01") for line in lines)
