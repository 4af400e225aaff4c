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
      raise(ErrorClass::invalid,
            "ids must have as many entries as payloads (" + std::to_string(size) + "), got " + std::to_string(names.size()));
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
  for (PromiseRecord& record : made.records) batch.rows.push_back(std::move(record.row));
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
Enqueue a job, or return the same existing job (JOBS 3). Missing arguments come from the queue's defaults, then the lifecycle.

Args:
    type: The name by which a worker finds the function.
    payload: The input of the function: bytes, a `Value`, or any JSON-able object.
    id: The id of the job and its promise; default: generated. A pending promise without a task becomes the job.
    queue: The name of the queue; default: "default".
    headers: Headers of the payload.
    tags: Tags of the promise.
    priority: 1 (first) to 100 (last); default: 50.
    process_at: The earliest start, in Unix ms.
    process_in: The delay until the earliest start, in ms or as a timedelta.
    good_until: The job expires if it has not started by this instant, in Unix ms.
    good_for: The job expires if it has not started this long after it first becomes runnable, in ms or as a timedelta.
    timeout: The longest duration of one attempt, in ms or as a timedelta.
    deadline: The deadline of the promise, in Unix ms; default: none.
    retention: How long the job is kept after it completed, in ms or as a timedelta; "kept": until it is deleted.
    max_retries: The number of retries.
    retry_policy: {"kind": "fixed", "intervals": [ms, ...]}, {"kind": "exponential", "base": ms, "factor", "cap": ms, "jitter"} or
        {"kind": "asynq"}; with "codes": [...] only errors with these codes are retried.
    on_exhausted: "archived" or "failed": the state after the last retry failed.
    lifecycle: "asynq" or "horsies": the preset of missing arguments (JOBS 4).
    unique_key: A key that at most one job of the queue holds.
    unique_for: The longest time after `sent_at` for which the job holds its key, in ms or as a timedelta; none: until it is final.
    group: The job gathers with the jobs of its queue, type and group until there are enough, none has joined for some time, or
        the first has waited long enough (`Queues.set`); then they are claimed together.
    sent_at: When the caller sent it, in Unix ms; default: now.

Returns:
    The job.

Raises:
    Invalid: A value breaks a rule.
    Conflict: The id belongs to another job, a task or a settled promise, or another job holds the unique key.

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
Enqueue one job for each payload in one transaction, all or none; like `enqueue` for each, in order.

Args:
    type: The type of the jobs.
    payloads: The payload of each job.
    ids: The id of each job; default: generated.
    queue: As in `enqueue`, for all jobs, like the following arguments.
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
    Invalid: As for `enqueue`, or `ids` and `payloads` have different lengths. Nothing was enqueued.
    Conflict: As for `enqueue`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> [job.state for job in store.jobs.enqueue_many("t", range(3))]
    ['pending', 'pending', 'pending']
)doc");
}

}  // namespace

void bind_jobs(py::module_& module) {
  py::class_<Jobs> bound(module, "Jobs", R"doc(
The jobs of a store: `store.jobs` (JOBS). `resonate_core.worker.Worker` runs them with Python functions.

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
