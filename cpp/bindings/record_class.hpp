// The common members of record classes: to_dict(), from_dict(), ==, hash by content, pickle and copy, repr and HTML.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "content_class.hpp"
#include "display.hpp"
#include "record_from_dict.hpp"
#include "shown.hpp"

namespace resonate::python {

namespace py = pybind11;

template <class Record>
struct RecordTraits {
  JsonDict (*to_dict)(const Record&);
  Record (*from_dict)(const PythonNode&);
  bool (*same)(const Record&, const Record&);
  py::tuple (*identity)(const Record&);  // equal for equal records; the hash is computed from it
  std::string (*repr)(const Record&);
  const char* html;  // a function of display.py
};

template <class Record, class... Extra>
void def_record(py::class_<Record, Extra...>& bound, const RecordTraits<Record>& traits) {
  bound.def("to_dict", traits.to_dict)
      .def_static(
          "from_dict",
          [decode = traits.from_dict](const RecordMembers& members) { return decoded_record<Record>(members, decode); },
          py::arg("members"))
      .def("__repr__", traits.repr)
      .def("_repr_html_", [function = traits.html](const py::object& self) { return html(function, self); });
  def_comparisons(bound, traits.same, traits.identity);
  // Pickled as on the wire, so that another version can read it.
  def_copies(bound, traits.to_dict,
             [decode = traits.from_dict](const JsonDict& state) { return decoded_record<Record>(state, decode); });
}

}  // namespace resonate::python
