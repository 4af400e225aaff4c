// The state of a store as a whole: is it sound, what is in it, what is it worth elsewhere.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "snapshots.hpp"
#include "store_handle.hpp"
#include "wrong_clock.hpp"

namespace resonate::python {

namespace {

using Format = Shown<"typing.Literal['full', 'debug']">;

py::typing::List<Violation> violations_of(std::vector<Violation> found) {
  py::typing::List<Violation> made;
  for (Violation& violation : found) made.append(std::move(violation));
  return made;
}

py::typing::List<Violation> check(const StoreHandle& store) {
  return violations_of(open(store).without_gil([](Engine& engine) {
    std::vector<Violation> found = engine.check();
    for (Violation& problem : engine.problems(Engine::Look::every)) found.push_back(std::move(problem));
    return found;
  }));
}

py::typing::List<Violation> problems(const StoreHandle& store) {
  return violations_of(open(store).without_gil([](Engine& engine) { return engine.problems(Engine::Look::stored); }));
}

JsonDict reset_clock(const StoreHandle& store, bool dry_run) {
  const Extent extent = dry_run ? Extent::preview : Extent::change;
  const ClockReset done = open(store).without_gil([extent](Engine& engine) { return engine.reset_clock(extent); });
  py::dict made;
  made["from"] = done.from;
  made["to"] = done.to;
  made["promises"] = done.promises;
  made["schedules"] = done.schedules;
  made["queues"] = done.queues;
  made["messages"] = done.messages;
  made["removed"] = done.removed;
  return JsonDict(std::move(made));
}

}  // namespace

void bind_state(StoreClass& bound) {
  bound
      .def("check", &check, R"doc(
Every property of PROTOCOL 6 that does not hold, by name, and every problem that the store works around (`problems`); empty when there
is none. It looks at the whole state.

A store made with `check=True` looks at what each request and step changed, and raises InvariantViolation.

Example:
    >>> rc.Store(clock=rc.ManualClock()).check()
    []
)doc")
      .def("problems", &problems, R"doc(
What the store works around and somebody should mend, by name. The state is sound, and everything else goes on.

- `schedule_set_aside`: a schedule that cannot be fired: its time zone is missing, say. It is looked at again every minute, and goes on by
  itself; `catchup` decides about the occurrences that it missed. `check` also names one that could not be fired if it were due now.

- `clock_ahead`: an instant was stored that the system's clock reaches in more than a minute: that clock was wrong then, or is now.
  `reset_clock` mends it.

Example:
    >>> rc.Store(clock=rc.ManualClock()).problems()
    []
)doc")
      .def_property_readonly(
          "clock_ahead",
          [](const StoreHandle& self) { return open(self).without_gil([](Engine& engine) { return engine.clock_ahead(); }); },
          "By how many ms the last instant that the store has seen is ahead of the system's clock; 0 where it is not, or where the "
          "clock is a `ManualClock`.")
      .def("reset_clock", &reset_clock, py::kw_only(), py::arg("dry_run") = false, R"doc(
Sets the last instant that the store has seen back to the system's clock, with all that was stored ahead of it, after that clock had been
wrong. `docs/time.md` says what becomes of deadlines, leases, retries and schedules. It reads the whole state into memory, and writes it
in one transaction; other processes that use the file go on with the new instant.

Args:
    dry_run: Change nothing, and say what would change.

Returns:
    "from" and "to", the instants; how many "promises" (with their tasks and jobs), "schedules", "queues" and "messages" hold other
    instants afterwards; how many occurrences of schedules ahead of the clock, which nobody had begun, were "removed".

Raises:
    Invalid: The clock is a `ManualClock`.
    InvariantViolation: A property of the state would hold no longer; nothing was changed.

Example:
    >>> done = rc.Store().reset_clock(dry_run=True)
    >>> done["from"] == done["to"], done["promises"]
    (True, 0)
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
