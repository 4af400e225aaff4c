// store.jobs: the requests of workers.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "job_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using QueueNames = Shown<"str | collections.abc.Iterable[str] | collections.abc.Mapping[str, int]">;
using Completions = Shown<"collections.abc.Iterable[tuple[str, int, typing.Any]]">;
using Flag = Shown<"bool | None">;
using Lines = Shown<"str | collections.abc.Iterable[str] | None">;
using Statuses = py::typing::List<py::int_>;

JobRecord get(const Jobs& self, const Str& id) { return self.store->run_for_job(JobGet{id_of(id)}); }

JobClaim claim_of(const QueueNames& queues, const OptionalInt& count, const Str& worker, const DurationArgument& lease,
                  const OptionalDuration& run_lease, const Flag& strict, const OptionalInt& start) {
  return {.queues = queue_choices(queues, "queues"),
          .count = optional_integer(count, "count").value_or(1),
          .worker = std::string(text(worker, "worker")),
          .lease = duration(lease, "lease"),
          .run_lease = optional_duration(run_lease, "run_lease"),
          .strict = strict.ptr() == Py_True,
          .start = optional_integer(start, "start").value_or(0)};
}

JobBatch batch_of(Reply&& reply) {
  JobBatch batch;
  batch.rows = std::move(reply.rows);
  if (reply.jobs->next_at != kUnset) batch.next_at = reply.jobs->next_at;
  return batch;
}

JobBatch claim(const Jobs& self, const QueueNames& queues, const OptionalInt& count, const Str& worker,
               const DurationArgument& lease, const OptionalDuration& run_lease, const Flag& strict, const OptionalInt& start) {
  return batch_of(self.store->run(claim_of(queues, count, worker, lease, run_lease, strict, start)));
}

JobRecord start(const Jobs& self, const Str& id, const Int& version, const OptionalDuration& lease) {
  return self.store->run_for_job(
      JobStart{.id = id_of(id), .version = integer(version, "version"), .lease = optional_duration(lease, "lease")});
}

Statuses statuses_of(const Reply& reply) {
  Statuses statuses;
  for (const JobReply::Item& item : reply.jobs->items) statuses.append(py::int_(item.status));
  return statuses;
}

Statuses start_many(const Jobs& self, const Held& jobs, const OptionalDuration& lease) {
  JobStartMany many{.jobs = held<JobRef>(jobs, "jobs"), .lease = optional_duration(lease, "lease")};
  if (many.jobs.empty()) return {};
  return statuses_of(self.store->run(std::move(many)));
}

JobReply heartbeat(const Jobs& self, const Str& worker, const Held& jobs) {
  return *self.store->run(JobHeartbeat{.worker = std::string(text(worker, "worker")), .jobs = held<JobRef>(jobs, "jobs")}).jobs;
}

JobRecord complete(const Jobs& self, const Str& id, const Int& version, const AnyValue& result, const StringMapping& headers) {
  return self.store->run_for_job(
      JobComplete{.id = id_of(id), .version = integer(version, "version"), .result = value_of(result, headers, "result")});
}

JobCompleteMany completions_of(const Completions& jobs) {
  constexpr const char* kExpected = "an iterable of (id, version, result)";
  JobCompleteMany many;
  const py::object items = fast_sequence(jobs, "jobs", kExpected);
  for (py::handle one : items) {
    const py::object parts = fast_sequence(one, "jobs", kExpected);
    if (PySequence_Fast_GET_SIZE(parts.ptr()) != 3)
      raise(ErrorClass::invalid, "jobs must contain (id, version, result), got " + std::string(repr_of(one)));
    many.jobs.push_back({.id = std::string(text(PySequence_Fast_GET_ITEM(parts.ptr(), 0), "jobs")),
                         .version = integer(PySequence_Fast_GET_ITEM(parts.ptr(), 1), "jobs"),
                         .result = value_of(PySequence_Fast_GET_ITEM(parts.ptr(), 2), py::none(), "jobs")});
  }
  return many;
}

Statuses complete_many(const Jobs& self, const Completions& jobs) {
  JobCompleteMany many = completions_of(jobs);
  if (many.jobs.empty()) return {};
  return statuses_of(self.store->run(std::move(many)));
}

// The results of complete_many, start_many and claim. A result is None if its request was empty, or was refused as a whole.
using Exchanged = Shown<"tuple[list[int] | None, list[int] | None, resonate_core._core.JobBatch | None]">;
Exchanged exchange(const Jobs& self, const Completions& completed, const Held& started, const QueueNames& queues,
                   const OptionalInt& count, const Str& worker, const DurationArgument& lease, const OptionalDuration& run_lease,
                   const Flag& strict, const OptionalInt& start) {
  std::vector<Request> requests;
  const auto add = [&requests](auto&& operation) { requests.push_back({.operation = std::move(operation)}); };
  if (JobCompleteMany many = completions_of(completed); !many.jobs.empty()) add(std::move(many));
  const bool completes = !requests.empty();
  if (JobStartMany many{.jobs = held<JobRef>(started, "started"), .lease = optional_duration(run_lease, "run_lease")};
      !many.jobs.empty())
    add(std::move(many));
  const bool starts = requests.size() > (completes ? 1 : 0);
  const bool claims = optional_integer(count, "count").value_or(0) > 0;
  if (claims) add(claim_of(queues, count, worker, lease, run_lease, strict, start));
  std::vector<Reply> replies;
  if (!requests.empty()) replies = self.store->without_gil([&](Engine& engine) { return engine.apply(std::move(requests)); });
  auto next = replies.begin();
  const auto statuses = [&next](bool asked) -> py::object {
    if (!asked) return py::none();
    const Reply& reply = *next++;
    return reply.ok() ? py::object(statuses_of(reply)) : py::none();
  };
  py::object of_completed = statuses(completes);
  py::object of_started = statuses(starts);
  py::object batch = py::none();
  if (claims && next->ok()) batch = py::cast(batch_of(std::move(*next)));
  return Exchanged(py::make_tuple(std::move(of_completed), std::move(of_started), std::move(batch)));
}

JobRecord fail(const Jobs& self, const Str& id, const Int& version, const Str& code, const OptionalStr& message,
               const OptionalStr& data, const Flag& retryable, const OptionalDuration& retry_after) {
  return self.store->run_for_job(JobFail{
      .id = id_of(id),
      .version = integer(version, "version"),
      .error = {std::string(text(code, "code")), optional_text(message, "message").value_or(""), optional_text(data, "data")},
      .retryable = retryable.ptr() != Py_False,
      .retry_after = optional_duration(retry_after, "retry_after")});
}

JobRecord release(const Jobs& self, const Str& id, const Int& version) {
  return self.store->run_for_job(JobRelease{.id = id_of(id), .version = integer(version, "version")});
}

JobRecord snooze(const Jobs& self, const Str& id, const Int& version, const DurationArgument& delay) {
  return self.store->run_for_job(
      JobSnooze{.id = id_of(id), .version = integer(version, "version"), .delay = duration(delay, "delay")});
}

// One text is one line.
std::vector<std::string> lines_of(py::handle given) {
  if (given.is_none()) return {};
  if (PyUnicode_Check(given.ptr())) return {std::string(text(given, "lines"))};
  return texts(given, "lines");
}

JobRecord report(const Jobs& self, const Str& id, const Int& version, const OptionalNumber& progress, const Lines& lines) {
  return self.store->run_for_job(JobReport{.id = id_of(id),
                                           .version = integer(version, "version"),
                                           .progress = optional_number(progress, "progress"),
                                           .lines = lines_of(lines)});
}

constexpr const char* kJob = "resonate_core._core.Job";

}  // namespace

void bind_claims(py::class_<Jobs>& bound) {
  KeywordMethod<&claim>::bind(bound, "claim",
                              {{{"queues", Given::required},
                                {"count", Given::optional},
                                {"worker", Given::required_keyword},
                                {"lease", Given::required_keyword},
                                {"run_lease"},
                                {"strict"},
                                {"start"}}},
                              "resonate_core._core.JobBatch", R"doc(
Claim pending jobs, each under a lease (JOBS 3). The version of each rises by one; later requests of the worker must name it.

A job whose lifecycle claims in one step runs at once; other jobs are `claimed` until `start`. The pending jobs of a batch are claimed
together, even beyond `count`.

Args:
    queues: A name, a list of names, or weights (1..1000) by name. Queues share by weight.
    count: The maximum of jobs, 1..10000.
    worker: The name of the worker that holds the leases.
    lease: The duration of the lease of a claimed job, in ms or as a timedelta.
    run_lease: The duration of the lease of a job that runs at once; default: `lease`.
    strict: Take jobs of a queue only if the queues before it have none.
    start: This many of the jobs, the first ones, run at once, in any lifecycle.

Returns:
    The jobs in order of claiming: within a queue by priority, then `enqueued_at`, then id.

Raises:
    Invalid: No queue is named, a queue is named twice, or the count or a lease is out of bounds.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="later", priority=60)
    >>> _ = store.jobs.enqueue("t", id="sooner", priority=10)
    >>> [(job.id, job.state, job.version) for job in store.jobs.claim("default", 2, worker="w", lease=60_000)]
    [('sooner', 'claimed', 1), ('later', 'claimed', 1)]
)doc");

  KeywordMethod<&complete>::bind(
      bound, "complete", {{{"id", Given::required}, {"version", Given::required}, {"result", Given::optional}, {"headers"}}}, kJob,
      R"doc(
Complete a running job and resolve its promise with the result (JOBS 3). The job is kept for its retention.

Args:
    id: The id of the job.
    version: The version of the claim.
    result: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the result.

Returns:
    The job.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is not running, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retention="kept")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.complete("a", job.version, {"sent": True}).result.json()
    {'sent': True}
)doc");

  KeywordMethod<&fail>::bind(bound, "fail",
                             {{{"id", Given::required},
                               {"version", Given::required},
                               {"code", Given::required},
                               {"message", Given::optional},
                               {"data", Given::optional},
                               {"retryable"},
                               {"retry_after"}}},
                             kJob, R"doc(
Fail an attempt: the job is retried, archived or failed for good (JOBS 3).

Args:
    id: The id of the job.
    version: The version of the claim.
    code: The code of the error; a policy may restrict retries to certain codes.
    message: A text for people.
    data: More about the error, base64 by convention.
    retryable: False: do not retry the job.
    retry_after: The delay of the next attempt, in ms or as a timedelta, instead of the policy's delay.

Returns:
    The job.

Raises:
    Invalid: The code is empty, or the delay is negative.
    NotFound: The job does not exist.
    Conflict: The job is not running, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retry_policy={"kind": "fixed", "intervals": [5000]})
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.fail("a", job.version, "SmtpError", "no such host").next_retry_at
    5000
)doc");

  KeywordMethod<&exchange>::bind(bound, "_exchange",
                                 {{{"completed", Given::required},
                                   {"started", Given::required},
                                   {"queues", Given::required},
                                   {"count", Given::required},
                                   {"worker", Given::required},
                                   {"lease", Given::required},
                                   {"run_lease", Given::required},
                                   {"strict", Given::required},
                                   {"start", Given::required}}},
                                 Exchanged::type_name(), R"doc(
Complete jobs, start claimed ones and claim more, in one transaction: `complete_many`, `start_many` and `claim`.

Args:
    completed: As of `complete_many`; none: complete nothing.
    started: As of `start_many`; none: start nothing.
    count: As of `claim`; 0: claim nothing.

Returns:
    The results of the three requests. A result is None if its request was empty, or was refused as a whole; to see why, make it alone.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> completed, started, claimed = store.jobs._exchange([], [("b", 1)], "default", 1, "w", 60_000, 60_000, False, 1)
    >>> completed, started, [job.state for job in claimed]
    (None, [404], ['running'])
)doc");

  bound
      .def("start", &start, py::arg("id"), py::arg("version"), py::kw_only(), py::arg("lease") = py::none(), R"doc(
Start the attempt of a claimed job.

Args:
    id: The id of the job.
    version: The version of the claim.
    lease: The duration of the lease from now on, in ms or as a timedelta; default: unchanged.

Returns:
    The job.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is not claimed, has another version, or has expired.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.start("a", job.version).attempts
    [{'number': 1, 'worker': 'w', 'startedAt': 0}]
)doc")
      .def("start_many", &start_many, py::arg("jobs"), py::kw_only(), py::arg("lease") = py::none(), R"doc(
Start the attempts of several claimed jobs in one transaction, independently of each other.

Args:
    jobs: Pairs of id and version.
    lease: As in `start`, for all jobs.

Returns:
    The status of each: 200, 404 or 409.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.start_many([("a", 1)])
    [404]
)doc")
      .def("complete_many", &complete_many, py::arg("jobs"), R"doc(
Complete several running jobs in one transaction, independently of each other.

Args:
    jobs: Triples of id, version and result.

Returns:
    The status of each: 200, 404 or 409.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.complete_many([("a", 1, None)])
    [404]
)doc")
      .def("heartbeat", &heartbeat, py::arg("worker"), py::arg("jobs"), R"doc(
Renew the leases of claimed or running jobs, each by its own duration.

Args:
    worker: The name of the worker that holds the leases.
    jobs: Pairs of id and version.

Returns:
    The jobs that were cancelled, and the jobs that the worker no longer holds.

Raises:
    Invalid: A name or an id is empty, or a version is negative.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> _ = store.jobs.cancel("a")
    >>> store.jobs.heartbeat("w", [("a", job.version)])
    JobHeartbeat(cancelled=['a'], lost=[])
)doc")
      .def("release", &release, py::arg("id"), py::arg("version"), R"doc(
Release a claimed job that was not started; no retry is used.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is not claimed, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.release("a", job.version).state
    'pending'
)doc")
      .def("snooze", &snooze, py::arg("id"), py::arg("version"), py::arg("delay"), R"doc(
Snooze a running job: end its attempt and schedule it again; no retry is used.

Args:
    id: The id of the job.
    version: The version of the claim.
    delay: The time until the job is pending again, in ms or as a timedelta.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is not running, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.snooze("a", job.version, 5000).process_at
    5000
)doc")
      .def("report", &report, py::arg("id"), py::arg("version"), py::kw_only(), py::arg("progress") = py::none(),
           py::arg("lines") = py::none(), R"doc(
Report on a running job: how far its attempt is, and lines for its log. `Job.report` shows them. The lease is not renewed.

Args:
    id: The id of the job.
    version: The version of the claim.
    progress: The part that is done, 0 to 1. None: unchanged. Each attempt begins without progress.
    lines: A line, or up to 100 lines, of at most 1000 bytes each. The job keeps its newest 100 lines.

Returns:
    The job.

Raises:
    Invalid: Neither is given, the progress is out of bounds, a line is empty or too long, or there are too many lines.
    NotFound: The job does not exist.
    Conflict: The job is not running, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.report("a", job.version, progress=0.5, lines="page 3 of 6").report
    {'at': 0, 'progress': 0.5, 'lines': [{'at': 0, 'attempt': 1, 'text': 'page 3 of 6'}]}
)doc")
      .def("get", &get, py::arg("id"), R"doc(
Return the job. A read: it stores nothing and runs no step.

Raises:
    NotFound: The promise does not exist, or is not a job.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.get("a").state
    'pending'
)doc");
}

}  // namespace resonate::python
