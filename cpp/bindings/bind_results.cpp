// Results that contain several records: pages, batches, claims, suspensions, fenced actions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "content_class.hpp"
#include "display.hpp"
#include "record_types.hpp"
#include "sequence_class.hpp"
#include "shown.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

using Promises = py::typing::List<PromiseRecord>;

Promises promises_of(const std::vector<RowRef>& rows) {
  Promises made;
  for (const RowRef& row : rows) made.append(PromiseRecord{row});
  return made;
}

py::tuple tuple_of(const std::vector<RowRef>& rows) {
  py::tuple made(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) made[i] = PromiseRecord{rows[i]};
  return made;
}

std::vector<RowRef> rows_of(const py::handle& promises) {
  std::vector<RowRef> rows;
  for (py::handle one : py::cast<py::tuple>(promises)) rows.push_back(py::cast<PromiseRecord>(one).row);
  return rows;
}

template <class MembersOfReply>
std::vector<RowRef> read_preload(const MembersOfReply& members) {
  std::vector<RowRef> rows;
  if (members.template find_given<Field::preload>()) {
    members.template each<Field::preload>(
        [&rows](const PythonNode& promise, const Path& at) { rows.push_back(decode_promise(promise, &at)); });
  }
  return rows;
}

template <class MembersOfReply>
bool read_preload_cut(const MembersOfReply& members) {
  const PythonNode* cut = members.template find_given<Field::preload_cut>();
  if (cut && cut->type() != NodeType::boolean) refuse_type(*cut, members.path(Field::preload_cut), "a boolean");
  return cut && cut->boolean();
}

template <class MembersOfReply>
PromiseRecord read_promise(const MembersOfReply& members) {
  const Path at = members.path(Field::promise);
  return {decode_promise(members.template need<Field::promise>(), &at)};
}

Claim claim_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::task, Field::promise, Field::preload, Field::preload_cut> members(node, nullptr);
  const Path at = members.path(Field::task);
  return {.task = {decode_task(members.need<Field::task>(), &at)},
          .promise = read_promise(members),
          .preload = read_preload(members),
          .preload_cut = read_preload_cut(members)};
}

Suspension suspension_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::status, Field::preload, Field::preload_cut> members(node, nullptr);
  const std::int64_t status = members.integer<Field::status>();
  if (status != status::kOk && status != status::kRedirect)
    refuse_type(members.need<Field::status>(), members.path(Field::status), "200 or 300");
  return {.status = static_cast<int>(status), .preload = read_preload(members), .preload_cut = read_preload_cut(members)};
}

Fenced fenced_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::promise, Field::preload, Field::preload_cut> members(node, nullptr);
  return {.promise = read_promise(members), .preload = read_preload(members), .preload_cut = read_preload_cut(members)};
}

// The ids of a preload, if it has any.
void show_preload(Repr& shown, const std::vector<RowRef>& rows, bool cut) {
  if (rows.empty()) return;
  py::list ids;
  for (const RowRef& row : rows) ids.append(row->id());
  shown.with("preload", ids);
  if (cut) shown.with("preload_cut", true);
}

py::tuple claim_members(const Claim& self) {
  return py::make_tuple(self.task, self.promise, tuple_of(self.preload), self.preload_cut);
}
Claim claim_of(const py::tuple& members) {
  return {.task = py::cast<TaskRecord>(members[0]),
          .promise = py::cast<PromiseRecord>(members[1]),
          .preload = rows_of(members[2]),
          .preload_cut = py::cast<bool>(members[3])};
}

py::tuple suspension_members(const Suspension& self) {
  return py::make_tuple(self.status, tuple_of(self.preload), self.preload_cut);
}
Suspension suspension_of(const py::tuple& members) {
  return {.status = py::cast<int>(members[0]), .preload = rows_of(members[1]), .preload_cut = py::cast<bool>(members[2])};
}

py::tuple fenced_members(const Fenced& self) { return py::make_tuple(self.promise, tuple_of(self.preload), self.preload_cut); }
Fenced fenced_of(const py::tuple& members) {
  return {
      .promise = py::cast<PromiseRecord>(members[0]), .preload = rows_of(members[1]), .preload_cut = py::cast<bool>(members[2])};
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
  def_sequence<Field::promises, &decode_promise<PythonNode>>(promises, "PromisePage", "page_html");
  py::class_<TaskPage, PageBase> tasks(module, "TaskPage", "A page of tasks; see `Page`.");
  def_sequence<Field::tasks, &decode_task<PythonNode>>(tasks, "TaskPage", "page_html");
  py::class_<SchedulePage, PageBase> schedules(module, "SchedulePage", "A page of schedules; see `Page`.");
  def_sequence<Field::schedules, &decode_schedule<PythonNode>>(schedules, "SchedulePage", "page_html");
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
  def_sequence<Field::promises, &decode_promise<PythonNode>>(batch, "PromiseBatch", "page_html");
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
            py::list states;
            for (const PromiseRecord& record : self.records) states.append(py::str(name_of(record.row->state)));
            return PromiseStateNames(states);
          },
          "All states.");
}

void bind_claim(py::module_& module) {
  py::class_<Claim> bound(module, "Claim", R"doc(
A task that was created or acquired, with its promise (PROTOCOL 3.9, 3.10). Immutable.

If `Tasks.create` found a fulfilled task, `task.state` is `fulfilled`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers", param=[1, 2])
    >>> claim.task.version, claim.promise.param.json(), claim.preload
    (1, [1, 2], [])
)doc");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Claim>(data, &claim_from_dict, "data"); },
          py::arg("data"),
          R"doc(
Return the claim in the `data` of a reply to task.acquire, or to a task.create that acquired its task: `task`, `promise`, and perhaps
`preload` and `preloadCut`.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The data are not a mapping.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers")
    >>> rc.Claim.from_dict({"task": claim.task.to_dict(), "promise": claim.promise.to_dict()}) == claim
    True
)doc")
      .def_readonly("task", &Claim::task, "The task.")
      .def_readonly("promise", &Claim::promise, "Its promise.")
      .def_property_readonly(
          "preload", [](const Claim& self) { return promises_of(self.preload); },
          "The other promises of the same `resonate:branch`, ordered by id (PROTOCOL 3, preload).")
      .def_readonly("preload_cut", &Claim::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__",
           [](const Claim& self) {
             Repr shown("Claim");
             shown.with("task", self.task).with("promise", self.promise);
             show_preload(shown, self.preload, self.preload_cut);
             return shown.done();
           })
      .def("_repr_html_", [](const py::object& self) { return html("claim_html", self); });
  def_content(bound, &claim_members, &claim_of);
}

void bind_suspension(py::module_& module) {
  py::class_<Suspension> bound(module, "Suspension", R"doc(
The reply to `Tasks.suspend` (PROTOCOL 3.12): the task is suspended, or an awaited promise is settled and it continues. Immutable.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
    >>> _ = store.promises.create("child", timeout=9000)
    >>> store.tasks.suspend("job", claim.task.version, ["child"]).suspended
    True
)doc");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Suspension>(data, &suspension_from_dict, "data"); },
          py::arg("data"),
          R"doc(
Return the reply to task.suspend with these members: its `status`, and perhaps `preload` and `preloadCut` of its `data`.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The data are not a mapping.

Example:
    >>> rc.Suspension.from_dict({"status": 300, "preload": []}).suspended
    False
)doc")
      .def_property_readonly(
          "suspended", [](const Suspension& self) { return self.status == status::kOk; },
          "Whether the task is suspended; False: it stays acquired and continues.")
      .def_readonly("status", &Suspension::status, "200 if it is suspended, 300 if it continues.")
      .def_property_readonly(
          "preload", [](const Suspension& self) { return promises_of(self.preload); },
          "If it continues: the other promises of the same `resonate:branch`, ordered by id.")
      .def_readonly("preload_cut", &Suspension::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__",
           [](const Suspension& self) {
             Repr shown("Suspension");
             shown.with("suspended", self.status == status::kOk).with("status", self.status);
             show_preload(shown, self.preload, self.preload_cut);
             return shown.done();
           })
      .def("_repr_html_", [](const py::object& self) { return html("suspension_html", self); });
  def_content(bound, &suspension_members, &suspension_of);
}

void bind_fenced(py::module_& module) {
  py::class_<Fenced> bound(module, "Fenced", R"doc(
The reply to a fenced action (PROTOCOL 3.14). Immutable.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
    >>> store.tasks.fence_create("job", claim.task.version, "child", timeout=500).promise.id
    'child'
)doc");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Fenced>(data, &fenced_from_dict, "data"); },
          py::arg("data"),
          R"doc(
Return the reply to a fenced action with these members: its `promise`, and perhaps `preload` and `preloadCut`.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The data are not a mapping.

Example:
    >>> promise = rc.Store(clock=rc.ManualClock()).promises.create("a", timeout=1000)
    >>> rc.Fenced.from_dict({"promise": promise.to_dict()}).promise == promise
    True
)doc")
      .def_readonly("promise", &Fenced::promise, "The promise that was created or settled.")
      .def_property_readonly(
          "preload", [](const Fenced& self) { return promises_of(self.preload); },
          "The other promises of the task's `resonate:branch`, ordered by id.")
      .def_readonly("preload_cut", &Fenced::preload_cut, "Whether `preload` is incomplete: it is cut at 1 MiB.")
      .def("__repr__",
           [](const Fenced& self) {
             Repr shown("Fenced");
             shown.with("promise", self.promise);
             show_preload(shown, self.preload, self.preload_cut);
             return shown.done();
           })
      .def("_repr_html_", [](const py::object& self) { return html("fenced_html", self); });
  def_content(bound, &fenced_members, &fenced_of);
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
