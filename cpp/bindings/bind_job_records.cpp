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

using Ids = Shown<"tuple[str, ...]">;
using Awaits = Shown<"dict[str, typing.Any] | None">;

Awaits awaits_of(const JobRecord& job) {
  if (state(job) != JobState::waiting) return Awaits(py::none());
  PythonSink sink;
  encode_awaits(sink, course(job));
  return Awaits(sink.take());
}

// How a member is shown that is written as a dict, or as several.
template <class M>
struct DictsOf {
  using Type = Shown<"dict[str, typing.Any] | None">;
};
template <>
struct DictsOf<RetryPolicy> {
  using Type = JsonDict;
};
template <>
struct DictsOf<std::optional<JobError>> {
  using Type = Shown<"dict[str, str] | None">;
};
template <class M>
struct DictsOf<std::vector<M>> {
  using Type = Shown<"list[dict[str, typing.Any]]">;
};

// A member as a reply contains it, or None.
template <class T, std::size_t I>
py::object written_member(const T& from) {
  PythonSink sink;
  sink.begin_object();
  resonate::detail::DescribedWriter<PythonSink, Audience::replies>(sink).template one<T, I>(from);
  sink.end_object();
  const py::object made = sink.take();
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(made)) return py::reinterpret_borrow<py::object>(value);
  return py::none();
}

template <class T, std::size_t I>
auto shown_member(const T& from) {
  constexpr const auto& rules = kField<T, I>;
  const auto& value = rules.access(from);
  using M = std::remove_cvref_t<decltype(value)>;
  if constexpr (rules.field == Field::steps || rules.field == Field::restarts) {
    return value;
  } else if constexpr (std::is_enum_v<M>) {
    return name_of(value);
  } else if constexpr (std::is_same_v<M, std::optional<AfterFailed>>) {
    return value ? std::optional(name_of(*value)) : std::nullopt;
  } else if constexpr (std::is_same_v<M, std::vector<std::string>>) {
    return Ids(py::tuple(py::cast(value)));
  } else if constexpr (std::is_same_v<M, Shared<const SharedValue>>) {
    return value ? std::optional(value->value) : std::nullopt;
  } else if constexpr (std::is_same_v<M, Shared<const SharedString>>) {
    return value ? std::optional(value->text) : std::nullopt;
  } else if constexpr (std::is_same_v<M, std::int64_t> && rules.omitted_if_unset) {
    return value == rules.unset ? std::nullopt : std::optional(value);
  } else if constexpr (std::is_arithmetic_v<M> || std::is_same_v<M, std::string> || std::is_same_v<M, std::optional<std::string>>) {
    return value;
  } else {
    return typename DictsOf<M>::Type(written_member<T, I>(from));
  }
}

// The members of a part of the job that replies contain, by their descriptors.
template <class T, auto Part>
void bind_members(py::class_<JobRecord>& bound) {
  each_field<T>([&]<std::size_t I>() {
    if constexpr (!kField<T, I>.stored_only)
      bound.def_property_readonly(identifier_of(kField<T, I>.field),
                                  [](const JobRecord& self) { return shown_member<T, I>(Part(self)); });
  });
}

// Members that are composed of several parts, or are in the job's promise.
void bind_composed(py::class_<JobRecord>& bound) {
  bound.def_property_readonly("id", [](const JobRecord& self) { return self.row->id(); })
      .def_property_readonly("state", [](const JobRecord& self) { return JobStateName(py::str(name_of(state(self)))); })
      .def_property_readonly("asynq_state", [](const JobRecord& self) { return asynq_state(state(self), course(self).gathering); })
      .def_property_readonly("horsies_state", [](const JobRecord& self) { return horsies_name_of(state(self)); })
      .def_property_readonly("payload", [](const JobRecord& self) { return self.row->payload(); })
      .def_property_readonly(
          "tags", [](const JobRecord& self) { return Shown<"dict[str, str]">(string_dict(self.row->promise_spec->tags)); })
      .def_property_readonly("version", [](const JobRecord& self) { return self.row->acquisitions; })
      .def_property_readonly("claimed_by",
                             [](const JobRecord& self) { return held(self) ? std::optional(self.row->pid->text) : std::nullopt; })
      .def_property_readonly("lease_until",
                             [](const JobRecord& self) { return held(self) ? shown(self.row->expires_at) : std::nullopt; })
      .def_property_readonly("created_at", [](const JobRecord& self) { return shown(self.row->promise_spec->created_at); })
      .def_property_readonly("awaits", &awaits_of)
      .def_property_readonly("deadline", [](const JobRecord& self) { return shown_end(self.row->promise_spec->timeout_at); })
      .def_property_readonly("result", [](const JobRecord& self) { return self.row->result(); });
}

}  // namespace

void bind_job_records(py::module_& module) {
  module.attr("JobState") = states_literal(JobState::scheduled, JobState::expired);
  py::class_<JobRecord> job(module, "Job");
  bind_composed(job);
  bind_members<JobSpec, &spec>(job);
  bind_members<Job, &course>(job);
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
