// Watch, Store.watch: how an event loop learns that a store has something for it to do.
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
Rings when a store has something to do for whoever ticks it and delivers its messages; `Store.watch` makes it.

Ringing is one byte written to a descriptor. After it there is silence until `rearm`.

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
          "rearm", [](Watch& self, const OptionalInt& until) { self.rearm(optional_integer(until, "until").value_or(kNever)); },
          py::arg("until") = py::none(), R"doc(
Makes it ring again: at the next message, and at the next change that makes something due before `until`.

Whatever happened since it last rang did not ring, so whoever calls this looks at the store once more afterwards.

Args:
    until: The instant, in Unix ms, at which the caller looks again anyway; None: never.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.rearm(until=5000)
    >>> watch.close(); os.close(reader); os.close(writer)
)doc")
      .def("close", &Watch::close, R"doc(
Ends it. The descriptor is not written to afterwards; whoever opened it closes it.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.close(); os.close(reader); os.close(writer)
    >>> watch.closed
    True
)doc")
      .def_property_readonly("closed", &Watch::closed, "Whether it was closed.")
      .def_property_readonly(
          "job_attempts", [](Watch& self) { return named<Outcome>(self.counts().attempts, 1); },
          R"doc(
How many attempts of jobs ended so, by outcome, in commits of this store since the watch was made.

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
How many jobs came into a state, by state, in commits of this store since the watch was made.

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
      [](const StoreHandle& self, int descriptor) {
        return open(self).without_gil([descriptor](Engine& engine) { return engine.watch(descriptor); });
      },
      py::arg("descriptor"), R"doc(
Makes this store write a byte to a descriptor as soon as a message was queued, or something became due sooner than was known.

Commits of this store ring, from whatever thread they come; those of other processes on the same file do not.

Args:
    descriptor: Of a pipe or a socket that does not block; -1: the watch only counts.

Returns:
    A Watch. The ringing ends with it.

Raises:
    Closed: The store was closed.

Example:
    >>> import os
    >>> reader, writer = os.pipe()
    >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
    >>> watch.close(); os.close(reader); os.close(writer)
)doc");
}

}  // namespace resonate::python
