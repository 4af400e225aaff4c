// store.jobs: the requests of operators.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "job_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

using RunState = Shown<"typing.Literal['archived', 'retry', 'scheduled', 'waiting']">;
using ArchiveState = Shown<"typing.Literal['pending', 'scheduled', 'waiting', 'retry']">;

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
  bound.def("cancel", &cancel, py::arg("id"))
      .def("run", &run, py::arg("id"))
      .def("archive", &archive, py::arg("id"))
      .def("delete", &remove, py::arg("id"))
      .def("cancel_all", &cancel_all, py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none())
      .def("run_all", &run_them_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none())
      .def("archive_all", &archive_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(),
           py::arg("type") = py::none(), py::arg("tags") = py::none(), py::arg("group") = py::none())
      .def("delete_all", &delete_all, py::arg("state"), py::kw_only(), py::arg("queue") = py::none(), py::arg("type") = py::none(),
           py::arg("tags") = py::none(), py::arg("group") = py::none());

  KeywordMethod<&search>::bind(
      bound, "search",
      {{{"id", Given::optional}, {"queue"}, {"type"}, {"state"}, {"tags"}, {"group"}, {"unique_key"}, {"limit"}, {"cursor"}}},
      "resonate_core._core.JobBatch");
}

}  // namespace resonate::python
