"""What a measurement prints: every figure beside its bound and its target."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from .targets import Target


def machine() -> str:
    """Where this runs, and on what."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, resonate-sdk {version('resonate-sdk')}"


def probe_figures(*command: str) -> dict[str, float]:
    """The figures that a probe prints, by name."""
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {row["name"]: row["value"] for row in map(json.loads, lines)}


def also_measured(figures: dict[str, float], targets: Sequence[Target]) -> str:
    """One line with the figures that no target names."""
    rest = sorted(set(figures) - {target.figure for target in targets} - {target.bound for target in targets})
    return "also measured: " + "; ".join(f"{name} {figures[name]:,.4g}" for name in rest)


def table(figures: dict[str, float], targets: Sequence[Target]) -> str:
    """A line for each target."""
    width = max(len(target.figure) for target in targets) + 2
    beside = [f"{target.bound}: {figures[target.bound]:,.4g}" if target.bound else "-" for target in targets]
    bounds = max(map(len, beside)) + 2
    lines = [f"{'figure':<{width}}{'measured':>12} {'beside':<{bounds}}{'ratio':>9} {'target':>10}"]
    for target, bound in zip(targets, beside, strict=True):
        ratio = f"{target.score(figures):.2f}" if target.bound else ""
        sign = "<=" if target.at_most else ">="
        mark = "ok" if target.reached(figures) else "MISSED"
        value = figures[target.figure]
        lines.append(
            f"{target.figure:<{width}}{value:>12,.4g} {bound:<{bounds}}{ratio:>9} {sign} {target.reach:<9,g} {target.unit:<6}{mark}"
        )
    return "\n".join(lines)


def verdict(figures: dict[str, float], targets: Sequence[Target]) -> str:
    """How many targets were reached, and which were not."""
    missed = [target.figure for target in targets if not target.reached(figures)]
    return f"{len(targets) - len(missed)} of {len(targets)} targets reached" + (f"; missed: {', '.join(missed)}" if missed else "")
