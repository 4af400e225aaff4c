"""Objects whose __init__ never ran ended the process.

`Store.__new__(Store).now` read uninitialized memory (SIGSEGV). `pickle.dumps(promise, 0)`, which makes an object of the base of all
classes, aborted (SIGABRT). Records can now be pickled (tests/unit/test_copies_of_records.py); everything else refuses. The cases of
each class run in one child process.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from resonate_core import _core

CLASSES = sorted(name for name, value in vars(_core).items() if isinstance(value, type))

UNMADE = """
import io, sys
import resonate_core as rc
from resonate_core import _core

made = getattr(_core, sys.argv[1])

def unmade():
    return made.__new__(made)

def refused(action):
    try:
        action()
    except (TypeError, RuntimeError, AttributeError, rc.errors.ResonateError) as error:
        return error
    return None

arguments = [(), (1,), ("a",), (None,), ({},), (b"",), (1, 2), ("a", 1)]
used = 0
for name in dir(made):
    if name in ("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__del__"):
        continue
    refused(lambda: getattr(unmade(), name))
    if callable(getattr(made, name, None)):
        for given in arguments:
            refused(lambda: getattr(unmade(), name)(*given))
    used += 1
for action in (repr, hash, len, iter, bool, str, dir, list, lambda one: one == one, lambda one: one == unmade(), lambda one: one[0]):
    refused(lambda: action(unmade()))

# as an argument of something sound
store = rc.Store(clock=rc.ManualClock())
for action in (
    lambda one: rc.Store(clock=one),
    lambda one: rc.Store(one),
    lambda one: store.fork(clock=one),
    lambda one: store.promises.create("v", timeout=1, param=one),
    lambda one: store.promises.create("v", timeout=1, tags=one),
    lambda one: store.promises.get(one),
    lambda one: store.restore(one),
    lambda one: store.acknowledge(one),
    lambda one: store.run([one]),
    lambda one: store.apply(one),
    lambda one: store.apply_json(one),
    lambda one: rc.replay(one),
    lambda one: store.on_message("x", one),
):
    refused(lambda: action(unmade()))

if made.__flags__ & 1 << 10:  # Py_TPFLAGS_BASETYPE: without it, no class can derive from it
    class Derived(made):
        def __init__(self):
            pass

    refused(Derived)
    refused(lambda: Derived.__new__(Derived).now)
refused(made)
print("used", used)
"""


@pytest.mark.parametrize("name", CLASSES)
def test_without_init(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", UNMADE, name], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.startswith("used ")


def test_it_is_said() -> None:
    for made, use in ((_core.Store, "now"), (_core.ManualClock, "now"), (_core.Promise, "id"), (_core.Message, "kind")):
        with pytest.raises(TypeError, match=r"__init__|incompatible"):
            getattr(made.__new__(made), use)


PICKLED = """
import copy, io, os, pickle, sys
import resonate_core as rc
from resonate_core import _core

def objects():
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    yield from (store, clock, rc.SystemClock(), store.promises, store.tasks, store.schedules, store.jobs, store.queues)
    yield from (rc.RequestLimits(), rc.Envelope(b"{}", rc.RequestLimits()))
    yield store.record(io.StringIO())
    reader, writer = os.pipe()
    yield store.watch(writer)

seen = set()
for one in objects():
    if type(one).__module__ != "resonate_core._core":
        continue
    seen.add(type(one).__name__)
    actions = [lambda protocol=protocol: pickle.dumps(one, protocol) for protocol in range(6)]
    for action in (*actions, lambda: copy.copy(one), lambda: copy.deepcopy(one), lambda: copy.deepcopy({"a": [one]})):
        try:
            action()
        except TypeError as error:
            assert f"cannot pickle or copy a '{type(one).__name__}'" in str(error), error
        else:
            sys.exit(f"{one!r} was copied")
for name, made in vars(_core).items():
    if isinstance(made, type):
        for protocol in range(6):
            assert pickle.loads(pickle.dumps(made, protocol)) is made  # a class goes by its name
print(*sorted(seen))
"""


def test_pickle_copy_and_deepcopy_refuse() -> None:
    done = subprocess.run([sys.executable, "-c", PICKLED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    seen = set(done.stdout.split())
    assert {"Store", "ManualClock", "SystemClock", "Promises", "Jobs", "Envelope", "Watch", "Recording"} <= seen
