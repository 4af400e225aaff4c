// Pages and batches: sequences that create a record when it is read.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <string>

#include "display.hpp"

namespace resonate::python {

namespace py = pybind11;

template <class Sequence, class... Extra>
void def_sequence(py::class_<Sequence, Extra...>& bound, const char* name, const char* html_function) {
  using Record = typename Sequence::Record;

  bound.def("__len__", &Sequence::size)
      .def(
          "__getitem__",
          [](const Sequence& self, py::ssize_t index) -> Record {
            const auto size = static_cast<py::ssize_t>(self.size());
            const py::ssize_t place = index < 0 ? index + size : index;
            if (place < 0 || place >= size)
              throw py::index_error("index " + std::to_string(index) + " of " + std::to_string(size) + " records");
            return self.at(static_cast<std::size_t>(place));
          },
          py::arg("index"))
      .def(
          "__getitem__",
          [](const Sequence& self, const py::slice& slice) {
            py::ssize_t start = 0, stop = 0, step = 0, length = 0;
            if (!slice.compute(static_cast<py::ssize_t>(self.size()), &start, &stop, &step, &length)) throw py::error_already_set();
            py::typing::List<Record> records;
            for (py::ssize_t i = 0; i < length; ++i, start += step) records.append(self.at(static_cast<std::size_t>(start)));
            return records;
          },
          py::arg("index"))
      // Iterates over a list: an iterator of our own would end with a C++ exception, which costs more than ten records.
      .def("__iter__",
           [](const Sequence& self) {
             py::list records(self.size());
             for (std::size_t i = 0; i < self.size(); ++i) records[i] = self.at(i);
             return py::typing::Iterator<Record>(py::iter(records));
           })
      .def("__repr__",
           [name](const Sequence& self) {
             return std::string(name) + " of " + std::to_string(self.size()) + (self.size() == 1 ? " record" : " records");
           })
      .def("_repr_html_", [html_function](const py::object& self) { return html(html_function, self); });
}

}  // namespace resonate::python
