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
  bound.def("check", &check)
      .def("problems", &problems)
      .def_property_readonly(
          "submissions_waiting",
          [](const StoreHandle& self) {
            constexpr std::size_t kMost = 1000;
            return open(self).without_gil([](Engine& engine) {
              return engine.with_storage([](Storage& storage) { return storage.submissions({.limit = kMost}).size(); });
            });
          })
      .def_property_readonly(
          "clock_ahead",
          [](const StoreHandle& self) { return open(self).without_gil([](Engine& engine) { return engine.clock_ahead(); }); })
      .def("reset_clock", &reset_clock, py::kw_only(), py::arg("dry_run") = false)
      .def("counts", [](const StoreHandle& self) { return counts(open(self)); })
      .def(
          "snapshot", [](const StoreHandle& self, const Format& format) { return snapshot(open(self), format); },
          py::arg("format") = "full")
      .def(
          "restore", [](const StoreHandle& self, const JsonDict& given, bool check) { restore(open(self), given, check); },
          py::arg("snapshot"), py::arg("check") = true)
      .def("digest", [](const StoreHandle& self) { return digest_of(open(self)); });
}

}  // namespace resonate::python
