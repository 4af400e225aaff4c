// store.jobs: the requests of operators.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "job_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

using RunState = Shown<"typing.Literal['archived', 'retry', 'scheduled']">;
using ArchiveState = Shown<"typing.Literal['pending', 'scheduled', 'retry']">;

JobFilter one(const Str& id) {
  JobFilter filter;
  filter.id = id_of(id);
  return filter;
}

JobFilter all(py::handle state, const OptionalStr& queue, const OptionalStr& type, const StringMapping& tags,
              const OptionalStr& group) {
  JobFilter filter;
  filter.state = optional_text(state, "state");
  filter.queue = optional_text(queue, "queue");
  filter.type = optional_text(type, "type");
  filter.tags = string_map(tags, "tags");
  filter.group = optional_text(group, "group");
  return filter;
}

// A request changes a limited number of jobs, so that other requests run in between.
template <class Operation>
std::int64_t run_all(const Jobs& self, JobFilter filter) {
  std::int64_t count = 0;
  for (;;) {
    const Reply reply = self.store->run(Operation{filter});
    count += reply.jobs->count;
    if (!reply.jobs->more) return count;
    if (PyErr_CheckSignals()) throw py::error_already_set();
  }
}

JobRecord cancel(const Jobs& self, const Str& id) { return self.store->run_for_job(JobCancel{one(id)}); }
JobRecord run(const Jobs& self, const Str& id) { return self.store->run_for_job(JobRun{one(id)}); }
JobRecord archive(const Jobs& self, const Str& id) { return self.store->run_for_job(JobArchive{one(id)}); }
void remove(const Jobs& self, const Str& id) { self.store->run(JobDelete{one(id)}); }

std::int64_t cancel_all(const Jobs& self, const OptionalStr& queue, const OptionalStr& type, const StringMapping& tags,
                        const OptionalStr& group) {
  return run_all<JobCancel>(self, all(py::none(), queue, type, tags, group));
}
std::int64_t run_them_all(const Jobs& self, const RunState& state, const OptionalStr& queue, const OptionalStr& type,
                          const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobRun>(self, all(state, queue, type, tags, group));
}
std::int64_t archive_all(const Jobs& self, const ArchiveState& state, const OptionalStr& queue, const OptionalStr& type,
                         const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobArchive>(self, all(state, queue, type, tags, group));
}
std::int64_t delete_all(const Jobs& self, const JobStateName& state, const OptionalStr& queue, const OptionalStr& type,
                        const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobDelete>(self, all(state, queue, type, tags, group));
}

JobBatch search(const Jobs& self, const OptionalStr& id, const OptionalStr& queue, const OptionalStr& type,
                const OptionalJobState& state, const StringMapping& tags, const OptionalStr& group, const OptionalStr& unique_key,
                const OptionalInt& limit, const OptionalStr& cursor) {
  JobSearch search;
  search.filter = all(state, queue, type, tags, group);
  search.filter.id = optional_text(id, "id");
  search.unique_key = optional_text(unique_key, "unique_key");
  search.limit = optional_integer(limit, "limit");
  search.cursor = optional_text(cursor, "cursor").value_or("");
  Reply reply = self.store->run(std::move(search));
  JobBatch batch;
  batch.cursor = std::move(reply.cursor);
  batch.rows = std::move(reply.rows);
  return batch;
}

}  // namespace

void bind_job_inspection(py::class_<Jobs>& bound) {
  bound
      .def("cancel", &cancel, py::arg("id"), R"doc(
Cancel a job that is not final, and its promise. Its worker is notified by the next heartbeat.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is final.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.cancel("a").state
    'cancelled'
)doc")
      .def("run", &run, py::arg("id"), R"doc(
Make a scheduled, retrying or archived job pending now. Its awaiters keep waiting.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is in another state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
    >>> store.jobs.run("a").enqueued_at
    0
)doc")
      .def("archive", &archive, py::arg("id"), R"doc(
Archive a pending, scheduled or retrying job until a person runs it.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is in another state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.archive("a").state
    'archived'
)doc")
      .def("delete", &remove, py::arg("id"), R"doc(
Delete an unheld job and its promise; a final job is deleted as soon as nothing undelivered refers to it.

Raises:
    NotFound: The job does not exist.
    Conflict: The job is claimed or running, or it is not final and has an awaiter.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.delete("a")
    >>> len(store.jobs.search())
    0
)doc")
      .def("cancel_all", &cancel_all, py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
Cancel all matching jobs that are not final, 1000 per transaction, and return their number. At least one filter is required.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), tags={"resonate:parent": "order:1"})
    >>> store.jobs.cancel_all(tags={"resonate:parent": "order:1"})
    3
)doc")
      .def("run_all", &run_them_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
Run all matching jobs of a state ("archived", "retry" or "scheduled"), 1000 per transaction, and return their number.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), process_in=60_000)
    >>> store.jobs.run_all("scheduled")
    3
)doc")
      .def("archive_all", &archive_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(),
           py::arg("type") = py::none(), py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
Archive all matching jobs of a state ("pending", "scheduled" or "retry"), 1000 per transaction, and return their number.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3))
    >>> store.jobs.archive_all("pending", type="t")
    3
)doc")
      .def("delete_all", &delete_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
Delete all matching jobs of a state (not "claimed" or "running"), 1000 per transaction, and return their number.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3))
    >>> store.jobs.delete_all("pending", queue="default")
    3
)doc");

  KeywordMethod<&search>::bind(
      bound, "search",
      {{{"id", Given::optional}, {"queue"}, {"type"}, {"state"}, {"tags"}, {"group"}, {"unique_key"}, {"limit"}, {"cursor"}}},
      "resonate_core._core.JobBatch", R"doc(
Return a page of the matching jobs, ordered by id.

Args:
    id: A pattern in which `*` stands for any characters.
    queue: The name of the queue.
    type: The type of the jobs.
    state: The current state.
    tags: Tags that a job must have, with these values.
    group: The name of the group.
    unique_key: The unique key.
    limit: The size of the page, 1..1000; default: 100.
    cursor: The `cursor` of the previous page.

Returns:
    A page; its `cursor` is None on the last page.

Raises:
    Invalid: The state is unknown, or the limit is out of range.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), ids=["a", "b", "c"])
    >>> [job.id for job in store.jobs.search(state="pending", limit=2)]
    ['a', 'b']
)doc");
}

}  // namespace resonate::python
