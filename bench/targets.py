"""Every figure with what it is held against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """`figure` beside `bound`: their ratio (or the figure itself, without a bound) has to reach `reach`.

    `at_most` turns the comparison round: times and sizes, where less is better.
    """

    figure: str
    reach: float
    bound: str | None = None
    at_most: bool = False
    unit: str = "/s"

    def score(self, figures: dict[str, float]) -> float:
        value = figures[self.figure]
        return value / figures[self.bound] if self.bound else value

    def reached(self, figures: dict[str, float]) -> bool:
        return self.score(figures) <= self.reach if self.at_most else self.score(figures) >= self.reach


TARGETS = [
    Target("core create", 0.5, "bare map create"),
    Target("core create + settle", 0.5, "bare map create + settle"),
    Target("typed create", 0.6, "pybind11 probe create"),
    Target("apply(dict) create", 250_000),
    Target("apply(list of 1000 dicts) create", 400_000),
    Target("create_many columns", 1_000_000),
    Target("settle_many columns", 1_000_000),
    Target("apply_json create", 200_000),
    Target("apply_json create", 2.0, "nlohmann parse + dump"),
    Target("create at 1k live", 1.2, "SDK server create at 1k live"),
    Target("create at 10k live", 1.2, "SDK server create at 10k live"),
    Target("get at 1k live", 0.8, "SDK server get at 1k live"),
    Target("get at 10k live", 0.8, "SDK server get at 10k live"),
    Target("create + settle at 1k live", 10, "SDK server create + settle at 1k live"),
    Target("create + settle at 10k live", 80, "SDK server create + settle at 10k live"),
    Target("typed task cycle at 1k live", 30, "SDK server task cycle at 1k live"),
    Target("typed task cycle at 10k live", 300, "SDK server task cycle at 10k live"),
    Target("task cycle at 1k live", 30, "SDK server task cycle at 1k live"),
    Target("task cycle at 10k live", 300, "SDK server task cycle at 10k live"),
    Target("core create at 1M live", 2.0, "core create at 1k live", at_most=True, unit="ns"),
    Target("core get at 1M live", 2.0, "core get at 1k live", at_most=True, unit="ns"),
    Target("core settle at 1M live", 2.0, "core settle at 1k live", at_most=True, unit="ns"),
    Target("core task cycle at 1M live", 2.0, "core task cycle at 1k live", at_most=True, unit="ns"),
    Target("idle tick with 1M timers", 1.0, at_most=True, unit="us"),
    Target("10k due timers of 1M", 20.0, at_most=True, unit="ms"),
    Target("fork of 100k promises", 10.0, at_most=True, unit="ms"),
    Target("bytes a small promise", 600.0, at_most=True, unit="bytes"),
    Target("SQLite create NORMAL by 1", 0.5, "SQLite bare loop NORMAL by 1"),
    Target("SQLite create FULL by 1", 0.8, "SQLite bare loop FULL by 1"),
    Target("SQLite create NORMAL by 100", 0.35, "SQLite bare loop NORMAL by 100"),
    Target("SQLite create FULL by 100", 0.35, "SQLite bare loop FULL by 100"),
    Target("SQLite create FULL, 16 threads", 5.0, "SQLite create FULL by 1"),
    Target("SQLite typed get", 150_000),
    Target("SQLite create NORMAL at 1M rows", 2.0, "SQLite create NORMAL at 1k rows", at_most=True, unit="us"),
]
