"""Puts right what the stub generator cannot know, in the file that it wrote."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def finish(text: str) -> str:
    """Gives the stubs with comparisons that take any object, as they do: they answer NotImplemented to a stranger.

    What refuses to be pickled is left out: by its type it is as in every class.
    """
    text = re.sub(r"^ +def __reduce(_ex)?__\(self, \*args\) -> None:\s+\.\.\.\n", "", text, flags=re.MULTILINE)
    return re.sub(r"def (__eq__|__ne__)\(self, \w+: [\w.]+\) -> bool:", r"def \1(self, other: object) -> bool:", text)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(finish(path.read_text(encoding="utf-8")), encoding="utf-8")
