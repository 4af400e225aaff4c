"""Prints, as JSON, the lines of tests/workflows/warned_programs.py that are warned of by this Python: loads the two modules alone.

python found_warnings.py FOLDER-OF-THE-PACKAGE'S-MODULES
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path


def main(folder: Path) -> None:
    package = types.ModuleType("alone")
    package.__path__ = [str(folder)]
    sys.modules["alone"] = package
    for name in ("bytecode", "determinism"):
        spec = importlib.util.spec_from_file_location(f"alone.{name}", folder / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    sys.path.insert(0, str(Path(__file__).parent))
    import warned_programs

    found = []
    for function in warned_programs.PROGRAMS:
        free = dict(module._variables(function))
        found += [(line, warned.shown) for warned, line in module._found(function.__code__, function.__globals__, free)]
    print(json.dumps(sorted(found)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
