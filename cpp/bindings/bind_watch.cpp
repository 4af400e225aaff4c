// Watch, Store.watch: notify an event loop when a store has work for it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <array>
#include <string>

#include "arguments.hpp"
#include "bind.hpp"
#include "resonate/watch.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using Counts = py::typing::Dict<py::str, py::int_>;

template <class Enum, std::size_t Size>
Counts named(const std::array<std::int64_t, Size>& counts, std::size_t first) {
  Counts made;
  for (std::size_t i = first; i < Size; ++i) made[py::str(std::string(name_of(static_cast<Enum>(i))))] = counts[i];
  return made;
}

}  // namespace

void bind_watch(py::module_& module) {
  py::class_<Watch, std::shared_ptr<Watch>>(module, "Watch", R"doc(
Wakes the code that ticks a store and delivers its messages when there is work; `Store.watch` creates it.

It wakes by writing one byte to a descriptor, once until `rearm`.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> os.set_blocking(writer, False)
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> watch = store.watch(writer)
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> os.read(reader, 1)
    b'!'
    >>> watch.close(); os.close(reader); os.close(writer)
)doc")
      .def(
          "rearm", [](Watch& self, const OptionalInstant& until) { self.rearm(optional_instant(until, "until").value_or(kNever)); },
          py::arg("until") = py::none(), R"doc(
Arm the watch again, for the next message and the next change that makes a step due before `until`.

Changes since it last woke the caller did not wake it again, so check the store once after this call.

Args:
    until: The instant, in Unix ms or as an aware datetime, at which the caller checks the store anyway; None: never.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.rearm(until=5000)
    >>> watch.close(); os.close(reader); os.close(writer)
)doc")
      .def("close", &Watch::close, R"doc(
End the watch. It does not write to the descriptor afterwards, and does not close it.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.close(); os.close(reader); os.close(writer)
    >>> watch.closed
    True
)doc")
      .def_property_readonly("closed", &Watch::closed, "Whether it is closed.")
      .def_property_readonly(
          "job_attempts", [](Watch& self) { return named<Outcome>(self.counts().attempts, 1); },
          R"doc(
The number of job attempts that ended, by outcome, in commits of this store since the watch was created.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> watch = store.watch(-1)
    >>> _ = store.jobs.enqueue("email", id="j"), store.jobs.claim("default", worker="w", lease=1000, start=1)
    >>> _ = store.clock.advance(1000)
    >>> watch.job_attempts["crashed"]
    1
)doc")
      .def_property_readonly(
          "job_states", [](Watch& self) { return named<JobState>(self.counts().entered, 0); },
          R"doc(
The number of jobs that entered a state, by state, in commits of this store since the watch was created.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> watch = store.watch(-1)
    >>> _ = store.jobs.enqueue("email", id="j"), store.jobs.cancel("j")
    >>> watch.job_states["cancelled"]
    1
)doc");
}

void bind_store_watch(StoreClass& bound) {
  bound.def(
      "watch",
      [](const StoreHandle& self, int descriptor, bool settled) {
        const std::shared_ptr<CommitNotices> notices = open(self).notices;
        return open(self).without_gil([&](Engine& engine) {
          std::shared_ptr<Watch> watch = engine.watch(descriptor, settled ? Settlements::notify : Settlements::ignored);
          if (notices && descriptor >= 0) notices->wake(watch);
          return watch;
        });
      },
      py::arg("descriptor"), py::kw_only(), py::arg("settled") = false, R"doc(
Write a byte to a descriptor as soon as a message is queued, or a step becomes due earlier than was known.

Commits of this store from any thread wake the descriptor. On PostgreSQL a message or job that another process commits wakes it
soon after the commit; on a file, commits of other processes do not.

Args:
    descriptor: A pipe or a socket that does not block; -1: the watch only counts.
    settled: Write it also when a commit of this process settles or deletes a pending promise.

Returns:
    A Watch. When it is closed, nothing is written any more.

Raises:
    Closed: The store is closed.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.close(); os.close(reader); os.close(writer)
)doc");
}

}  // namespace resonate::python
