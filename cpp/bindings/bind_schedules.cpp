// store.schedules
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "described_arguments.hpp"
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

ScheduleRecord get_schedule(const Schedules& self, const Str& id) { return {self.store->run(ScheduleGet{id_of(id)}).schedule}; }

void remove_schedule(const Schedules& self, const Str& id) { self.store->run(ScheduleDelete{id_of(id)}); }

ScheduleRecord pause_schedule(const Schedules& self, const Str& id) { return {self.store->run(SchedulePause{id_of(id)}).schedule}; }

ScheduleRecord resume_schedule(const Schedules& self, const Str& id) {
  return {self.store->run(ScheduleResume{id_of(id)}).schedule};
}

SchedulePage search_schedules(const Schedules& self, const OptionalStr& id, const StringMapping& tags, const Int& limit,
                              const OptionalStr& cursor) {
  Reply reply = self.store->run(ScheduleSearch{search_query(id, tags, limit, cursor)});
  return {{std::move(reply.cursor)}, std::move(reply.schedules)};
}

}  // namespace

void bind_schedules(py::module_& module) {
  py::class_<Schedules>(module, "Schedules")
      .def("create", &create, py::arg("id"), py::arg("cron"), py::kw_only(), py::arg("promise_id") = "{{.id}}.{{.timestamp}}",
           py::arg("promise_timeout"), py::arg("param") = py::none(), py::arg("headers") = py::none(), py::arg("tags") = py::none(),
           py::arg("job") = py::none())
      .def("get", &get_schedule, py::arg("id"))
      .def("delete", &remove_schedule, py::arg("id"))
      .def("pause", &pause_schedule, py::arg("id"))
      .def("resume", &resume_schedule, py::arg("id"))
      .def("search", &search_schedules, py::arg("id") = py::none(), py::kw_only(), py::arg("tags") = py::none(),
           py::arg("limit") = 10, py::arg("cursor") = py::none())
      .def("__repr__",
           [](const Schedules& self) { return self.store->closed() ? "Schedules of a closed store" : "Schedules of a store"; });
}

}  // namespace resonate::python
