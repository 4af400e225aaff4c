"""Faults planted in the product, by replacing the code of a function in the running process."""

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
    _m("worker", "calm_jobs", "worker.reporting", "results are not stored", "_stored(outcome.result)) for", "_stored(None)) for"),
    _m("worker", "calm_jobs", "worker.execution", "an error counts as success", "    return outcome_of(error, task.retries)", '    return Outcome("completed", None)'),
    _m("worker", "calm_jobs", "worker.session", "leases are not renewed in time", "min(begun + settings.heartbeat, leases.first_end)", "begun + 10 * settings.heartbeat"),
    _m("worker", "calm_jobs", "worker.session", "running jobs have no heartbeat", "self.executor.held() + [", "["),
    _m("worker", "calm_jobs", "worker.periodic", "only the first occurrence is enqueued", "self.next_at = following[0] if following else None", "self.next_at = None"),
    _m("batcher", "server", "server.batcher", "replies are in the wrong order", "zip(batch, answers, strict=True)", "zip(batch, reversed(answers), strict=True)"),
    _m("batcher", "server", "server.batcher", "a batch loses its last request", "envelopes = [envelope for envelope, *_ in batch]", "envelopes = [envelope for envelope, *_ in batch[:1]]"),
    _m("driver", "server", "server.driver", "older messages are not read", "accepting(sorted(addresses), set())", "accepting([], set())"),
    _m("delivery", "server", "server.delivery", "an unblock stays under way after its stream ended", "for message in messages:\n            self._under_way.discard(message.number)\n            if is_execute(message):\n                self._unplaced", "for message in messages:\n            if is_execute(message):\n                self._unplaced"),
    _m("streams", "server", "server.poll", "a stream that opens reads nothing", "self._metrics.streams_opened.inc()\n        self._read_again(stream)", "self._metrics.streams_opened.inc()"),
    _m("streams", "server", "server.poll", "unconfirmed events are not sent again", "self._delivery.undelivered(unconfirmed + unwritten)", "self._delivery.undelivered(unwritten)"),
    _m("streams", "server", "server.streams", "the newest event is removed instead of the written one", "self._events.popleft()", "self._events.pop()"),
    _m("connection", "durable_functions", "connection.client", "a group is one worker", "return anycast(target)", "return unicast(target, self.pid)"),
    _m("connection", "durable_functions", "connection.delivery", "a message is handed out to nobody", "self._hand(message, now) for message in ready + taken", "self._hand(message, now) for message in ready"),
    _m("connection", "durable_functions", "connection.exchange", "a wake-up delivers nothing", "await self.delivery.deliver_by(self.call)\n        except Exception:  # it had", "pass\n        except Exception:  # it had"),
    _m("worker", "calm_jobs", "worker.claiming", "runs have short leases", "settings.run_lease, settings.strict", "settings.run_lease // 100, settings.strict"),
    _m("worker", "calm_jobs", "worker.periodic", "all occurrences of a day have one id", "@{occurrence}", "@{occurrence // 86_400_000}"),
    _m("connection", "durable_functions", "connection.delivery", "a message that is due now is kept", "if since > now:", "if since >= now:"),
    _m("connection", "durable_functions", "connection.delivery", "a worker that joins is not served", "self.members.append(member)\n            self._served_changed()", "self.members.append(member)"),
    _m("connection", "durable_functions", "connection.delivery", "an anycast reaches only the preferred worker", "if not address.any_stream or not group:", "if not exact:"),
    _m("batcher", "server", "server.batcher", "requests that came during a transaction wait for ever", "self._begin_after(_ITERATIONS)", "pass"),
    _m("batcher", "server", "server.batcher", "a transaction takes one request and drops the others", "del lane[: len(batch)]", "del batch[1:], lane[:]"),
    _m("driver", "server", "server.driver", "addresses to read again are ignored", "self._addresses.update(self._delivery.take_addresses())", "self._delivery.take_addresses()"),
    _m("delivery", "server", "server.delivery", "delivered unblocks are not acknowledged", "self._to_acknowledge.append(message.number)", "pass"),
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
