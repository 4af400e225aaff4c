// store.jobs: what workers ask.
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
using Statuses = py::typing::List<py::int_>;

JobRecord get(const Jobs& self, const Str& id) { return self.store->run_for_job(JobGet{id_of(id)}); }

JobBatch claim(const Jobs& self, const QueueNames& queues, const OptionalInt& count, const Str& worker,
               const DurationArgument& lease, const OptionalDuration& run_lease, const Flag& strict, const OptionalInt& start) {
  JobClaim claim{.queues = queue_choices(queues, "queues"),
                 .count = optional_integer(count, "count").value_or(1),
                 .worker = std::string(text(worker, "worker")),
                 .lease = duration(lease, "lease"),
                 .run_lease = optional_duration(run_lease, "run_lease"),
                 .strict = strict.ptr() == Py_True,
                 .start = optional_integer(start, "start").value_or(0)};
  Reply reply = self.store->run(std::move(claim));
  JobBatch batch;
  batch.rows = std::move(reply.rows);
  batch.now = reply.now;
  if (reply.jobs->next_at != kUnset) batch.next_at = reply.jobs->next_at;
  return batch;
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

Statuses complete_many(const Jobs& self, const Completions& jobs) {
  constexpr const char* kExpected = "an iterable of (id, version, result)";
  JobCompleteMany many;
  const py::object items = fast_sequence(jobs, "jobs", kExpected);
  for (py::handle one : items) {
    const py::object parts = fast_sequence(one, "jobs", kExpected);
    if (PySequence_Fast_GET_SIZE(parts.ptr()) != 3)
      raise(ErrorClass::invalid, "jobs holds " + std::string(repr_of(one)) + "; it has to be (id, version, result)");
    many.jobs.push_back({.id = std::string(text(PySequence_Fast_GET_ITEM(parts.ptr(), 0), "jobs")),
                         .version = integer(PySequence_Fast_GET_ITEM(parts.ptr(), 1), "jobs"),
                         .result = value_of(PySequence_Fast_GET_ITEM(parts.ptr(), 2), py::none(), "jobs")});
  }
  if (many.jobs.empty()) return {};
  return statuses_of(self.store->run(std::move(many)));
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
Takes jobs that may be claimed, each under a lease (JOBS 3). Its version rises by one; what its worker asks has to name it.

A job of a lifecycle that claims in one step runs at once; another is `claimed` until `start`. Of a group that gathered, all that may
be claimed come together, even beyond `count`.

Args:
    queues: A name, names, or weights (1..1000) by name. Queues take turns by weight.
    count: How many at most, 1..10000.
    worker: Who holds the leases.
    lease: The length of the lease of a claimed job, in ms or as a timedelta.
    run_lease: The same of a job that runs at once; as `lease` where not given.
    strict: A queue gives jobs only when those before it have none.
    start: So many of them, the first ones, run at once, whatever their lifecycle.

Returns:
    The jobs in order of claiming: by priority, then `enqueued_at`, then id within a queue.

Raises:
    Invalid: No queue, one that is named twice, a count or a lease outside its bounds.

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
Completes a running job: its promise is resolved with the result (JOBS 3). Then it is kept as long as its retention says.

Args:
    id: The id of the job.
    version: Of the claim.
    result: bytes, a `Value`, or anything JSON-able.
    headers: Headers of the result.

Returns:
    The job.

Raises:
    NotFound: It does not exist.
    Conflict: It does not run, or has another version.

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
Ends an attempt without success: the job is retried, or archived or failed for good (JOBS 3).

Args:
    id: The id of the job.
    version: Of the claim.
    code: Which error it was; a policy may retry certain codes only.
    message: For people.
    data: More of it, base64 by convention.
    retryable: False: there is no use in another attempt.
    retry_after: When the next attempt may begin, in ms from now or as a timedelta, in place of what the policy says.

Returns:
    The job.

Raises:
    Invalid: An empty code, a negative pause.
    NotFound: It does not exist.
    Conflict: It does not run, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retry_policy={"kind": "fixed", "intervals": [5000]})
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.fail("a", job.version, "SmtpError", "no such host").next_retry_at
    5000
)doc");

  bound
      .def("start", &start, py::arg("id"), py::arg("version"), py::kw_only(), py::arg("lease") = py::none(), R"doc(
Begins the attempt of a claimed job.

Args:
    id: The id of the job.
    version: Of the claim.
    lease: The length of the lease from now on, in ms or as a timedelta; as before where not given.

Returns:
    The job.

Raises:
    NotFound: It does not exist.
    Conflict: It is not claimed, or has another version; it may have expired.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.start("a", job.version).attempts
    [{'number': 1, 'worker': 'w', 'startedAt': 0}]
)doc")
      .def("start_many", &start_many, py::arg("jobs"), py::kw_only(), py::arg("lease") = py::none(), R"doc(
Begins the attempts of several claimed jobs in one transaction, each for itself.

Args:
    jobs: Pairs of id and version.
    lease: As in `start`, for all of them.

Returns:
    The status of each: 200, 404 or 409.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.jobs.start_many([("a", 1)])
    [404]
)doc")
      .def("complete_many", &complete_many, py::arg("jobs"), R"doc(
Completes several running jobs in one transaction, each for itself.

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
Renews the leases of jobs that are claimed or running, each by its own length.

Args:
    worker: Who holds them.
    jobs: Pairs of id and version.

Returns:
    Which of them were cancelled, and which are not held any more.

Raises:
    Invalid: An empty name or id, a negative version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> _ = store.jobs.cancel("a")
    >>> store.jobs.heartbeat("w", [("a", job.version)])
    JobHeartbeat(cancelled=['a'], lost=[])
)doc")
      .def("release", &release, py::arg("id"), py::arg("version"), R"doc(
Gives a claimed job back that was not started; no retry is used.

Raises:
    NotFound: It does not exist.
    Conflict: It is not claimed, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.release("a", job.version).state
    'pending'
)doc")
      .def("snooze", &snooze, py::arg("id"), py::arg("version"), py::arg("delay"), R"doc(
Puts a running job off; its attempt is over, no retry is used.

Args:
    id: The id of the job.
    version: Of the claim.
    delay: From now until it may be claimed again, in ms or as a timedelta.

Raises:
    NotFound: It does not exist.
    Conflict: It does not run, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> store.jobs.snooze("a", job.version, 5000).process_at
    5000
)doc")
      .def("get", &get, py::arg("id"), R"doc(
The job. A read: nothing is stored and nothing fires.

Raises:
    NotFound: There is no promise of this id, or it is no job.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.get("a").state
    'pending'
)doc");
}

}  // namespace resonate::python
