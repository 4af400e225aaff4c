// The common members of classes that are immutable and known by their content: ==, hash, pickle and copy.
#pragma once

#include <pybind11/pybind11.h>

#include "shown.hpp"

namespace resonate::python {

namespace py = pybind11;

using Anything = Shown<"object">;
using Truth = Shown<"bool">;  // or NotImplemented

template <class Content, class Same>
Truth compared(const Content& self, py::handle other, const Same& same, bool when_same) {
  if (!py::isinstance<Content>(other)) return Truth(py::reinterpret_borrow<py::object>(Py_NotImplemented));
  return Truth(py::bool_(same(self, py::cast<const Content&>(other)) == when_same));
}

// same(a, b); identity(self): a tuple, equal for equal objects, from which the hash is computed.
template <class Content, class... Extra, class Same, class Identity>
void def_comparisons(py::class_<Content, Extra...>& bound, Same same, Identity identity) {
  bound
      .def(
          "__eq__", [same](const Content& self, const Anything& other) { return compared(self, other, same, true); },
          py::arg("other"), py::pos_only())
      .def(
          "__ne__", [same](const Content& self, const Anything& other) { return compared(self, other, same, false); },
          py::arg("other"), py::pos_only())
      .def("__hash__", [identity](const Content& self) { return py::hash(identity(self)); });
}

// state(self) is pickled; made(state) returns the object again. A copy is the object itself, because it never changes.
template <class Content, class... Extra, class State, class Made>
void def_copies(py::class_<Content, Extra...>& bound, State state, Made made) {
  bound.def(py::pickle(state, made))
      .def("__copy__", [](const py::object& self) { return self; })
      .def(
          "__deepcopy__", [](const py::object& self, const Anything&) { return self; }, py::arg("memo"), py::pos_only());
}

// For a class of a few members: members(self) returns a tuple of all of them, made(tuple) the object again.
template <class Content, class... Extra, class Members, class Made>
void def_content(py::class_<Content, Extra...>& bound, Members members, Made made) {
  def_comparisons(
      bound, [members](const Content& a, const Content& b) { return members(a).equal(members(b)); }, members);
  def_copies(bound, members, made);
}

}  // namespace resonate::python
