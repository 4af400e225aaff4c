// Job, JobBatch, JobHeartbeat: jobs as they were at the instant of the call (JOBS 2).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <iterator>
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
struct Stamp {
  Field field;
  const char* words;
};
constexpr Stamp kStamps[] = {
    {Field::process_at, "The earliest start, in Unix ms; None if it was not delayed."},
    {Field::enqueued_at, "When it became pending, in Unix ms; set again by every retry."},
    {Field::claimed_at, "When it was claimed, in Unix ms."},
    {Field::started_at, "When its last attempt began, in Unix ms."},
    {Field::completed_at, "When it was completed, in Unix ms."},
    {Field::failed_at, "When it failed for good, in Unix ms."},
    {Field::next_retry_at, "When it is pending again, in Unix ms; None unless its state is `retry`."},
    {Field::cancelled_at, "When it was cancelled, in Unix ms."},
    {Field::expired_at, "When it expired, in Unix ms."},
};

template <std::size_t I>
void bind_stamp(py::class_<JobRecord>& bound) {
  constexpr std::size_t kPlace = place_of<Job>(kStamps[I].field);
  bound.def_property_readonly(
      identifier_of(kStamps[I].field), [](const JobRecord& self) { return shown(kField<Job, kPlace>.access(course(self))); },
      kStamps[I].words);
}

void bind_timestamps(py::class_<JobRecord>& bound) {
  bound.def_property_readonly(
      "deadline", [](const JobRecord& self) { return shown_end(self.row->promise_spec->timeout_at); },
      "The deadline of its promise, in Unix ms; None: no deadline.");
  [&]<std::size_t... I>(std::index_sequence<I...>) { (bind_stamp<I>(bound), ...); }
  (std::make_index_sequence<std::size(kStamps)>());
}

void bind_states(py::class_<JobRecord>& bound) {
  bound
      .def_property_readonly(
          "id", [](const JobRecord& self) { return self.row->id(); }, "The id of the job, its promise and its task.")
      .def_property_readonly(
          "state", [](const JobRecord& self) { return JobStateName(py::str(name_of(state(self)))); },
          "`scheduled`, `pending`, `claimed`, `running`, `retry`, `archived`, `completed`, `failed`, `cancelled` or `expired`.")
      .def_property_readonly(
          "asynq_state", [](const JobRecord& self) { return asynq_state(state(self), gathers(self)); },
          "The state under asynq's name (JOBS 1).")
      .def_property_readonly(
          "horsies_state", [](const JobRecord& self) { return horsies_name_of(state(self)); },
          "The state under horsies' name (JOBS 1).")
      .def_property_readonly(
          "version", [](const JobRecord& self) { return self.row->acquisitions; },
          "The number of claims; requests of its worker must name it.")
      .def_property_readonly(
          "retry_count", [](const JobRecord& self) { return course(self).retry_count; }, "The number of retries used.")
      .def_property_readonly(
          "claimed_by", [](const JobRecord& self) { return held(self) ? std::optional(self.row->pid->text) : std::nullopt; },
          "The name of the worker that holds it; None if it is unheld.")
      .def_property_readonly(
          "lease_until", [](const JobRecord& self) { return held(self) ? shown(self.row->expires_at) : std::nullopt; },
          "When its lease expires, in Unix ms; None if it is unheld.")
      .def_property_readonly(
          "result", [](const JobRecord& self) { return self.row->result(); },
          "The value of its promise once it is final: the result or the error; empty before.")
      .def_property_readonly(
          "error", [](const JobRecord& self) { return Error(member(self, "error")); },
          "The last error: `code`, `message` and perhaps `data`; None without an error.")
      .def_property_readonly(
          "report", [](const JobRecord& self) { return Report(member(self, "report")); },
          "What its attempts reported (`Jobs.report`): `at` (when they last did, in Unix ms), `progress` (the part that is done, 0 "
          "to 1; "
          "absent: not reported) and `lines` (the newest 100, oldest first: `at`, `attempt`, `text`). None without a report.")
      .def_property_readonly(
          "attempts", [](const JobRecord& self) { return Attempts(member(self, "attempts")); },
          "The newest 100 attempts, oldest first: `number`, `worker`, `startedAt`, and once they are over `finishedAt`, `outcome` "
          "and "
          "perhaps `error`.");
}

void bind_membership(py::class_<JobRecord>& bound) {
  bound
      .def_property_readonly(
          "payload", [](const JobRecord& self) { return self.row->payload(); },
          "The input of the function; the param of its promise.")
      .def_property_readonly(
          "tags", [](const JobRecord& self) { return Shown<"dict[str, str]">(string_dict(self.row->promise_spec->tags)); },
          "The tags of its promise, a new dict each time.")
      .def_property_readonly("gathering", &gathers, "Whether it gathers: it is scheduled until its batch is ready.")
      .def_property_readonly(
          "batch", [](const JobRecord& self) { return text_of(course(self).batch); },
          "The batch in which it gathered; the jobs of a batch are claimed together. None without a batch.");
}

}  // namespace

void bind_job_records(py::module_& module) {
  module.attr("JobState") = states_literal(JobState::scheduled, JobState::expired);
  py::class_<JobRecord> job(module, "Job", R"doc(
A job as it was at the instant of the call (JOBS 2): a promise with a task and a policy, under one id.

Immutable. A job past its deadline or its `good_until` is shown as final, even if no step has written that yet. Instants are Unix
milliseconds. Equal to another record if all members are equal.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
    Job(id='mail:1', type='email:send', queue='default', state='pending', version=0)
)doc");
  bind_states(job);
  bind_job_members(job);
  bind_membership(job);
  bind_timestamps(job);
  def_record(job, RecordTraits<JobRecord>{.to_dict = job_dict,
                                          .to_dict_doc = R"doc(
Return the record as in an envelope.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.enqueue("t", id="a").to_dict()["enqueuedAt"]
    0
)doc",
                                          .from_dict = job_from_dict,
                                          .from_dict_doc = R"doc(
Return the job with these members: the inverse of `to_dict`, for replies of `Store.apply` and of a server.

Args:
    members: A job as in an envelope. Unknown members are ignored; `claimedBy` and `leaseUntil` are read only of a held job, `result`
        only of a final one.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The members are not a mapping.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> job = store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
    >>> rc.Job.from_dict(job.to_dict()) == job
    True
)doc",
                                          .same = same_job,
                                          .identity = job_identity,
                                          .repr = job_repr,
                                          .html = "job_html"});

  module.def("job_state_names", &job_state_names, py::arg("state"), py::arg("gathering") = false, R"doc(
Return the names of a job's state in asynq and in horsies (JOBS 1): `Job.asynq_state` and `Job.horsies_state`.

Args:
    state: The state, as `Job.state` has it.
    gathering: Whether the job gathers with its group.

Raises:
    Invalid: No job has such a state.

Example:
    >>> from resonate_core._core import job_state_names
    >>> job_state_names("claimed"), job_state_names("scheduled", gathering=True)
    (('active', 'CLAIMED'), ('aggregating', 'PENDING'))
)doc");

  module.def("job_states_before", &job_states_before, R"doc(
Return the states in which a request by hand applies to a job, by its kind, and those in which a job can expire (JOBS 3).

Example:
    >>> from resonate_core._core import job_states_before
    >>> job_states_before()["job.archive"]
    ('scheduled', 'pending', 'retry')
)doc");

  py::class_<JobBatch, PageBase> batch(module, "JobBatch", R"doc(
Jobs that were enqueued, claimed or found: a sequence that creates each record on access.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> batch = store.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
    >>> len(batch), batch[-1].payload.json()
    (3, 3)
)doc");
  def_sequence<Field::jobs, &decode_job<PythonNode>>(batch, "JobBatch", "page_html");
  batch.def_readonly(
      "next_at", &JobBatch::next_at,
      "Of a claim that got fewer jobs than it asked for: when a queue that only lacked a token of its rate has one, in "
      "Unix ms; None where there is no such queue.");

  py::class_<JobReply, std::unique_ptr<JobReply>> heartbeat(module, "JobHeartbeat", R"doc(
The reply to `Jobs.heartbeat`: the jobs that the worker should stop.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.heartbeat("w", [("a", 1)]).lost
    ['a']
)doc");
  heartbeat
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<JobReply>(data, &heartbeat_from_dict, "data"); },
          py::arg("data"), R"doc(
Return the heartbeat in the `data` of a reply of `Store.apply` or of a server.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The data are not a mapping.

Example:
    >>> rc.JobHeartbeat.from_dict({"cancelled": [], "lost": ["a"]})
    JobHeartbeat(cancelled=[], lost=['a'])
)doc")
      .def_readonly("cancelled", &JobReply::cancelled, "Ids of jobs that were cancelled.")
      .def_readonly("lost", &JobReply::lost, "Ids of other jobs that the worker does not hold under that version.")
      .def("__repr__",
           [](const JobReply& self) {
             return Repr("JobHeartbeat").with("cancelled", self.cancelled).with("lost", self.lost).done();
           })
      .def("_repr_html_", [](const py::object& self) { return html("heartbeat_html", self); });
  def_content(heartbeat, &heartbeat_members, &heartbeat_of);
}

}  // namespace resonate::python
