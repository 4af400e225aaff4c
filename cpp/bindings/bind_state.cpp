// The state of a store as a whole: is it sound, what is in it, what is it worth elsewhere.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "snapshots.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using Format = Shown<"typing.Literal['full', 'debug']">;

py::typing::List<Violation> check(const StoreHandle& store) {
  py::typing::List<Violation> made;
  for (Violation& violation : open(store).without_gil([](Engine& engine) { return engine.check(); }))
    made.append(std::move(violation));
  return made;
}

}  // namespace

void bind_state(StoreClass& bound) {
  bound
      .def("check", &check, R"doc(
Every property of PROTOCOL 6 that does not hold, by name; empty when all hold. It looks at the whole state.

A store made with `check=True` looks at what each request and step changed, and raises InvariantViolation.

Example:
    >>> rc.Store(clock=rc.ManualClock()).check()
    []
)doc")
      .def(
          "counts", [](const StoreHandle& self) { return counts(open(self)); }, R"doc(
How many promises and tasks there are in each state, how many schedules and messages. It looks at the whole state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.counts()
    {'promises': {'pending': 1}, 'tasks': {}, 'schedules': 0, 'messages': 0}
)doc")
      .def(
          "snapshot", [](const StoreHandle& self, const Format& format) { return snapshot(open(self), format); },
          py::arg("format") = "full", R"doc(
The whole state as a JSON-able dict: stored rows, not projected (PROTOCOL 8).

Args:
    format: `full` is what `restore` takes; `debug` is the shape of debug.snap (WIRE 5), without schedules.

Raises:
    Invalid: Another format.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> [promise["id"] for promise in store.snapshot()["promises"]]
    ['a']
)doc")
      .def(
          "restore", [](const StoreHandle& self, const JsonDict& given, bool check) { restore(open(self), given, check); },
          py::arg("snapshot"), py::arg("check") = true, R"doc(
Replaces the whole state by that of a full snapshot, in one step. A manual clock moves forward to the snapshot's instant.

Args:
    snapshot: What `snapshot()` gave.
    check: Look at every property of PROTOCOL 6 first.

Raises:
    Invalid: No full snapshot; the message names the member. Nothing was replaced then.
    InvariantViolation: A property does not hold. Nothing was replaced then.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> other = rc.Store(clock=rc.ManualClock())
    >>> other.restore(store.snapshot())
    >>> other.digest() == store.digest()
    True
)doc")
      .def(
          "digest", [](const StoreHandle& self) { return digest_of(open(self)); }, R"doc(
A hash of the whole state in hex: equal states have equal digests, in every process and storage.

Example:
    >>> rc.Store(clock=rc.ManualClock()).digest() == rc.Store(clock=rc.ManualClock()).digest()
    True
)doc");
}

}  // namespace resonate::python
