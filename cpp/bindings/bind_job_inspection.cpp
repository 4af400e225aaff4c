// store.jobs: what an operator asks for.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "job_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

JobFilter one(const Str& id) {
  JobFilter filter;
  filter.id = id_of(id);
  return filter;
}

JobFilter all(const OptionalStr& state, const OptionalStr& queue, const OptionalStr& type, const StringMapping& tags,
              const OptionalStr& group) {
  JobFilter filter;
  filter.state = optional_text(state, "state");
  filter.queue = optional_text(queue, "queue");
  filter.type = optional_text(type, "type");
  filter.tags = string_map(tags, "tags");
  filter.group = optional_text(group, "group");
  return filter;
}

// One request changes a bounded number, so that others get their turn.
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
  return run_all<JobCancel>(self, all(OptionalStr{py::none()}, queue, type, tags, group));
}
std::int64_t run_them_all(const Jobs& self, const Str& state, const OptionalStr& queue, const OptionalStr& type,
                          const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobRun>(self, all(OptionalStr(state), queue, type, tags, group));
}
std::int64_t archive_all(const Jobs& self, const Str& state, const OptionalStr& queue, const OptionalStr& type,
                         const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobArchive>(self, all(OptionalStr(state), queue, type, tags, group));
}
std::int64_t delete_all(const Jobs& self, const Str& state, const OptionalStr& queue, const OptionalStr& type,
                        const StringMapping& tags, const OptionalStr& group) {
  return run_all<JobDelete>(self, all(OptionalStr(state), queue, type, tags, group));
}

JobBatch search(const Jobs& self, const OptionalStr& id, const OptionalStr& queue, const OptionalStr& type,
                const OptionalStr& state, const StringMapping& tags, const OptionalStr& group, const OptionalStr& unique_key,
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
  batch.now = reply.now;
  return batch;
}

}  // namespace

void bind_job_inspection(py::class_<Jobs>& bound) {
  bound
      .def("cancel", &cancel, py::arg("id"), R"doc(
Cancels a job that is not over: its promise is canceled. A worker that runs it hears of it with its next heartbeat.

Raises:
    NotFound: It does not exist.
    Conflict: It is over.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.cancel("a").state
    'cancelled'
)doc")
      .def("run", &run, py::arg("id"), R"doc(
Makes a scheduled, retrying or archived job claimable at once. Whoever awaits its promise goes on waiting for it.

Raises:
    NotFound: It does not exist.
    Conflict: It is in another state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
    >>> store.jobs.run("a").enqueued_at
    0
)doc")
      .def("archive", &archive, py::arg("id"), R"doc(
Puts a pending, scheduled or retrying job aside, for a person to look at.

Raises:
    NotFound: It does not exist.
    Conflict: It is in another state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.archive("a").state
    'archived'
)doc")
      .def("delete", &remove, py::arg("id"), R"doc(
Deletes a job that nobody holds, and its promise with it; one that is over as soon as nothing undelivered refers to it.

Raises:
    NotFound: It does not exist.
    Conflict: It is claimed or running, or it is not over and somebody awaits it.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.jobs.delete("a")
    >>> len(store.jobs.search())
    0
)doc")
      .def("cancel_all", &cancel_all, py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
Cancels all jobs that match and are not over, a thousand a transaction; how many. At least one filter has to be given.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), tags={"resonate:parent": "order:1"})
    >>> store.jobs.cancel_all(tags={"resonate:parent": "order:1"})
    3
)doc")
      .def("run_all", &run_them_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
As `run` for all jobs of a state ("archived", "retry" or "scheduled") that match, a thousand a transaction; how many.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), process_in=60_000)
    >>> store.jobs.run_all("scheduled")
    3
)doc")
      .def("archive_all", &archive_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(),
           py::arg("type") = py::none(), py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
As `archive` for all jobs of a state ("pending", "scheduled" or "retry") that match, a thousand a transaction; how many.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3))
    >>> store.jobs.archive_all("pending", type="t")
    3
)doc")
      .def("delete_all", &delete_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none(), R"doc(
As `delete` for all jobs of a state, but "claimed" and "running", that match, a thousand a transaction; how many.

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
One page of the jobs that match, ordered by id.

Args:
    id: A glob: `*` stands for any characters.
    queue: Of this queue.
    type: Of this type.
    state: In this state now.
    tags: With these tags, all of them.
    group: Of this group.
    unique_key: With this unique key.
    limit: The size of a page, 1..1000; 100 where not given.
    cursor: Of the page before.

Returns:
    The jobs; `cursor` of it for the next page, None on the last.

Raises:
    Invalid: A state that jobs do not have, or a limit outside its bounds.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", range(3), ids=["a", "b", "c"])
    >>> [job.id for job in store.jobs.search(state="pending", limit=2)]
    ['a', 'b']
)doc");
}

}  // namespace resonate::python
