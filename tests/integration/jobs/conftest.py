"""Collects the workflow that awaits a job only on Python 3.12 or later, which the published SDK needs."""

from __future__ import annotations

import sys

collect_ignore_glob = ["test_workflow*.py"] if sys.version_info < (3, 12) else []
