// Results that contain several records: pages, batches, claims, suspensions, fenced actions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "display.hpp"
#include "record_types.hpp"
#include "sequence_class.hpp"
#include "shown.hpp"

namespace resonate::python {

namespace {

using Promises = py::typing::List<PromiseRecord>;

Promises promises_of(const std::vector<RowRef>& rows) {
  Promises made;
  for (const RowRef& row : rows) made.append(PromiseRecord{row});
  return made;
}

void bind_pages(py::module_& module) {
  py::class_<PageBase>(module, "Page", R"doc(
One page of a search: a sequence of records, ordered by id (PROTOCOL 3.7).

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create_many(["a", "b", "c"], 1000)
    >>> page = store.promises.search(limit=2)
    >>> [promise.id for promise in page], len(page)
    (['a', 'b'], 2)
    >>> [promise.id for promise in store.promises.search(limit=2, cursor=page.cursor)]
    ['c']
)doc")
      .def_readonly("cursor", &PageBase::cursor, "The cursor of the next page, to be passed unchanged; None on the last page.");

  py::class_<PromisePage, PageBase> promises(module, "PromisePage", "A page of promises; see `Page`.");
  def_sequence(promises, "PromisePage", "page_html");
  py::class_<TaskPage, PageBase> tasks(module, "TaskPage", "A page of tasks; see `Page`.");
  def_sequence(tasks, "TaskPage", "page_html");
  py::class_<SchedulePage, PageBase> schedules(module, "SchedulePage", "A page of schedules; see `Page`.");
  def_sequence(schedules, "SchedulePage", "page_html");
}

void bind_batch(py::module_& module) {
  py::class_<PromiseBatch> batch(module, "PromiseBatch", R"doc(
The promises of `Promises.create_many` or `Promises.settle_many`, in order of the given ids.

A sequence that creates each record on access.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> batch = store.promises.create_many(["a", "b"], 1000)
    >>> batch.ids, batch.states, batch[-1].id
    (['a', 'b'], ['pending', 'pending'], 'b')
)doc");
  def_sequence(batch, "PromiseBatch", "page_html");
  batch
      .def_property_readonly(
          "ids",
          [](const PromiseBatch& self) {
            py::typing::List<py::str> ids;
            for (const PromiseRecord& record : self.records) ids.append(py::str(record.row->id()));
            return ids;
          },
          "All ids.")
      .def_property_readonly(
          "states",
          [](const PromiseBatch& self) {
            py::typing::List<py::str> states;
            for (const PromiseRecord& record : self.records) states.append(py::str(name_of(record.row->state)));
            return states;
          },
          "All states.");
}

void bind_claim(py::module_& module) {
  py::class_<Claim>(module, "Claim", R"doc(
A task that was created or acquired, with its promise (PROTOCOL 3.9, 3.10). Immutable.

If `Tasks.create` found a fulfilled task, `task.state` is `fulfilled`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers", param=[1, 2])
    >>> claim.task.version, claim.promise.param.json(), claim.preload
    (1, [1, 2], [])
)doc")
      .def_readonly("task", &Claim::task, "The task.")
      .def_readonly("promise", &Claim::promise, "Its promise.")
      .def_property_readonly(
          "preload", [](const Claim& self) { return promises_of(self.preload); },
          "The other promises of the same `resonate:branch`, ordered by id (PROTOCOL 3, preload).")
      .def_readonly("preload_cut", &Claim::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__", [](const Claim& self) {
        return Repr("Claim").with("task", self.task).with("promise", self.promise).with("preload", self.preload.size()).done();
      });
}

void bind_suspension(py::module_& module) {
  py::class_<Suspension>(module, "Suspension", R"doc(
The reply to `Tasks.suspend` (PROTOCOL 3.12): the task is suspended, or an awaited promise is settled and it continues. Immutable.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
    >>> _ = store.promises.create("child", timeout=9000)
    >>> store.tasks.suspend("job", claim.task.version, ["child"]).suspended
    True
)doc")
      .def_property_readonly(
          "suspended", [](const Suspension& self) { return self.status == status::kOk; },
          "Whether the task is suspended; False: it stays acquired and continues.")
      .def_readonly("status", &Suspension::status, "200 if it is suspended, 300 if it continues.")
      .def_property_readonly(
          "preload", [](const Suspension& self) { return promises_of(self.preload); },
          "If it continues: the other promises of the same `resonate:branch`, ordered by id.")
      .def_readonly("preload_cut", &Suspension::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__", [](const Suspension& self) {
        return Repr("Suspension").with("suspended", self.status == status::kOk).with("status", self.status).done();
      });
}

void bind_fenced(py::module_& module) {
  py::class_<Fenced>(module, "Fenced", R"doc(
The reply to a fenced action (PROTOCOL 3.14). Immutable.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
    >>> store.tasks.fence_create("job", claim.task.version, "child", timeout=500).promise.id
    'child'
)doc")
      .def_readonly("promise", &Fenced::promise, "The promise that was created or settled.")
      .def_property_readonly(
          "preload", [](const Fenced& self) { return promises_of(self.preload); },
          "The other promises of the task's `resonate:branch`, ordered by id.")
      .def_readonly("preload_cut", &Fenced::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__", [](const Fenced& self) {
        return Repr("Fenced").with("promise", self.promise).with("preload", self.preload.size()).done();
      });
}

}  // namespace

void bind_results(py::module_& module) {
  bind_pages(module);
  bind_batch(module);
  bind_claim(module);
  bind_suspension(module);
  bind_fenced(module);
}

}  // namespace resonate::python
