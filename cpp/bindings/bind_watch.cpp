// Watch, Store.watch: notify an event loop when a store has work for it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <array>
#include <string>

#include "arguments.hpp"
#include "bind.hpp"
#include "resonate/described.hpp"
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

py::list numbers(const BucketCounts& counts) {
  py::list made;
  for (const std::int64_t count : counts) made.append(count);
  return made;
}

py::dict histogram(Duration sum, const BucketCounts& counts) {
  py::dict made;
  made["sum"] = sum;
  made["counts"] = numbers(counts);
  return made;
}

py::dict tally_dict(const py::object& queue, const QueueTally& tally) {
  py::dict made;
  made["queue"] = queue;
  each_field<QueueHour>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<QueueHour, I>.field;
    if constexpr (kWhich != Field::hour && kWhich != Field::latency && kWhich != Field::run_time)
      made[py::str(std::string(name_of(kWhich)))] = kField<QueueHour, I>.access(tally.sums);
  });
  made["latency"] = histogram(tally.sums.latency, tally.latency.counts);
  made["runTime"] = histogram(tally.sums.run_time, tally.run_time.counts);
  return made;
}

using QueueCounts = Shown<"list[dict[str, typing.Any]]">;
using Buckets = Shown<"tuple[int, ...]">;

QueueCounts queue_counts(Watch& watch, const Int& limit) {
  const std::int64_t most = integer(limit, "limit");
  if (most < 0) raise(ErrorClass::invalid, "limit must be at least 0, got " + std::to_string(most));
  const QueueTallies::Counted counted = watch.queue_counts(static_cast<std::size_t>(most));
  py::list made;
  for (const auto& [name, tally] : counted.queues) made.append(tally_dict(py::str(name), tally));
  if (counted.others) made.append(tally_dict(py::none(), *counted.others));
  return QueueCounts(std::move(made));
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
)doc")
      .def_property_readonly_static(
          "buckets",
          [](const py::object&) {
            py::list bounds;
            for (const Duration bound : kBuckets) bounds.append(bound);
            return Buckets(py::tuple(bounds));
          },
          "The upper bounds of the buckets of `queue_counts`, in ms; one more bucket counts what is above.")
      .def("queue_counts", &queue_counts, py::arg("limit") = 100, R"doc(
Return the events of the jobs of each queue, in commits of this store since the watch was created.

Args:
    limit: The most queues that are shown apart: those that counted first. One more dict, whose `queue` is None, sums the others. At most
        1000 queues are kept apart.

Returns:
    For each queue, by name, `queue` and the numbers of jobs or attempts: `enqueued` (jobs that were created), `started` (attempts),
    `completed` (jobs), `failed` (attempts that failed or timed out, and jobs that failed without one), `retried`, `archived`,
    `crashed` (attempts whose lease ended), `expired`, `cancelled`; `latency`, from pending to started, and `runTime`, from started to
    ended, each with `sum` (ms) and `counts`, by `buckets`, not cumulative.

Raises:
    Invalid: The limit is negative.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> watch = store.watch(-1)
    >>> _ = store.jobs.enqueue("email", queue="mail"), store.clock.advance(20)
    >>> _ = store.jobs.claim("mail", worker="w", lease=1000, start=1)
    >>> [(one["queue"], one["started"], one["latency"]["sum"]) for one in watch.queue_counts()]
    [('mail', 1, 20)]
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
