"""``python -m resonate_core`` is the command line, ``resonate-core``."""

from __future__ import annotations

import sys

from resonate_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
