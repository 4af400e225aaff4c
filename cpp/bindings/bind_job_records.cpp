// Job, JobBatch, JobHeartbeat: jobs as they were at the instant of the call (JOBS 2).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <utility>

#include "bind.hpp"
#include "codec/job_records_write.hpp"
#include "codec/records_decode.hpp"
#include "errors.hpp"
#include "machine/job_transitions.hpp"
#include "open_store.hpp"
#include "python_sink.hpp"
#include "record_class.hpp"
#include "record_types.hpp"
#include "sequence_class.hpp"
#include "state_types.hpp"
#include "value_codec.hpp"

namespace resonate::python {

namespace {

const JobSpec& spec(const JobRecord& job) { return *job.row->job->spec; }
const Job& course(const JobRecord& job) { return *job.row->job; }
JobState state(const JobRecord& job) { return job.row->job->state; }
bool held(const JobRecord& job) { return is_held(state(job)); }
bool gathers(const JobRecord& job) { return course(job).gathering; }

// The names of a state in asynq and in horsies (JOBS 1).
std::string_view asynq_state(JobState state, bool gathering) { return gathering ? "aggregating" : asynq_name_of(state); }

std::pair<std::string_view, std::string_view> job_state_names(const std::string& state, bool gathering) {
  const std::optional<JobState> known = job_state_named(state);
  if (!known) raise(ErrorClass::invalid, "state must be a state of a job, got '" + state + "'");
  return {asynq_state(*known, gathering), horsies_name_of(*known)};
}

using JobStatesByEvent = Shown<"dict[str, tuple[resonate_core._core.JobState, ...]]">;

// The requests with which a person changes the state of a job, and the step that expires a job.
constexpr std::pair<const char*, JobEvent> kNamedEvents[] = {{"job.run", JobEvent::run},
                                                             {"job.cancel", JobEvent::cancel},
                                                             {"job.archive", JobEvent::archive},
                                                             {"job.delete", JobEvent::remove},
                                                             {"expire", JobEvent::expire}};

JobStatesByEvent job_states_before() {
  py::dict made;
  for (const auto& [name, event] : kNamedEvents) {
    py::list states;
    for (std::size_t i = 0; i < kJobStates; ++i)
      if (const auto state = static_cast<JobState>(i); applies(event, state)) states.append(py::str(name_of(state)));
    made[name] = py::tuple(states);
  }
  return JobStatesByEvent(std::move(made));
}

JsonDict job_dict(const JobRecord& job) {
  PythonSink sink;
  encode_job(sink, *job.row);
  return JsonDict(sink.take());
}

JobRecord job_from_dict(const PythonNode& node) { return {decode_job(node)}; }

std::optional<Instant> shown(Instant at) { return at == kUnset ? std::nullopt : std::optional(at); }
std::optional<Instant> shown_end(Instant at) { return at == kNever ? std::nullopt : std::optional(at); }

std::optional<std::string> text_of(const Shared<const SharedString>& text) {
  return text ? std::optional(text->text) : std::nullopt;
}

using Error = Shown<"dict[str, str] | None">;
using Report = Shown<"dict[str, typing.Any] | None">;
using Attempts = Shown<"list[dict[str, typing.Any]]">;

// Members that are composed by the encoder, read from its whole.
py::object member(const JobRecord& job, const char* name) {
  const JsonDict all = job_dict(job);
  PyObject* const found = PyDict_GetItemString(all.ptr(), name);
  return found ? py::reinterpret_borrow<py::object>(found) : py::none();
}

bool same_job(const JobRecord& a, const JobRecord& b) { return job_dict(a).equal(job_dict(b)); }

py::tuple job_identity(const JobRecord& job) {
  return py::make_tuple(job.row->id(), name_of(state(job)), job.row->acquisitions, course(job).retry_count);
}

std::string job_repr(const JobRecord& job) {
  Repr made("Job");
  made.with("id", job.row->id()).with("type", spec(job).type).with("queue", spec(job).queue).with("state", name_of(state(job)));
  made.with("version", job.row->acquisitions);
  if (course(job).retry_count) made.with("retry_count", course(job).retry_count);
  return made.done();
}

py::tuple heartbeat_members(const JobReply& reply) {
  return py::make_tuple(py::tuple(py::cast(reply.cancelled)), py::tuple(py::cast(reply.lost)));
}
JobReply heartbeat_of(const py::tuple& members) {
  JobReply reply;
  reply.cancelled = py::cast<std::vector<std::string>>(members[0]);
  reply.lost = py::cast<std::vector<std::string>>(members[1]);
  return reply;
}

JobReply heartbeat_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::cancelled, Field::lost> members(node, nullptr);
  JobReply reply;
  members.each<Field::cancelled>([&](const PythonNode& id, const Path& at) { reply.cancelled.emplace_back(read_text(id, at)); });
  members.each<Field::lost>([&](const PythonNode& id, const Path& at) { reply.lost.emplace_back(read_text(id, at)); });
  return reply;
}

// The instants of a job. Its promise has the deadline.
void bind_timestamps(py::class_<JobRecord>& bound) {
  bound.def_property_readonly("deadline", [](const JobRecord& self) { return shown_end(self.row->promise_spec->timeout_at); });
  each_field<Job>([&]<std::size_t I>() {
    constexpr const auto& rules = kField<Job, I>;
    if constexpr (rules.omitted_if_unset && rules.unset == kUnset && !rules.stored_only)
      bound.def_property_readonly(identifier_of(rules.field),
                                  [](const JobRecord& self) { return shown(kField<Job, I>.access(course(self))); });
  });
}

void bind_states(py::class_<JobRecord>& bound) {
  bound.def_property_readonly("id", [](const JobRecord& self) { return self.row->id(); })
      .def_property_readonly("state", [](const JobRecord& self) { return JobStateName(py::str(name_of(state(self)))); })
      .def_property_readonly("asynq_state", [](const JobRecord& self) { return asynq_state(state(self), gathers(self)); })
      .def_property_readonly("horsies_state", [](const JobRecord& self) { return horsies_name_of(state(self)); })
      .def_property_readonly("version", [](const JobRecord& self) { return self.row->acquisitions; })
      .def_property_readonly("retry_count", [](const JobRecord& self) { return course(self).retry_count; })
      .def_property_readonly("claimed_by",
                             [](const JobRecord& self) { return held(self) ? std::optional(self.row->pid->text) : std::nullopt; })
      .def_property_readonly("lease_until",
                             [](const JobRecord& self) { return held(self) ? shown(self.row->expires_at) : std::nullopt; })
      .def_property_readonly("result", [](const JobRecord& self) { return self.row->result(); })
      .def_property_readonly("error", [](const JobRecord& self) { return Error(member(self, "error")); })
      .def_property_readonly("report", [](const JobRecord& self) { return Report(member(self, "report")); })
      .def_property_readonly("attempts", [](const JobRecord& self) { return Attempts(member(self, "attempts")); });
}

void bind_membership(py::class_<JobRecord>& bound) {
  bound.def_property_readonly("payload", [](const JobRecord& self) { return self.row->payload(); })
      .def_property_readonly(
          "tags", [](const JobRecord& self) { return Shown<"dict[str, str]">(string_dict(self.row->promise_spec->tags)); })
      .def_property_readonly("gathering", &gathers)
      .def_property_readonly("batch", [](const JobRecord& self) { return text_of(course(self).batch); });
}

}  // namespace

void bind_job_records(py::module_& module) {
  module.attr("JobState") = states_literal(JobState::scheduled, JobState::expired);
  py::class_<JobRecord> job(module, "Job");
  bind_states(job);
  bind_job_members(job);
  bind_membership(job);
  bind_timestamps(job);
  def_record(job, RecordTraits<JobRecord>{.to_dict = job_dict,
                                          .from_dict = job_from_dict,
                                          .same = same_job,
                                          .identity = job_identity,
                                          .repr = job_repr,
                                          .html = "job_html"});

  module.def("job_state_names", &job_state_names, py::arg("state"), py::arg("gathering") = false);

  module.def("job_states_before", &job_states_before);

  py::class_<JobBatch, PageBase> batch(module, "JobBatch");
  def_sequence<Field::jobs, &decode_job<PythonNode>>(batch, "JobBatch", "page_html");
  batch.def_readonly("next_at", &JobBatch::next_at);

  py::class_<JobReply, std::unique_ptr<JobReply>> heartbeat(module, "JobHeartbeat");
  heartbeat
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<JobReply>(data, &heartbeat_from_dict, "data"); },
          py::arg("data"))
      .def_readonly("cancelled", &JobReply::cancelled)
      .def_readonly("lost", &JobReply::lost)
      .def("__repr__",
           [](const JobReply& self) {
             return Repr("JobHeartbeat").with("cancelled", self.cancelled).with("lost", self.lost).done();
           })
      .def("_repr_html_", [](const py::object& self) { return html("heartbeat_html", self); });
  def_content(heartbeat, &heartbeat_members, &heartbeat_of);
}

}  // namespace resonate::python
