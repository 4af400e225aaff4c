"""How far each figure is from its target, as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from .targets import Target


def draw(figures: dict[str, float], machine: str, path: Path, targets: Sequence[Target]) -> None:
    """A bar for each target: 1 is the target itself, longer is better."""
    names, lengths = [], []
    for target in targets:
        score = target.score(figures)
        names.append(target.figure + (f"\n  beside {target.bound}" if target.bound else ""))
        lengths.append(target.reach / score if target.at_most else score / target.reach)
    figure, axes = plt.subplots(figsize=(11, 0.46 * len(names) + 1.2))
    colours = ["#2f7f5f" if length >= 1 else "#b5423c" for length in lengths]
    axes.barh(range(len(names)), lengths, color=colours, height=0.62)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    for row, length in enumerate(lengths):
        axes.annotate(f" {length:.2f}x", (length, row), va="center", fontsize=7)
    axes.set_xlabel("measured / target (log scale; 1 = target reached, longer is better)")
    axes.set_title(machine, fontsize=8)
    axes.margins(x=0.12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
