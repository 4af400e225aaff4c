// store.jobs: what those ask who enqueue jobs. For workers see bind_claims.cpp, for operators bind_job_inspection.cpp.
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

JobRecord enqueue(const Jobs& self, const Str& type, const AnyValue& payload, const OptionalStr& id, const OptionalStr& queue,
                  const StringMapping& headers, const StringMapping& tags, const OptionalInt& priority,
                  const OptionalInt& process_at, const OptionalDuration& process_in, const OptionalInt& good_until,
                  const OptionalDuration& good_for, const OptionalDuration& timeout, const OptionalInt& deadline,
                  const RetentionArgument& retention, const OptionalInt& max_retries, const PolicyArgument& retry_policy,
                  const OptionalStr& on_exhausted, const OptionalStr& lifecycle, const OptionalStr& unique_key,
                  const OptionalDuration& unique_for, const OptionalStr& group, const OptionalInt& sent_at) {
  JobOrder order =
      job_order(type, {queue, tags, priority, process_at, process_in, good_until, good_for, timeout, deadline, retention,
                       max_retries, retry_policy, on_exhausted, lifecycle, unique_key, unique_for, group, sent_at});
  if (!id.is_none()) order.id = id_of(Str(id));
  order.payload = value_of(payload, headers, "payload");
  return self.store->run_for_job(JobEnqueue{{std::move(order)}});
}

JobBatch enqueue_many(const Jobs& self, const Str& type, const Payloads& payloads, const OptionalIds& ids, const OptionalStr& queue,
                      const StringMapping& headers, const StringMapping& tags, const OptionalInt& priority,
                      const OptionalInt& process_at, const OptionalDuration& process_in, const OptionalInt& good_until,
                      const OptionalDuration& good_for, const OptionalDuration& timeout, const OptionalInt& deadline,
                      const RetentionArgument& retention, const OptionalInt& max_retries, const PolicyArgument& retry_policy,
                      const OptionalStr& on_exhausted, const OptionalStr& lifecycle, const OptionalStr& group,
                      const OptionalInt& sent_at) {
  const OptionalStr none{py::none()};
  const OptionalDuration no_duration{py::none()};
  const JobOrder common =
      job_order(type, {queue, tags, priority, process_at, process_in, good_until, good_for, timeout, deadline, retention,
                       max_retries, retry_policy, on_exhausted, lifecycle, none, no_duration, group, sent_at});
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
                                  {"good_for"},
                                  {"timeout"},
                                  {"deadline"},
                                  {"retention"},
                                  {"max_retries"},
                                  {"retry_policy"},
                                  {"on_exhausted"},
                                  {"lifecycle"},
                                  {"unique_key"},
                                  {"unique_for"},
                                  {"group"},
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
    good_for: A `good_until` so long after it can first run, in ms or as a timedelta.
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
    group: It waits until the jobs of its queue and type with this group are many enough, none has joined for a while, or the
        first has waited long enough (`Queues.set`); then all of them may be claimed, together.
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
                                       {"good_for"},
                                       {"timeout"},
                                       {"deadline"},
                                       {"retention"},
                                       {"max_retries"},
                                       {"retry_policy"},
                                       {"on_exhausted"},
                                       {"lifecycle"},
                                       {"group"},
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
    good_for: See `enqueue`.
    timeout: See `enqueue`.
    deadline: See `enqueue`.
    retention: See `enqueue`.
    max_retries: See `enqueue`.
    retry_policy: See `enqueue`.
    on_exhausted: See `enqueue`.
    lifecycle: See `enqueue`.
    group: See `enqueue`.
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
  bind_claims(bound);
  bind_job_inspection(bound);
}

}  // namespace resonate::python
