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
  py::class_<PageBase>(module, "Page").def_readonly("cursor", &PageBase::cursor);

  py::class_<PromisePage, PageBase> promises(module, "PromisePage", "A page of promises; see `Page`.");
  def_sequence<Field::promises, &decode_promise<PythonNode>>(promises, "PromisePage", "page_html");
  py::class_<TaskPage, PageBase> tasks(module, "TaskPage", "A page of tasks; see `Page`.");
  def_sequence<Field::tasks, &decode_task<PythonNode>>(tasks, "TaskPage", "page_html");
  py::class_<SchedulePage, PageBase> schedules(module, "SchedulePage", "A page of schedules; see `Page`.");
  def_sequence<Field::schedules, &decode_schedule<PythonNode>>(schedules, "SchedulePage", "page_html");
}

void bind_batch(py::module_& module) {
  py::class_<PromiseBatch> batch(module, "PromiseBatch");
  def_sequence<Field::promises, &decode_promise<PythonNode>>(batch, "PromiseBatch", "page_html");
  batch
      .def_property_readonly("ids",
                             [](const PromiseBatch& self) {
                               py::typing::List<py::str> ids;
                               for (const PromiseRecord& record : self.records) ids.append(py::str(record.row->id()));
                               return ids;
                             })
      .def_property_readonly("states", [](const PromiseBatch& self) {
        py::list states;
        for (const PromiseRecord& record : self.records) states.append(py::str(name_of(record.row->state)));
        return PromiseStateNames(states);
      });
}

void bind_claim(py::module_& module) {
  py::class_<Claim> bound(module, "Claim");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Claim>(data, &claim_from_dict, "data"); },
          py::arg("data"))
      .def_readonly("task", &Claim::task)
      .def_readonly("promise", &Claim::promise)
      .def_property_readonly("preload", [](const Claim& self) { return promises_of(self.preload); })
      .def_readonly("preload_cut", &Claim::preload_cut)
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
  py::class_<Suspension> bound(module, "Suspension");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Suspension>(data, &suspension_from_dict, "data"); },
          py::arg("data"))
      .def_property_readonly("suspended", [](const Suspension& self) { return self.status == status::kOk; })
      .def_readonly("status", &Suspension::status)
      .def_property_readonly("preload", [](const Suspension& self) { return promises_of(self.preload); })
      .def_readonly("preload_cut", &Suspension::preload_cut)
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
  py::class_<Fenced> bound(module, "Fenced");
  bound
      .def_static(
          "from_dict", [](const RecordMembers& data) { return decoded_record<Fenced>(data, &fenced_from_dict, "data"); },
          py::arg("data"))
      .def_readonly("promise", &Fenced::promise)
      .def_property_readonly("preload", [](const Fenced& self) { return promises_of(self.preload); })
      .def_readonly("preload_cut", &Fenced::preload_cut)
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
