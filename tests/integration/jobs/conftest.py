"""The workflow that awaits a job is a program of the published SDK, which needs Python 3.12: elsewhere it is not collected."""

from __future__ import annotations

import sys

collect_ignore_glob = ["test_workflow*.py"] if sys.version_info < (3, 12) else []
