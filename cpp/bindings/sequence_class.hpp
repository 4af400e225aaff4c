// Pages and batches: sequences that make a record when one is asked for.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "display.hpp"

namespace resonate::python {

namespace py = pybind11;

// Walks a sequence that the Python object `owner` holds.
template <class Sequence>
struct SequenceIterator {
  py::object owner;
  const Sequence* sequence;
  std::size_t next = 0;
};

template <class Sequence, class... Extra>
void def_sequence(py::module_& module, py::class_<Sequence, Extra...>& bound, const char* name, const char* html_function) {
  using Record = typename Sequence::Record;
  using Iterator = SequenceIterator<Sequence>;

  py::class_<Iterator>(module, ("_" + std::string(name) + "Iterator").c_str())
      .def(
          "__iter__", [](Iterator& self) -> Iterator& { return self; }, py::return_value_policy::reference_internal)
      .def("__next__", [](Iterator& self) -> Record {
        if (self.next >= self.sequence->size()) throw py::stop_iteration();
        return self.sequence->at(self.next++);
      });

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
      .def("__iter__",
           [](const py::object& self) {
             return Iterator{self, &py::cast<const Sequence&>(self)};
           })
      .def("__repr__",
           [name](const Sequence& self) {
             return std::string(name) + " of " + std::to_string(self.size()) + (self.size() == 1 ? " record" : " records");
           })
      .def("_repr_html_", [html_function](const py::object& self) { return html(html_function, self); });
}

}  // namespace resonate::python
