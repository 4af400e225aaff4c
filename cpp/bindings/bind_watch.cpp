// Watch, Store.watch: notify an event loop when a store has work for it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <array>
#include <string>
#include <vector>

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
  py::class_<Watch, std::shared_ptr<Watch>>(module, "Watch")
      .def(
          "rearm", [](Watch& self, const OptionalInstant& until) { self.rearm(optional_instant(until, "until").value_or(kNever)); },
          py::arg("until") = py::none())
      .def("close", &Watch::close)
      .def_property_readonly("closed", &Watch::closed)
      .def_property_readonly("job_attempts", [](Watch& self) { return named<Outcome>(self.counts().attempts, 1); })
      .def_property_readonly("job_states", [](Watch& self) { return named<JobState>(self.counts().entered, 0); })
      .def_property_readonly_static("buckets",
                                    [](const py::object&) {
                                      py::list bounds;
                                      for (const Duration bound : kBuckets) bounds.append(bound);
                                      return Buckets(py::tuple(bounds));
                                    })
      .def("queue_counts", &queue_counts, py::arg("limit") = 100);
}

void bind_store_watch(StoreClass& bound) {
  bound.def(
      "watch",
      [](const StoreHandle& self, int descriptor, bool settled, const std::vector<std::string>& queues) {
        const std::shared_ptr<CommitNotices> notices = open(self).notices;
        return open(self).without_gil([&](Engine& engine) {
          std::shared_ptr<Watch> watch = engine.watch(descriptor, settled ? Settlements::notify : Settlements::ignored);
          if (notices && descriptor >= 0) notices->wake(watch, queues);
          return watch;
        });
      },
      py::arg("descriptor"), py::kw_only(), py::arg("settled") = false, py::arg("queues") = std::vector<std::string>());
}

}  // namespace resonate::python
