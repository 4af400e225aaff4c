"""An exception at the end of 20,000 causes, as of a loop of retries, took eleven seconds to write, although the text has 8,000 characters."""

from __future__ import annotations

from resonate_core.worker.tracebacks import described, traced


class Counted(Exception):
    read = 0

    def __str__(self) -> str:
        Counted.read += 1
        return f"failed {self.args[0]}"


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def _chain(last: BaseException, how: str) -> BaseException:
    error: BaseException = Counted(0)
    for number in range(1, 20_000):
        following = Counted(number)
        setattr(following, how, error)
        error = following
    setattr(last, how, error)
    return last


def test_few_of_the_causes_are_read() -> None:
    for how in ("__cause__", "__context__"):
        error = _chain(Counted("at last"), how)
        Counted.read = 0
        assert described(error).endswith("Counted: failed at last")
        assert traced(error).endswith("Counted: failed at last\n") and "failed 19999" in traced(error)
        assert Counted.read < 2000


def test_what_has_no_text() -> None:
    assert described(_chain(Mute(), "__cause__")).endswith("Mute: <exception str() failed>")
    assert described(_chain(KeyError(), "__cause__")) == "KeyError"
