// store.jobs: the requests of workers.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "described_method.hpp"
#include "job_arguments.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using QueueNames = Shown<"str | collections.abc.Iterable[str] | collections.abc.Mapping[str, int]">;
using Completions = Shown<"collections.abc.Iterable[tuple[str, int, typing.Any]]">;
using Statuses = py::typing::List<py::int_>;

JobClaim claim_of(const QueueNames& queues, const OptionalInt& count, const Str& worker, const DurationArgument& lease,
                  const OptionalDuration& run_lease, const OptionalBool& strict, const OptionalInt& start) {
  return {.queues = queue_choices(queues, "queues"),
          .count = optional_integer(count, "count").value_or(1),
          .worker = std::string(text(worker, "worker")),
          .lease = duration(lease, "lease"),
          .run_lease = optional_duration(run_lease, "run_lease"),
          .strict = !strict.is_none() && boolean(strict, "strict"),
          .start = optional_integer(start, "start").value_or(0)};
}

JobBatch batch_of(Reply&& reply) {
  JobBatch batch;
  batch.rows = std::move(reply.rows);
  if (reply.jobs->next_at != kUnset) batch.next_at = reply.jobs->next_at;
  return batch;
}

JobBatch claim(const Jobs& self, const QueueNames& queues, const OptionalInt& count, const Str& worker,
               const DurationArgument& lease, const OptionalDuration& run_lease, const OptionalBool& strict,
               const OptionalInt& start) {
  return batch_of(self.store->run(claim_of(queues, count, worker, lease, run_lease, strict, start)));
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
                   const OptionalBool& strict, const OptionalInt& start) {
  std::vector<Request> requests;
  const auto add = [&requests](auto&& operation) {
    requests.push_back({.operation = std::move(operation), .statuses_only = true});
  };
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

PromiseRecord run_for_promise(const Jobs& self, Operation&& operation) { return self.store->run_for_promise(std::move(operation)); }

PromisePage run_for_page(const Jobs& self, Operation&& operation) {
  Reply reply = self.store->run(std::move(operation));
  return {{std::move(reply.cursor)}, std::move(reply.rows)};
}

PromiseBatch run_for_promises(const Jobs& self, Operation&& operation) {
  PromiseBatch batch;
  for (RowRef& row : self.store->run_short(std::move(operation)).rows) batch.records.push_back({std::move(row)});
  return batch;
}

JobRecord run_for_job(const Jobs& self, Operation&& operation) { return self.store->run_for_job(std::move(operation)); }

RecordRequest record_request_of(const Jobs&, Operation&& operation) {
  OpenStore::warn_of_tags(operation);
  return {std::get<JobRecordSteps>(std::move(operation))};
}

}  // namespace

void bind_claims(py::module_& module, py::class_<Jobs>& bound) {
  py::class_<RecordRequest>(module, "RecordRequest");
  KeywordMethod<&claim>::bind(bound, "claim",
                              {{{"queues", Given::required},
                                {"count", Given::optional},
                                {"worker", Given::required_keyword},
                                {"lease", Given::required_keyword},
                                {"run_lease"},
                                {"strict"},
                                {"start"}}},
                              "resonate_core._core.JobBatch");

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
                                 Exchanged::type_name());

  DescribedMethod<JobGet, &run_for_job>::bind(bound, "get");
  DescribedMethod<JobStart, &run_for_job>::bind(bound, "start");
  DescribedMethod<JobComplete, &run_for_job>::bind(bound, "complete");
  DescribedMethod<JobFail, &run_for_job>::bind(bound, "fail");
  DescribedMethod<JobRelease, &run_for_job>::bind(bound, "release");
  DescribedMethod<JobSnooze, &run_for_job>::bind(bound, "snooze");
  DescribedMethod<JobReport, &run_for_job>::bind(bound, "report");
  DescribedMethod<JobSuspend, &run_for_job>::bind(bound, "suspend");
  DescribedMethod<JobRecordSteps, &run_for_promises>::bind(bound, "record");
  DescribedMethod<JobReceive, &run_for_promise>::bind(bound, "receive");
  DescribedMethod<JobSend, &run_for_promise>::bind(bound, "send");
  DescribedMethod<JobHistory, &run_for_page>::bind(bound, "history");
  DescribedMethod<JobStartOver, &run_for_job>::bind(bound, "start_over");
  DescribedMethod<JobFork, &run_for_job>::bind(bound, "fork");

  DescribedMethod<JobRecordSteps, &record_request_of>::bind(bound, "_record_request");
  bound.def("start_many", &start_many, py::arg("jobs"), py::kw_only(), py::arg("lease") = py::none())
      .def("complete_many", &complete_many, py::arg("jobs"))
      .def("heartbeat", &heartbeat, py::arg("worker"), py::arg("jobs"));
}

}  // namespace resonate::python
