// The common members of record classes: to_dict(), ==, hash by content, repr and HTML.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "display.hpp"
#include "shown.hpp"

namespace resonate::python {

namespace py = pybind11;

template <class Record>
struct RecordTraits {
  JsonDict (*to_dict)(const Record&);
  const char* to_dict_doc;
  bool (*same)(const Record&, const Record&);
  py::tuple (*identity)(const Record&);  // equal for equal records; the hash is computed from it
  std::string (*repr)(const Record&);
  const char* html;  // a function of display.py
};

using Anything = Shown<"object">;
using Truth = Shown<"bool">;  // or NotImplemented

template <class Record>
Truth compared(const Record& self, py::handle other, bool (*same)(const Record&, const Record&), bool when_same) {
  if (!py::isinstance<Record>(other)) return Truth(py::reinterpret_borrow<py::object>(Py_NotImplemented));
  return Truth(py::bool_(same(self, py::cast<const Record&>(other)) == when_same));
}

template <class Record, class... Extra>
void def_record(py::class_<Record, Extra...>& bound, const RecordTraits<Record>& traits) {
  bound.def("to_dict", traits.to_dict, traits.to_dict_doc)
      .def(
          "__eq__", [same = traits.same](const Record& self, const Anything& other) { return compared(self, other, same, true); },
          py::arg("other"), py::pos_only())
      .def(
          "__ne__", [same = traits.same](const Record& self, const Anything& other) { return compared(self, other, same, false); },
          py::arg("other"), py::pos_only())
      .def("__hash__", [identity = traits.identity](const Record& self) { return py::hash(identity(self)); })
      .def("__repr__", traits.repr)
      .def("_repr_html_", [function = traits.html](const py::object& self) { return html(function, self); });
}

}  // namespace resonate::python
