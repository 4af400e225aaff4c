// store.jobs: what those ask who enqueue jobs, and the workers who run them. For operators see bind_job_inspection.cpp.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "job_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using Payloads = Shown<"collections.abc.Iterable[typing.Any]">;
using OptionalIds = Shown<"collections.abc.Iterable[str] | None">;
using QueueNames = Shown<"str | collections.abc.Iterable[str] | collections.abc.Mapping[str, int]">;
using Completions = Shown<"collections.abc.Iterable[tuple[str, int, typing.Any]]">;
using Flag = Shown<"bool | None">;
using Statuses = py::typing::List<py::int_>;

JobRecord job_of(Reply reply) { return {std::move(reply.promise), reply.now}; }

JobRecord enqueue(const Jobs& self, const Str& type, const AnyValue& payload, const OptionalStr& id, const OptionalStr& queue,
                  const StringMapping& headers, const StringMapping& tags, const OptionalInt& priority,
                  const OptionalInt& process_at, const OptionalDuration& process_in, const OptionalInt& good_until,
                  const OptionalDuration& timeout, const OptionalInt& deadline, const RetentionArgument& retention,
                  const OptionalInt& max_retries, const PolicyArgument& retry_policy, const OptionalStr& on_exhausted,
                  const OptionalStr& lifecycle, const OptionalStr& unique_key, const OptionalDuration& unique_for,
                  const OptionalInt& sent_at) {
  JobOrder order = job_order(type, {queue, tags, priority, process_at, process_in, good_until, timeout, deadline, retention,
                                    max_retries, retry_policy, on_exhausted, lifecycle, unique_key, unique_for, sent_at});
  if (!id.is_none()) order.id = id_of(Str(id));
  order.payload = value_of(payload, headers, "payload");
  return job_of(self.store->run(JobEnqueue{{std::move(order)}}));
}

JobBatch enqueue_many(const Jobs& self, const Str& type, const Payloads& payloads, const OptionalIds& ids, const OptionalStr& queue,
                      const StringMapping& headers, const StringMapping& tags, const OptionalInt& priority,
                      const OptionalInt& process_at, const OptionalDuration& process_in, const OptionalInt& good_until,
                      const OptionalDuration& timeout, const OptionalInt& deadline, const RetentionArgument& retention,
                      const OptionalInt& max_retries, const PolicyArgument& retry_policy, const OptionalStr& on_exhausted,
                      const OptionalStr& lifecycle, const OptionalInt& sent_at) {
  const OptionalStr none{py::none()};
  const OptionalDuration no_duration{py::none()};
  const JobOrder common = job_order(type, {queue, tags, priority, process_at, process_in, good_until, timeout, deadline, retention,
                                           max_retries, retry_policy, on_exhausted, lifecycle, none, no_duration, sent_at});
  const py::object items = fast_sequence(payloads, "payloads", "an iterable of payloads");
  const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
  std::vector<std::string> names;
  if (!ids.is_none()) {
    names = texts(ids, "ids");
    if (names.size() != size)
      raise(ErrorClass::invalid, "ids has " + std::to_string(names.size()) + " entries and payloads " + std::to_string(size));
  }
  std::vector<Request> requests;
  requests.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    JobOrder order = common;
    if (!names.empty()) order.id = std::move(names[i]);
    order.payload = value_of(PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)), headers, "payloads");
    requests.push_back(Request{.operation = JobEnqueue{{std::move(order)}}});
  }
  PromiseBatch made = self.store->run_all(std::move(requests));
  JobBatch batch;
  batch.rows.reserve(size);
  for (PromiseRecord& record : made.records) {
    batch.now = record.now;
    batch.rows.push_back(std::move(record.row));
  }
  return batch;
}

JobRecord get(const Jobs& self, const Str& id) { return job_of(self.store->run(JobGet{id_of(id)})); }

JobBatch claim(const Jobs& self, const QueueNames& queues, const OptionalInt& count, const Str& worker,
               const DurationArgument& lease, const OptionalDuration& run_lease, const Flag& strict) {
  JobClaim claim{.queues = queue_choices(queues, "queues"),
                 .count = optional_integer(count, "count").value_or(1),
                 .worker = std::string(text(worker, "worker")),
                 .lease = duration(lease, "lease"),
                 .run_lease = optional_duration(run_lease, "run_lease"),
                 .strict = strict.ptr() == Py_True};
  Reply reply = self.store->run(std::move(claim));
  JobBatch batch;
  batch.rows = std::move(reply.rows);
  batch.now = reply.now;
  if (reply.jobs->next_at != kUnset) batch.next_at = reply.jobs->next_at;
  return batch;
}

JobRecord start(const Jobs& self, const Str& id, const Int& version, const OptionalDuration& lease) {
  return job_of(self.store->run(
      JobStart{.id = id_of(id), .version = integer(version, "version"), .lease = optional_duration(lease, "lease")}));
}

Statuses statuses_of(const Reply& reply) {
  Statuses statuses;
  for (const JobReply::Item& item : reply.jobs->items) statuses.append(py::int_(item.status));
  return statuses;
}

Statuses start_many(const Jobs& self, const HeldJobs& jobs, const OptionalDuration& lease) {
  JobStartMany many{.jobs = held_jobs(jobs, "jobs"), .lease = optional_duration(lease, "lease")};
  if (many.jobs.empty()) return {};
  return statuses_of(self.store->run(std::move(many)));
}

JobReply heartbeat(const Jobs& self, const Str& worker, const HeldJobs& jobs) {
  return *self.store->run(JobHeartbeat{.worker = std::string(text(worker, "worker")), .jobs = held_jobs(jobs, "jobs")}).jobs;
}

JobRecord complete(const Jobs& self, const Str& id, const Int& version, const AnyValue& result, const StringMapping& headers) {
  return job_of(self.store->run(JobComplete{
      .id = id_of(id), .version = integer(version, "version"), .result = value_of(result, headers, "result")}));
}

Statuses complete_many(const Jobs& self, const Completions& jobs) {
  constexpr const char* kExpected = "an iterable of (id, version, result)";
  JobCompleteMany many;
  const py::object items = fast_sequence(jobs, "jobs", kExpected);
  for (py::handle one : items) {
    const py::object parts = fast_sequence(one, "jobs", kExpected);
    if (PySequence_Fast_GET_SIZE(parts.ptr()) != 3)
      raise(ErrorClass::invalid, "jobs holds " + std::string(py::repr(one)) + "; it has to be (id, version, result)");
    many.jobs.push_back({.id = std::string(text(PySequence_Fast_GET_ITEM(parts.ptr(), 0), "jobs")),
                         .version = integer(PySequence_Fast_GET_ITEM(parts.ptr(), 1), "jobs"),
                         .result = value_of(PySequence_Fast_GET_ITEM(parts.ptr(), 2), py::none(), "jobs")});
  }
  if (many.jobs.empty()) return {};
  return statuses_of(self.store->run(std::move(many)));
}

JobRecord fail(const Jobs& self, const Str& id, const Int& version, const Str& code, const OptionalStr& message,
               const OptionalStr& data, const Flag& retryable, const OptionalDuration& retry_after) {
  return job_of(self.store->run(JobFail{.id = id_of(id),
                                        .version = integer(version, "version"),
                                        .error = {std::string(text(code, "code")),
                                                  optional_text(message, "message").value_or(""), optional_text(data, "data")},
                                        .retryable = retryable.ptr() != Py_False,
                                        .retry_after = optional_duration(retry_after, "retry_after")}));
}

JobRecord release(const Jobs& self, const Str& id, const Int& version) {
  return job_of(self.store->run(JobRelease{.id = id_of(id), .version = integer(version, "version")}));
}

JobRecord snooze(const Jobs& self, const Str& id, const Int& version, const DurationArgument& delay) {
  return job_of(self.store->run(
      JobSnooze{.id = id_of(id), .version = integer(version, "version"), .delay = duration(delay, "delay")}));
}

constexpr const char* kJob = "resonate_core._core.Job";

void bind_enqueue(py::class_<Jobs>& bound) {
  KeywordMethod<&enqueue>::bind(bound, "enqueue",
                                {{{"type", Given::required},
                                  {"payload", Given::optional},
                                  {"id"},
                                  {"queue"},
                                  {"headers"},
                                  {"tags"},
                                  {"priority"},
                                  {"process_at"},
                                  {"process_in"},
                                  {"good_until"},
                                  {"timeout"},
                                  {"deadline"},
                                  {"retention"},
                                  {"max_retries"},
                                  {"retry_policy"},
                                  {"on_exhausted"},
                                  {"lifecycle"},
                                  {"unique_key"},
                                  {"unique_for"},
                                  {"sent_at"}}},
                                kJob, R"doc(
Enqueues a job, or answers the same one that is there (JOBS 3). What is not given comes from the queue, then from the lifecycle.

Args:
    type: What kind of job it is: which function runs it.
    payload: What that function gets: bytes, a `Value`, or anything JSON-able.
    id: Its id, also of its promise; one is made where none is given. A pending promise without a task becomes the job.
    queue: The name of its queue; "default" where none is given.
    headers: Headers of the payload.
    tags: Tags of its promise.
    priority: 1 comes first, 100 last; 50 where nothing else is said.
    process_at: Not before this instant, in Unix ms.
    process_in: Not before so long from now, in ms or as a timedelta.
    good_until: It expires unless it has been started by then, in Unix ms.
    timeout: How long one attempt may take, in ms or as a timedelta.
    deadline: Of its promise, in Unix ms; none where none is given.
    retention: How long it is kept once completed, in ms or as a timedelta; "kept": for ever.
    max_retries: How many retries it has.
    retry_policy: {"kind": "fixed", "intervals": [ms, ...]}, {"kind": "exponential", "base": ms, "factor", "cap": ms, "jitter"} or
        {"kind": "asynq"}; with "codes": [...] only errors of these codes are retried.
    on_exhausted: "archived" or "failed": what it becomes without retries left.
    lifecycle: "asynq" or "horsies": the preset for what nobody says (JOBS 4).
    unique_key: No other job of the queue may hold this key.
    unique_for: For how long after `sent_at` at most it holds it, in ms or as a timedelta; none: until it is over.
    sent_at: When the caller sent it, in Unix ms; now where not given.

Returns:
    The job.

Raises:
    Invalid: A value that breaks a rule.
    Conflict: The id is that of another job, of a task, or of a settled promise; or another job holds the unique key.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> job = store.jobs.enqueue("email:send", {"to": "a@example.com"}, queue="mail", process_in=60_000)
    >>> job.state, job.process_at
    ('scheduled', 60000)
)doc");

  KeywordMethod<&enqueue_many>::bind(bound, "enqueue_many",
                                     {{{"type", Given::required},
                                       {"payloads", Given::required},
                                       {"ids"},
                                       {"queue"},
                                       {"headers"},
                                       {"tags"},
                                       {"priority"},
                                       {"process_at"},
                                       {"process_in"},
                                       {"good_until"},
                                       {"timeout"},
                                       {"deadline"},
                                       {"retention"},
                                       {"max_retries"},
                                       {"retry_policy"},
                                       {"on_exhausted"},
                                       {"lifecycle"},
                                       {"sent_at"}}},
                                     "resonate_core._core.JobBatch", R"doc(
Enqueues a job for each payload, all of them or none, in one transaction; as `enqueue` for each, in order.

Args:
    type: What kind of jobs they are.
    payloads: The payload of each.
    ids: The id of each; made where none are given.
    queue: As in `enqueue`, for all of them; so are those that follow.
    headers: See `enqueue`.
    tags: See `enqueue`.
    priority: See `enqueue`.
    process_at: See `enqueue`.
    process_in: See `enqueue`.
    good_until: See `enqueue`.
    timeout: See `enqueue`.
    deadline: See `enqueue`.
    retention: See `enqueue`.
    max_retries: See `enqueue`.
    retry_policy: See `enqueue`.
    on_exhausted: See `enqueue`.
    lifecycle: See `enqueue`.
    sent_at: See `enqueue`.

Returns:
    The jobs, in order of the payloads.

Raises:
    Invalid: As `enqueue`, or ids and payloads of different numbers. Nothing was enqueued then.
    Conflict: As `enqueue`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> [job.state for job in store.jobs.enqueue_many("t", range(3))]
    ['pending', 'pending', 'pending']
)doc");
}

void bind_running(py::class_<Jobs>& bound) {
  KeywordMethod<&claim>::bind(bound, "claim",
                              {{{"queues", Given::required},
                                {"count", Given::optional},
                                {"worker", Given::required_keyword},
                                {"lease", Given::required_keyword},
                                {"run_lease"},
                                {"strict"}}},
                              "resonate_core._core.JobBatch", R"doc(
Takes jobs that may be claimed, each under a lease (JOBS 3). Its version rises by one; what its worker asks has to name it.

A job of a lifecycle that claims in one step runs at once; another is `claimed` until `start`.

Args:
    queues: A name, names, or weights (1..1000) by name. Queues take turns by weight.
    count: How many at most, 1..10000.
    worker: Who holds the leases.
    lease: The length of the lease of a claimed job, in ms or as a timedelta.
    run_lease: The same of a job that runs at once; as `lease` where not given.
    strict: A queue gives jobs only when those before it have none.

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
      bound, "complete",
      {{{"id", Given::required}, {"version", Given::required}, {"result", Given::optional}, {"headers"}}}, kJob, R"doc(
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

}  // namespace

void bind_jobs(py::module_& module) {
  py::class_<Jobs> bound(module, "Jobs", R"doc(
The jobs of a store: `store.jobs` (JOBS). `resonate_core.worker.Worker` runs them by Python functions.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
    >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
    >>> _ = store.jobs.start(job.id, job.version)
    >>> store.jobs.complete(job.id, job.version, "sent").state
    'completed'
    >>> store.promises.get("mail:1").value.json()
    'sent'
)doc");
  bind_enqueue(bound);
  bind_running(bound);
  bind_job_inspection(bound);
}

}  // namespace resonate::python
