// store.jobs: what those ask who enqueue jobs, and the members of a Job that repeat its order. For workers see bind_claims.cpp, for
// operators bind_job_inspection.cpp.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "codec/described_write.hpp"
#include "described_arguments.hpp"
#include "keyword_method.hpp"
#include "python_sink.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using Payloads = Shown<"collections.abc.Iterable[typing.Any]">;
using OptionalIds = Shown<"collections.abc.Iterable[str] | None">;

// A member of an order: its description as an argument of `enqueue`, and as a property of the job if the job has that property.
struct Meaning {
  Field field;
  const char* argument;
  const char* property;
};
constexpr Meaning kMeanings[] = {
    {Field::queue, "The name of the queue; default: \"default\".", "The name of its queue."},
    {Field::tags, "Tags of the promise.", nullptr},
    {Field::priority, "1 (first) to 100 (last); default: 50.", "1 (first) to 100 (last)."},
    {Field::process_at, "The earliest start, in Unix ms.", nullptr},
    {Field::process_in, "The delay until the earliest start, in ms or as a timedelta.", nullptr},
    {Field::good_until, "The job expires if its first attempt has not started by this instant, in Unix ms.",
     "The instant by which it must have started, in Unix ms; None: no limit."},
    {Field::good_for,
     "The job expires if its first attempt has not started this long after it first becomes runnable, in ms or as a timedelta.",
     nullptr},
    {Field::timeout, "The longest duration of one attempt, in ms or as a timedelta.",
     "The longest duration of an attempt, in ms; None: no limit."},
    {Field::deadline, "The deadline of the promise, in Unix ms; default: none.", nullptr},
    {Field::retention, "How long the job is kept after it completed, in ms or as a timedelta; \"kept\": until it is deleted.",
     "How long it is kept after it completed, in ms; None: until it is deleted."},
    {Field::max_retries, "The number of retries.", "The maximum of retries."},
    {Field::retry_policy,
     "{\"kind\": \"fixed\", \"intervals\": [ms, ...]}, {\"kind\": \"exponential\", \"base\": ms, \"factor\", \"cap\": ms, "
     "\"jitter\"} or {\"kind\": \"asynq\"}; with \"codes\": [...] only errors with these codes are retried.",
     "The delays between attempts, as on the wire."},
    {Field::on_exhausted, "\"archived\" or \"failed\": the state after the last retry failed.",
     "The state after the last retry failed: `archived` or `failed`."},
    {Field::lifecycle, "\"asynq\" or \"horsies\": the preset of missing arguments (JOBS 4).", nullptr},
    {Field::unique_key, "A key that at most one job of the queue holds.",
     "The key that no other job of its queue can hold at the same time."},
    {Field::unique_for,
     "The longest time after `sent_at` for which the job holds its key, in ms or as a timedelta; none: until it is final.",
     "The longest time after `sent_at` for which it holds its key, in ms; None: until it is final."},
    {Field::group,
     "The job gathers with the jobs of its queue, type and group until there are enough, none has joined for some time, or the "
     "first has waited long enough (`Queues.set`); then they are claimed together.",
     "The group with which it is batched; None without a group."},
    {Field::cancel_with_awaiters,
     "Whether it is cancelled when a workflow that awaits it is cancelled and no other one awaits it; default: by the lifecycle.",
     nullptr},
    {Field::sent_at, "When the caller sent it, in Unix ms; default: now.", "When the caller sent it, in Unix ms."},
    {Field::type, nullptr, "The name by which a worker finds the function."},
};

constexpr const Meaning* meaning_of(Field field) {
  for (const Meaning& one : kMeanings)
    if (one.field == field) return &one;
  return nullptr;
}

// `enqueue` takes these first, in an order of its own; `enqueue_many` takes no key, which only one job can hold.
enum First : std::size_t { kType, kPayload, kId, kHeaders, kRest };
template <bool Many, class Body>
void each_keyword(Body&& body) {
  each_field<JobOrder>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<JobOrder, I>.field;
    constexpr bool kFirst = kWhich == Field::type || kWhich == Field::payload || kWhich == Field::id;
    constexpr bool kOfOne = kWhich == Field::unique_key || kWhich == Field::unique_for;
    if constexpr (!kFirst && !(Many && kOfOne)) body.template operator()<I>();
  });
}

template <bool Many>
JobOrder order_of(PyObject* const* given) {
  JobOrder order;
  order.type = std::string(text(given[kType], "type"));
  std::size_t place = kRest;
  each_keyword<Many>([&]<std::size_t I>() { set_member<JobOrder, I>(order, given[place++]); });
  return order;
}

JobRecord enqueue(const Jobs& self, PyObject* const* given) {
  JobOrder order = order_of<false>(given);
  order.id = optional_text(given[kId], "id");
  order.payload = value_of(given[kPayload], given[kHeaders], "payload");
  return self.store->run_for_job(JobEnqueue{std::move(order)});
}

JobBatch enqueue_many(const Jobs& self, PyObject* const* given) {
  const JobOrder common = order_of<true>(given);
  const py::object items = fast_sequence(given[kPayload], "payloads", "an iterable of payloads");
  const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
  std::vector<std::string> names;
  if (const py::handle ids = given[kId]; !ids.is_none()) {
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
    order.payload = value_of(PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)), given[kHeaders], "payloads");
    requests.push_back(Request{.operation = JobEnqueue{std::move(order)}});
  }
  PromiseBatch made = self.store->run_all(std::move(requests));
  JobBatch batch;
  batch.rows.reserve(size);
  for (PromiseRecord& record : made.records) batch.rows.push_back(std::move(record.row));
  return batch;
}

// An entry of `Args:`, in lines of at most 130 characters.
std::string explained(const std::string& name, const std::string& words) {
  std::string lines;
  std::string line = "    " + name + ":";
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (line.size() + 1 + end - begin > 130) {
      lines += line + "\n";
      line = "       ";
    }
    line += " " + words.substr(begin, end - begin);
    begin = end + 1;
  }
  return lines + line + "\n";
}

template <auto Function, bool Many>
void bind_enqueue(py::class_<Jobs>& bound, const char* name, const char* payload, const char* id, const char* result,
                  const std::string& before, const std::string& own, const std::string& behind) {
  std::vector<Parameter> parameters = {
      {"type", Given::required}, {payload, Many ? Given::required : Given::optional}, {id}, {"headers"}};
  std::vector<const char*> types = {Str::type_name(), Many ? Payloads::type_name() : AnyValue::type_name(),
                                    Many ? OptionalIds::type_name() : OptionalStr::type_name(), StringMapping::type_name()};
  std::string args = "Args:\n" + own;
  each_keyword<Many>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<JobOrder, I>.field;
    static_assert(meaning_of(kWhich) && meaning_of(kWhich)->argument, "a member of JobOrder without a meaning: see kMeanings");
    parameters.push_back({identifier_of(kWhich)});
    types.push_back(keyword_type<JobOrder, I>());
    args += explained(identifier_of(kWhich), Many ? "See `enqueue`." : meaning_of(kWhich)->argument);
  });
  KeywordMethod<Function>::bind(bound, name, parameters, types, result, before + args + "\n" + behind);
}

}  // namespace

void bind_job_members(py::class_<JobRecord>& bound) {
  each_field<JobSpec>([&]<std::size_t I>() {
    constexpr const auto& rules = kField<JobSpec, I>;
    if constexpr (constexpr const Meaning* kMeaning = meaning_of(rules.field); kMeaning && kMeaning->property) {
      using M = std::remove_cvref_t<decltype(rules.access(std::declval<const JobSpec&>()))>;
      bound.def_property_readonly(
          identifier_of(rules.field),
          [](const JobRecord& self) {
            const M& value = kField<JobSpec, I>.access(*self.row->job->spec);
            if constexpr (std::is_enum_v<M>) {
              return name_of(value);
            } else if constexpr (kIsA<Shared, M>) {
              return value ? std::optional(value->text) : std::nullopt;
            } else if constexpr (Described<M>) {
              PythonSink sink;
              resonate::detail::DescribedWriter<PythonSink>(sink).write(value);
              return JsonDict(sink.take());
            } else if constexpr (kField<JobSpec, I>.omitted_if_unset) {
              return value == kField<JobSpec, I>.unset ? std::nullopt : std::optional(value);
            } else {
              return value;
            }
          },
          kMeaning->property);
    }
  });
}

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
  bind_enqueue<&enqueue, false>(bound, "enqueue", "payload", "id", "resonate_core._core.Job", R"doc(
Enqueue a job, or return the same existing job (JOBS 3). Missing arguments come from the queue's defaults, then the lifecycle.

)doc",
                                R"doc(    type: The name by which a worker finds the function.
    payload: The input of the function: bytes, a `Value`, or any JSON-able object.
    id: The id of the job and its promise; default: generated. A pending promise without a task becomes the job.
    headers: Headers of the payload.
)doc",
                                R"doc(Returns:
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
  bind_enqueue<&enqueue_many, true>(bound, "enqueue_many", "payloads", "ids", "resonate_core._core.JobBatch", R"doc(
Enqueue one job for each payload in one transaction, all or none; like `enqueue` for each, in order.

)doc",
                                    R"doc(    type: The type of the jobs.
    payloads: The payload of each job.
    ids: The id of each job; default: generated.
    headers: See `enqueue`.
)doc",
                                    R"doc(Returns:
    The jobs, in order of the payloads.

Raises:
    Invalid: As for `enqueue`, or `ids` and `payloads` have different lengths. Nothing was enqueued.
    Conflict: As for `enqueue`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> [job.state for job in store.jobs.enqueue_many("t", range(3))]
    ['pending', 'pending', 'pending']
)doc");
  bind_claims(bound);
  bind_job_inspection(bound);
}

}  // namespace resonate::python
