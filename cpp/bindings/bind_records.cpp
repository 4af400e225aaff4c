// Promise, Task, Schedule: stored records, as of the instant of the call (PROTOCOL 1).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "codec/records_decode.hpp"
#include "codec/schedules_encode.hpp"
#include "python_sink.hpp"
#include "record_class.hpp"
#include "record_types.hpp"
#include "state_types.hpp"
#include "value_codec.hpp"

namespace resonate::python {

namespace {

// Typed calls use the newest dialect.
constexpr DialectId kShownDialect = DialectId::k2026_04_01;

// --- Promise --------------------------------------------------------------------------------------------------------------------

const PromiseSpec& promise_spec(const PromiseRecord& promise) { return *promise.row->promise_spec; }

std::optional<Instant> settled_at(const PromiseRecord& promise) {
  return promise.row->settled_at == kUnset ? std::nullopt : std::optional(promise.row->settled_at);
}

JsonDict promise_dict(const PromiseRecord& promise) {
  PythonSink sink;
  encode_promise(sink, kShownDialect, *promise.row);
  return JsonDict(sink.take());
}

PromiseRecord promise_from_dict(const PythonNode& node) { return {decode_promise(node)}; }

bool same_promise(const PromiseRecord& a, const PromiseRecord& b) {
  const PromiseSpec &x = promise_spec(a), &y = promise_spec(b);
  return x.id == y.id && x.timeout_at == y.timeout_at && x.created_at == y.created_at && x.param == y.param && x.tags == y.tags &&
         a.row->state == b.row->state && a.row->result() == b.row->result() && settled_at(a) == settled_at(b);
}

py::tuple promise_identity(const PromiseRecord& promise) {
  return py::make_tuple(promise_spec(promise).id, name_of(promise.row->state), promise_spec(promise).created_at,
                        settled_at(promise));
}

std::string promise_repr(const PromiseRecord& promise) {
  Repr shown("Promise");
  shown.with("id", promise_spec(promise).id).with("state", name_of(promise.row->state));
  if (!promise_spec(promise).param.empty()) shown.with("param", promise_spec(promise).param);
  if (!promise.row->result().empty()) shown.with("value", promise.row->result());
  if (!promise_spec(promise).tags.empty()) shown.with("tags", string_dict(promise_spec(promise).tags));
  shown.with_instant("timeout_at", promise_spec(promise).timeout_at).with_instant("created_at", promise_spec(promise).created_at);
  if (const auto settled = settled_at(promise)) shown.with_instant("settled_at", *settled);
  return shown.done();
}

// One tag, without a dict of all of them: a replay asks for one of each record.
std::optional<std::string> tag_of(const PromiseRecord& promise, std::string_view name) {
  const std::string* value = promise_spec(promise).tags.find(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void bind_promise(py::module_& module) {
  module.attr("PromiseState") = states_literal(PromiseState::pending, PromiseState::rejected_timedout);
  py::class_<PromiseRecord> bound(module, "Promise");
  bound.def_property_readonly("id", [](const PromiseRecord& self) { return self.row->id(); })
      .def_property_readonly("state", [](const PromiseRecord& self) { return PromiseStateName(py::str(name_of(self.row->state))); })
      .def_property_readonly("param", [](const PromiseRecord& self) { return promise_spec(self).param; })
      .def_property_readonly("value", [](const PromiseRecord& self) { return self.row->result(); })
      .def_property_readonly(
          "tags", [](const PromiseRecord& self) { return Shown<"dict[str, str]">(string_dict(promise_spec(self).tags)); })
      .def("_tag", &tag_of, py::arg("name"))
      .def_property_readonly("timeout_at", [](const PromiseRecord& self) { return promise_spec(self).timeout_at; })
      .def_property_readonly("created_at", [](const PromiseRecord& self) { return promise_spec(self).created_at; })
      .def_property_readonly("settled_at", &settled_at);
  def_record(bound, RecordTraits<PromiseRecord>{.to_dict = promise_dict,
                                                .from_dict = promise_from_dict,
                                                .same = same_promise,
                                                .identity = promise_identity,
                                                .repr = promise_repr,
                                                .html = "promise_html"});
}

// --- Task -----------------------------------------------------------------------------------------------------------------------

std::int64_t version(const TaskRecord& task) {
  return shown_version(dialect(kShownDialect), task.row->task, task.row->acquisitions);
}

std::size_t resumes(const TaskRecord& task) { return task.row->resumes ? task.row->resumes->items.size() : 0; }

std::optional<Duration> ttl(const TaskRecord& task) {
  if (!task.acquired()) return std::nullopt;
  return task.row->ttl;
}

std::optional<std::string> pid(const TaskRecord& task) {
  if (!task.acquired() || !task.row->pid) return std::nullopt;
  return task.row->pid->text;
}

JsonDict task_dict(const TaskRecord& task) {
  PythonSink sink;
  encode_task(sink, kShownDialect, *task.row);
  return JsonDict(sink.take());
}

TaskRecord task_from_dict(const PythonNode& node) { return {decode_task(node)}; }

bool same_task(const TaskRecord& a, const TaskRecord& b) {
  return a.row->id() == b.row->id() && a.row->task == b.row->task && version(a) == version(b) && resumes(a) == resumes(b) &&
         ttl(a) == ttl(b) && pid(a) == pid(b);
}

py::tuple task_identity(const TaskRecord& task) { return py::make_tuple(task.row->id(), name_of(task.row->task), version(task)); }

std::string task_repr(const TaskRecord& task) {
  Repr shown("Task");
  shown.with("id", task.row->id()).with("state", name_of(task.row->task)).with("version", version(task));
  shown.with("resumes", resumes(task));
  if (const auto holder = pid(task)) shown.with("ttl", ttl(task)).with("pid", *holder);
  return shown.done();
}

void bind_task(py::module_& module) {
  module.attr("TaskState") = states_literal(TaskState::pending, TaskState::fulfilled);
  py::class_<TaskRecord> bound(module, "Task");
  bound.def_property_readonly("id", [](const TaskRecord& self) { return self.row->id(); })
      .def_property_readonly("state", [](const TaskRecord& self) { return TaskStateName(py::str(name_of(self.row->task))); })
      .def_property_readonly("version", &version)
      .def_property_readonly("resumes", &resumes)
      .def_property_readonly("ttl", &ttl)
      .def_property_readonly("pid", &pid);
  def_record(bound, RecordTraits<TaskRecord>{.to_dict = task_dict,
                                             .from_dict = task_from_dict,
                                             .same = same_task,
                                             .identity = task_identity,
                                             .repr = task_repr,
                                             .html = "task_html"});
}

// --- Schedule -------------------------------------------------------------------------------------------------------------------

using OptionalDict = Shown<"dict[str, typing.Any] | None">;

JsonDict schedule_dict(const ScheduleRecord& record) {
  PythonSink sink;
  encode_schedule(sink, kShownDialect, *record.schedule);
  return JsonDict(sink.take());
}

ScheduleRecord schedule_from_dict(const PythonNode& node) { return {decode_schedule(node)}; }

bool same_schedule(const ScheduleRecord& a, const ScheduleRecord& b) { return schedule_dict(a).equal(schedule_dict(b)); }

py::tuple schedule_identity(const ScheduleRecord& record) {
  return py::make_tuple(record.schedule->id, record.schedule->cron, record.schedule->next_run_at);
}

std::string schedule_repr(const ScheduleRecord& record) {
  const Schedule& schedule = *record.schedule;
  Repr shown("Schedule");
  shown.with("id", schedule.id).with("cron", schedule.cron).with("promise_id", schedule.promise_id);
  shown.with("promise_timeout", schedule.promise_timeout).with_instant("next_run_at", schedule.next_run_at);
  if (schedule.last_run_at) shown.with_instant("last_run_at", *schedule.last_run_at);
  if (schedule.set_aside) shown.with("problem", schedule.set_aside->problem);
  if (schedule.paused) shown.with("paused", true);
  return shown.done();
}

void bind_schedule(py::module_& module) {
  py::class_<ScheduleRecord> bound(module, "Schedule");
  bound.def_property_readonly("id", [](const ScheduleRecord& self) { return self.schedule->id; })
      .def_property_readonly("cron", [](const ScheduleRecord& self) { return self.schedule->cron; })
      .def_property_readonly("promise_id", [](const ScheduleRecord& self) { return self.schedule->promise_id; })
      .def_property_readonly("promise_timeout", [](const ScheduleRecord& self) { return self.schedule->promise_timeout; })
      .def_property_readonly("promise_param", [](const ScheduleRecord& self) { return self.schedule->promise_param; })
      .def_property_readonly(
          "promise_tags",
          [](const ScheduleRecord& self) { return Shown<"dict[str, str]">(string_dict(self.schedule->promise_tags)); })
      .def_property_readonly("job",
                             [](const ScheduleRecord& self) {
                               if (!self.schedule->job || !self.schedule->job->unread.empty()) return OptionalDict(py::none());
                               PythonSink sink;
                               encode_order(sink, self.schedule->job->order);
                               return OptionalDict(sink.take());
                             })
      .def_property_readonly("created_at", [](const ScheduleRecord& self) { return self.schedule->created_at; })
      .def_property_readonly("next_run_at", [](const ScheduleRecord& self) { return self.schedule->next_run_at; })
      .def_property_readonly("last_run_at", [](const ScheduleRecord& self) { return self.schedule->last_run_at; })
      .def_property_readonly("problem",
                             [](const ScheduleRecord& self) {
                               return self.schedule->set_aside ? std::optional(self.schedule->set_aside->problem) : std::nullopt;
                             })
      .def_property_readonly("retry_at",
                             [](const ScheduleRecord& self) {
                               return self.schedule->set_aside ? std::optional(self.schedule->set_aside->retry_at) : std::nullopt;
                             })
      .def_property_readonly("paused", [](const ScheduleRecord& self) { return self.schedule->paused; });
  def_record(bound, RecordTraits<ScheduleRecord>{.to_dict = schedule_dict,
                                                 .from_dict = schedule_from_dict,
                                                 .same = same_schedule,
                                                 .identity = schedule_identity,
                                                 .repr = schedule_repr,
                                                 .html = "schedule_html"});
}

}  // namespace

void bind_records(py::module_& module) {
  bind_promise(module);
  bind_task(module);
  bind_schedule(module);
}

}  // namespace resonate::python
