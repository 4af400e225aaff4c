"""Puts the folder on the path: executors and generated tests import scenarios by name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
