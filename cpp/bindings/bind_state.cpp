// The whole state of a store: check it, describe it, save and restore it.
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
    for (Violation& problem : engine.problems(Engine::ProblemScope::every)) found.push_back(std::move(problem));
    return found;
  }));
}

py::typing::List<Violation> problems(const StoreHandle& store) {
  return violations_of(open(store).without_gil([](Engine& engine) { return engine.problems(Engine::ProblemScope::stored); }));
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
Return every violated invariant of PROTOCOL 6 by name, and every problem that the store works around (`problems`). It reads the
whole state.

A store created with `check=True` checks the changes of each request and step, and raises InvariantViolation.

Example:
    >>> rc.Store(clock=rc.ManualClock()).check()
    []
)doc")
      .def("problems", &problems, R"doc(
Return the problems that the store works around and a person should solve, by name. No invariant is violated.

- `schedule_set_aside`: a schedule cannot be fired, for example because its time zone is missing. It is examined again every minute, and
  fires again once it can; `catchup` decides about the missed occurrences. `check` also lists schedules that could not be fired now.

- `clock_ahead`: the last stored instant is more than a minute ahead of the store's clock: that clock was wrong then, or is now.
  `reset_clock` corrects it.

- `submission_refused`: a request that a program wrote with `submit` was refused when it ran. Its row in the table `inbox` (of a file:
  `resonate_inbox`) keeps it until a person deletes the row. The first 100 are listed.

Example:
    >>> rc.Store(clock=rc.ManualClock()).problems()
    []
)doc")
      .def_property_readonly(
          "submissions_waiting",
          [](const StoreHandle& self) {
            constexpr std::size_t kMost = 1000;
            return open(self).without_gil([](Engine& engine) {
              return engine.with_storage([](Storage& storage) { return storage.submissions({.limit = kMost}).size(); });
            });
          },
          "The number of requests that programs wrote with `submit` and that have not run yet, at most 1000.")
      .def_property_readonly(
          "clock_ahead",
          [](const StoreHandle& self) { return open(self).without_gil([](Engine& engine) { return engine.clock_ahead(); }); },
          "By how many ms the last instant of the store is ahead of its clock; 0 if it is not, or if the "
          "clock is a `ManualClock`.")
      .def("reset_clock", &reset_clock, py::kw_only(), py::arg("dry_run") = false, R"doc(
Set the last instant of the store, and all later stored instants, back to its clock, the system's or the database's, after that
clock was wrong. `docs/time.md` describes the effect on deadlines, leases, retries and schedules. It reads the whole state into memory and writes
it in one transaction; other processes that use the file continue with the new instant.

Args:
    dry_run: Change nothing, and return what would change.

Returns:
    "from" and "to", the instants; the number of changed "promises" (with their tasks and jobs), "schedules", "queues" and
    "messages"; and the number of unused occurrences of schedules ahead of the clock that were "removed".

Raises:
    Invalid: The clock is a `ManualClock`.
    InvariantViolation: The corrected state would violate an invariant; nothing was changed.

Example:
    >>> done = rc.Store().reset_clock(dry_run=True)
    >>> done["from"] == done["to"], done["promises"]
    (True, 0)
)doc")
      .def(
          "counts", [](const StoreHandle& self) { return counts(open(self)); }, R"doc(
Return the numbers of promises and tasks by state, of schedules and of messages. It reads the whole state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.counts()
    {'promises': {'pending': 1}, 'tasks': {}, 'schedules': 0, 'messages': 0}
)doc")
      .def(
          "snapshot", [](const StoreHandle& self, const Format& format) { return snapshot(open(self), format); },
          py::arg("format") = "full", R"doc(
Return the whole state as a JSON-able dict: stored rows, not projected (PROTOCOL 8).

Args:
    format: `full` for `restore`; `debug` has the form of debug.snap (WIRE 5), without schedules.

Raises:
    Invalid: The format is another one.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> [promise["id"] for promise in store.snapshot()["promises"]]
    ['a']
)doc")
      .def(
          "restore", [](const StoreHandle& self, const JsonDict& given, bool check) { restore(open(self), given, check); },
          py::arg("snapshot"), py::arg("check") = true, R"doc(
Replace the whole state by that of a full snapshot, in one transaction. A manual clock moves forward to the snapshot's instant.

Args:
    snapshot: The result of `snapshot()`.
    check: Check every invariant of PROTOCOL 6 first.

Raises:
    Invalid: It is not a full snapshot; the message names the member. Nothing was replaced.
    InvariantViolation: An invariant is violated. Nothing was replaced.

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
Return a hash of the whole state in hex: equal states have equal digests, in every process and storage.

Example:
    >>> rc.Store(clock=rc.ManualClock()).digest() == rc.Store(clock=rc.ManualClock()).digest()
    True
)doc");
}

}  // namespace resonate::python
