// store.schedules
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "described_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

ScheduleRecord create(const Schedules& self, const Str& id, const Str& cron, const Str& promise_id,
                      const DurationArgument& promise_timeout, const AnyValue& param, const StringMapping& headers,
                      const StringMapping& tags, const MembersArgument& job) {
  Box<JobOrder> order;
  if (!job.is_none()) order = described_argument<JobOrder>(job, "job");
  Reply reply = self.store->run(ScheduleCreate{.id = id_of(id),
                                               .cron = std::string(text(cron, "cron")),
                                               .promise_id = std::string(text(promise_id, "promise_id")),
                                               .promise_timeout = duration(promise_timeout, "promise_timeout"),
                                               .promise_param = value_of(param, headers, "param"),
                                               .promise_tags = string_map(tags, "tags"),
                                               .job = std::move(order)});
  return {std::move(reply.schedule)};
}

ScheduleRecord run_for_schedule(const Schedules& self, Operation&& operation) {
  return {self.store->run(std::move(operation)).schedule};
}

void remove_schedule(const Schedules& self, Operation&& operation) { self.store->run(std::move(operation)); }

SchedulePage search_schedules(const Schedules& self, const OptionalStr& id, const StringMapping& tags, const Int& limit,
                              const OptionalStr& cursor) {
  Reply reply = self.store->run(ScheduleSearch{search_query(id, tags, limit, cursor)});
  return {{std::move(reply.cursor)}, std::move(reply.schedules)};
}

}  // namespace

void bind_schedules(py::module_& module) {
  py::class_<Schedules> bound(module, "Schedules");
  DescribedMethod<ScheduleGet, &run_for_schedule>::bind(bound, "get");
  DescribedMethod<SchedulePause, &run_for_schedule>::bind(bound, "pause");
  DescribedMethod<ScheduleResume, &run_for_schedule>::bind(bound, "resume");
  DescribedMethod<ScheduleDelete, &remove_schedule>::bind(bound, "delete");
  bound
      .def("create", &create, py::arg("id"), py::arg("cron"), py::kw_only(), py::arg("promise_id") = "{{.id}}.{{.timestamp}}",
           py::arg("promise_timeout"), py::arg("param") = py::none(), py::arg("headers") = py::none(), py::arg("tags") = py::none(),
           py::arg("job") = py::none())
      .def("search", &search_schedules, py::arg("id") = py::none(), py::kw_only(), py::arg("tags") = py::none(),
           py::arg("limit") = 10, py::arg("cursor") = py::none())
      .def("__repr__",
           [](const Schedules& self) { return self.store->closed() ? "Schedules of a closed store" : "Schedules of a store"; });
}

}  // namespace resonate::python
