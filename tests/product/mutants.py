"""Faults planted in the product, and how one is planted: the code of the function that it changes is exchanged in place."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

__all__ = ["MUTANTS", "ProductMutant", "planted"]


@dataclass(frozen=True)
class ProductMutant:
    """A fault in one function.

    Attributes:
        name: What goes wrong.
        part: Of the product.
        module: Below `resonate_core`.
        old: A text within a function that occurs once in the module.
        new: Its replacement.
        scenario: The system that shows it.
        runs: The most runs that are needed, from seed 0 on.
    """

    name: str
    part: str
    module: str
    old: str
    new: str
    scenario: str
    runs: int = 20


def _m(part: str, scenario: str, module: str, name: str, old: str, new: str, runs: int = 20) -> ProductMutant:
    return ProductMutant(name, part, module, old, new, scenario, runs)


MUTANTS = [
    _m("worker", "calm_jobs", "worker.reporting", "results are not stored", "encoded(outcome.result))", "encoded(None))"),
    _m("worker", "calm_jobs", "worker.execution", "an error counts as success", "    return outcome_of(error, task.retries)", '    return Outcome("completed", None)'),
    _m("worker", "calm_jobs", "worker.session", "leases are not renewed in time", "asyncio.sleep(settings.heartbeat)", "asyncio.sleep(10 * settings.heartbeat)"),
    _m("worker", "calm_jobs", "worker.session", "running jobs have no heartbeat", "executor.held() + [", "["),
    _m("worker", "calm_jobs", "worker.claiming", "a worker starts more than its slots", "max(0, round.slots - len(round.claimed))", "round.room + 5"),
    _m("worker", "calm_jobs", "worker.session", "a worker claims more than its slots", "min(slots + batch - here, MOST)", "MOST"),
    _m("worker", "calm_jobs", "worker.periodic", "only the first occurrence is enqueued", "self.next_at = following[0] if following else None", "self.next_at = None"),
    _m("worker", "faulty_jobs", "worker.session", "outcomes of a failed round are dropped", "extendleft(reversed(round.ended))", "extendleft(())"),
    _m("worker", "faulty_jobs", "worker.session", "a failed round ends the claims", "self._failed_rounds += 1\n        self._claim_at = 0.0", "self._failed_rounds += 1\n        self._claim_at = math.inf"),
    _m("batcher", "server", "server.batcher", "replies are in the wrong order", "zip(batch, answers, strict=True)", "zip(batch, reversed(answers), strict=True)"),
    _m("batcher", "server", "server.batcher", "a batch loses its last request", "envelopes = [envelope for envelope, _ in batch]", "envelopes = [envelope for envelope, _ in batch[:1]]"),
    _m("driver", "server", "server.driver", "older messages are not read", "sorted(self._addresses), self._last", "[], self._last"),
    _m("driver", "server", "server.driver", "a message is skipped", "self._last = round.messages[-1].number", "self._last = round.messages[-1].number + 1"),
    _m("delivery", "server", "server.delivery", "an unblock that did not arrive is forgotten", "again.append(message.address)", "pass"),
    _m("delivery", "server", "server.delivery", "an unblock stays under way after its stream ended", "for message in messages:\n            self._under_way.discard(message.number)\n            if is_execute(message):\n                self._unplaced", "for message in messages:\n            if is_execute(message):\n                self._unplaced"),
    _m("streams", "server", "server.poll", "a stream that opens reads nothing", "self._metrics.streams_opened.inc()\n        self._read_again(stream)", "self._metrics.streams_opened.inc()"),
    _m("streams", "server", "server.poll", "unconfirmed events are not sent again", "self._delivery.undelivered(unconfirmed + unwritten)", "self._delivery.undelivered(unwritten)"),
    _m("streams", "server", "server.poll", "an event is confirmed at once", "+ self._settings.acknowledge_after <= now", "<= now + 1e9"),
    _m("streams", "server", "server.streams", "the newest event is removed instead of the written one", "self._events.popleft()", "self._events.pop()"),
    _m("connection", "durable_functions", "connection.client", "a group is one worker", "return anycast(target)", "return unicast(target, self.pid)"),
    _m("connection", "durable_functions", "connection.client", "sleeps are a hundred times too long", "self.exchange.time.sleep(self, seconds)", "self.exchange.time.sleep(self, 100 * seconds)"),
    _m("connection", "durable_functions", "connection.delivery", "messages to a preferred worker are not taken", 'return anycast(group), anycast(group) + "/*", unicast(group, pid)', "return anycast(group), unicast(group, pid)"),
    _m("connection", "durable_functions", "connection.delivery", "a message is handed out to nobody", "self._hand(message, now) for message in ready + taken", "self._hand(message, now) for message in ready"),
    _m("connection", "durable_functions", "connection.exchange", "a wake-up delivers nothing", "await self.delivery.deliver_by(self.call)\n        except Exception:  # it had", "pass\n        except Exception:  # it had"),
]  # fmt: skip


def _path(tree: ast.Module, line: int) -> list[str]:
    """The names of the class and of the outermost function around a line."""
    names: list[str] = []
    body = tree.body
    while True:
        around = [each for each in body if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
        found = next(each for each in around if each.lineno <= line <= (each.end_lineno or 0))
        names.append(found.name)
        if not isinstance(found, ast.ClassDef):
            return names
        body = found.body


def _code(code: CodeType, path: list[str]) -> CodeType:
    for name in path:
        code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
    return code


def _function(module: Any, path: list[str]) -> FunctionType:
    owner = module
    for name in path:
        owner = inspect.getattr_static(owner, name)
    found = inspect.unwrap(owner.fget if isinstance(owner, property) else getattr(owner, "__func__", owner))
    assert isinstance(found, FunctionType), path
    return found


@contextlib.contextmanager
def planted(mutant: ProductMutant) -> Iterator[None]:
    """Change the function of a mutant within a ``with`` block.

    Raises:
        ValueError: Its text does not occur exactly once.
    """
    module = importlib.import_module(f"resonate_core.{mutant.module}")
    file = Path(str(module.__file__))
    source = file.read_text()
    if source.count(mutant.old) != 1:
        raise ValueError(f"old of {mutant.name!r} must occur once in {mutant.module}, got {source.count(mutant.old)} times")
    line = source[: source.index(mutant.old)].count("\n") + 1
    path = _path(ast.parse(source), line)
    function = _function(module, path)
    before = function.__code__
    changed = compile(source.replace(mutant.old, mutant.new), str(file), "exec", dont_inherit=True)
    function.__code__ = _code(changed, path)
    try:
        yield
    finally:
        function.__code__ = before
