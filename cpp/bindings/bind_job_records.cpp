// Job, JobBatch, JobHeartbeat: jobs as they were at the instant of the call (JOBS 2).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "protocol/jobs_encode.hpp"
#include "python_sink.hpp"
#include "record_class.hpp"
#include "record_types.hpp"
#include "sequence_class.hpp"
#include "value_codec.hpp"

namespace resonate::python {

namespace {

const JobSpec& spec(const JobRecord& job) { return *job.row->job->spec; }
const Job& course(const JobRecord& job) { return *job.row->job; }
JobState state(const JobRecord& job) { return job.shown().job(); }
bool held(const JobRecord& job) { return is_held(state(job)); }
bool gathers(const JobRecord& job) { return course(job).gathering && !job.shown().dead(); }

JsonDict job_dict(const JobRecord& job) {
  PythonSink sink;
  encode_job(sink, *job.row, job.now);
  return JsonDict(sink.take());
}

std::optional<Instant> shown(Instant at) { return at == kUnset ? std::nullopt : std::optional(at); }
std::optional<Instant> shown_end(Instant at) { return at == kNever ? std::nullopt : std::optional(at); }

// Of what an instant has ended without a step yet.
std::optional<Instant> ended(const JobRecord& job, JobState as, Instant stored) {
  if (job.shown().dead()) return state(job) == as ? std::optional(job.shown().settled_at()) : std::nullopt;
  return shown(stored);
}

std::optional<std::string> text_of(const Shared<const SharedString>& text) {
  return text ? std::optional(text->text) : std::nullopt;
}

template <class Write>
py::object part(Write write) {
  PythonSink sink;
  write(sink);
  return sink.take();
}

using Error = Shown<"dict[str, str] | None">;
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

void bind_timestamps(py::class_<JobRecord>& bound) {
  bound
      .def_property_readonly(
          "process_at", [](const JobRecord& self) { return shown(course(self).process_at); },
          "When it was, or is, to be processed, in Unix ms; None where it was to be at once.")
      .def_property_readonly(
          "good_until", [](const JobRecord& self) { return shown_end(spec(self).good_until); },
          "It expires unless it has been started by then, in Unix ms; None: never.")
      .def_property_readonly(
          "deadline", [](const JobRecord& self) { return shown_end(self.row->birth->timeout_at); },
          "Its promise's deadline, in Unix ms; None: none.")
      .def_property_readonly(
          "sent_at", [](const JobRecord& self) { return spec(self).sent_at; }, "When its caller sent it, in Unix ms.")
      .def_property_readonly(
          "enqueued_at", [](const JobRecord& self) { return shown(course(self).enqueued_at); },
          "Since when it may be, or might have been, claimed, in Unix ms; moves on every retry.")
      .def_property_readonly(
          "claimed_at", [](const JobRecord& self) { return shown(course(self).claimed_at); }, "When it was claimed, in Unix ms.")
      .def_property_readonly(
          "started_at", [](const JobRecord& self) { return shown(course(self).started_at); },
          "When its last attempt began, in Unix ms.")
      .def_property_readonly(
          "completed_at", [](const JobRecord& self) { return shown(course(self).completed_at); },
          "When it was completed, in Unix ms.")
      .def_property_readonly(
          "failed_at", [](const JobRecord& self) { return ended(self, JobState::failed, course(self).failed_at); },
          "When it failed for good, in Unix ms.")
      .def_property_readonly(
          "next_retry_at",
          [](const JobRecord& self) { return self.shown().dead() ? std::nullopt : shown(course(self).next_retry_at); },
          "When it may be claimed again, in Unix ms; None unless its state is `retry`.")
      .def_property_readonly(
          "cancelled_at", [](const JobRecord& self) { return shown(course(self).cancelled_at); },
          "When it was cancelled, in Unix ms.")
      .def_property_readonly(
          "expired_at", [](const JobRecord& self) { return ended(self, JobState::expired, course(self).expired_at); },
          "When it expired, in Unix ms.");
}

void bind_states(py::class_<JobRecord>& bound) {
  bound
      .def_property_readonly(
          "id", [](const JobRecord& self) { return self.row->id(); }, "The id, also of its promise and its task.")
      .def_property_readonly(
          "state", [](const JobRecord& self) { return name_of(state(self)); },
          "`scheduled`, `pending`, `claimed`, `running`, `retry`, `archived`, `completed`, `failed`, `cancelled` or `expired`.")
      .def_property_readonly(
          "asynq_state",
          [](const JobRecord& self) { return gathers(self) ? std::string_view("aggregating") : asynq_name_of(state(self)); },
          "What asynq calls the state (JOBS 1).")
      .def_property_readonly(
          "horsies_state", [](const JobRecord& self) { return horsies_name_of(state(self)); },
          "What horsies calls the state (JOBS 1).")
      .def_property_readonly(
          "version", [](const JobRecord& self) { return self.row->acquisitions; },
          "How often it was claimed; what its worker asks has to name it.")
      .def_property_readonly(
          "retry_count", [](const JobRecord& self) { return course(self).retry_count; }, "How many retries it has used.")
      .def_property_readonly(
          "claimed_by", [](const JobRecord& self) { return held(self) ? std::optional(self.row->pid->text) : std::nullopt; },
          "The worker that holds it; None where none does.")
      .def_property_readonly(
          "lease_until", [](const JobRecord& self) { return held(self) ? shown(self.row->expires_at) : std::nullopt; },
          "When its worker's lease ends, in Unix ms; None where nobody holds it.")
      .def_property_readonly(
          "result", [](const JobRecord& self) { return is_terminal(state(self)) ? self.shown().value() : Value(); },
          "Its promise's value, once it is over: what it was completed with, or the error that it ended with; empty before.")
      .def_property_readonly(
          "error", [](const JobRecord& self) { return Error(member(self, "error")); },
          "The last error: `code`, `message` and perhaps `data`; None where there was none.")
      .def_property_readonly(
          "attempts", [](const JobRecord& self) { return Attempts(member(self, "attempts")); },
          "The newest 100 attempts, oldest first: `number`, `worker`, `startedAt`, and once they are over `finishedAt`, `outcome` "
          "and "
          "perhaps `error`.");
}

void bind_spec(py::class_<JobRecord>& bound) {
  bound
      .def_property_readonly(
          "queue", [](const JobRecord& self) { return spec(self).queue; }, "The name of its queue.")
      .def_property_readonly(
          "type", [](const JobRecord& self) { return spec(self).type; }, "What kind of job it is: which function runs it.")
      .def_property_readonly(
          "payload", [](const JobRecord& self) { return self.row->payload(); }, "What it was enqueued with; its promise's param.")
      .def_property_readonly(
          "tags", [](const JobRecord& self) { return Shown<"dict[str, str]">(string_dict(self.row->birth->tags)); },
          "The tags of its promise, a new dict each time.")
      .def_property_readonly(
          "priority", [](const JobRecord& self) { return spec(self).priority; }, "1 comes first, 100 last.")
      .def_property_readonly(
          "max_retries", [](const JobRecord& self) { return spec(self).max_retries; }, "How many retries it has in all.")
      .def_property_readonly(
          "retry_policy",
          [](const JobRecord& self) {
            return JsonDict(part([&](PythonSink& sink) {
              sink.begin_object();
              resonate::detail::JobEncoder<PythonSink>(sink).policy(Field::retry_policy, spec(self).policy);
              sink.end_object();
            })["retryPolicy"]);
          },
          "When a failed attempt is followed by the next, as on the wire.")
      .def_property_readonly(
          "on_exhausted", [](const JobRecord& self) { return name_of(spec(self).on_exhausted); },
          "What it becomes without retries left: `archived` or `failed`.")
      .def_property_readonly(
          "timeout", [](const JobRecord& self) { return spec(self).timeout ? std::optional(spec(self).timeout) : std::nullopt; },
          "How long an attempt may take, in ms; None: as long as it likes.")
      .def_property_readonly(
          "retention",
          [](const JobRecord& self) { return spec(self).retention == kKept ? std::nullopt : std::optional(spec(self).retention); },
          "How long it is kept once completed, in ms; None: for ever.")
      .def_property_readonly(
          "unique_key", [](const JobRecord& self) { return spec(self).unique_key; },
          "No other job of its queue may be enqueued with this key while it holds it.")
      .def_property_readonly(
          "unique_for",
          [](const JobRecord& self) { return spec(self).unique_for ? std::optional(spec(self).unique_for) : std::nullopt; },
          "How long after `sent_at` it holds its key at most, in ms; None: until it is over.")
      .def_property_readonly(
          "group", [](const JobRecord& self) { return text_of(spec(self).group); },
          "The group with whose jobs it may be claimed together; None where it has none.")
      .def_property_readonly("gathering", &gathers, "Whether it waits, scheduled, for its group to be ready.")
      .def_property_readonly(
          "batch",
          [](const JobRecord& self) {
            return course(self).gathering && !gathers(self) ? std::nullopt : text_of(course(self).batch);
          },
          "Which jobs of its group it gathered with: those of one batch are claimed together; None where it has none.");
}

}  // namespace

void bind_job_records(py::module_& module) {
  py::class_<JobRecord> job(module, "Job", R"doc(
A job as it was at the instant of the call (JOBS 2): a promise with a task and a policy, under one id.

Immutable. A job whose deadline, or whose `good_until`, has passed is over, whatever was stored by then. Instants are Unix
milliseconds. Equal to another when all members are.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
    Job(id='mail:1', type='email:send', queue='default', state='pending', version=0)
)doc");
  bind_states(job);
  bind_spec(job);
  bind_timestamps(job);
  def_record(job, RecordTraits<JobRecord>{.to_dict = job_dict,
                                          .to_dict_doc = R"doc(
The record as it stands in an envelope.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.enqueue("t", id="a").to_dict()["enqueuedAt"]
    0
)doc",
                                          .same = same_job,
                                          .identity = job_identity,
                                          .repr = job_repr,
                                          .html = "job_html"});

  py::class_<JobBatch, PageBase> batch(module, "JobBatch", R"doc(
Jobs that were enqueued, claimed or found: a sequence that makes a record when one is asked for.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> batch = store.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
    >>> len(batch), batch[-1].payload.json()
    (3, 3)
)doc");
  def_sequence(batch, "JobBatch", "page_html");
  batch.def_readonly(
      "next_at", &JobBatch::next_at,
      "Of a claim that got fewer jobs than it asked for: when a queue that only lacked a token of its rate has one, in "
      "Unix ms; None where there is no such queue.");

  py::class_<JobReply, std::unique_ptr<JobReply>>(module, "JobHeartbeat", R"doc(
What `Jobs.heartbeat` answers: which jobs their worker need not go on with.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.heartbeat("w", [("a", 1)]).lost
    ['a']
)doc")
      .def_readonly("cancelled", &JobReply::cancelled, "Ids of jobs that were cancelled.")
      .def_readonly("lost", &JobReply::lost, "Ids of jobs that the worker does not hold under that version, for any other reason.")
      .def("__repr__", [](const JobReply& self) {
        return Repr("JobHeartbeat").with("cancelled", self.cancelled).with("lost", self.lost).done();
      });
}

}  // namespace resonate::python
