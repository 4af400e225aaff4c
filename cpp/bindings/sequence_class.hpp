// Pages and batches: sequences that create a record when it is read. Equal if their records, cursors and instants are.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>
#include <string>

#include "codec/records_decode.hpp"
#include "content_class.hpp"
#include "display.hpp"
#include "instants.hpp"
#include "record_from_dict.hpp"

namespace resonate::python {

namespace py = pybind11;

inline constexpr std::size_t kIdsShown = 5;

// "PromisePage of 2 records: 'a', 'b'; cursor='b'"
template <class Sequence>
std::string sequence_repr(const char* name, const Sequence& self) {
  std::string shown = std::string(name) + " of " + std::to_string(self.size()) + (self.size() == 1 ? " record" : " records");
  for (std::size_t i = 0; i < self.size() && i < kIdsShown; ++i)
    shown += (i == 0 ? ": " : ", ") + std::string(repr_of(py::cast(self.at(i)).attr("id")));
  if (self.size() > kIdsShown) shown += ", ...";
  if constexpr (requires { self.cursor; }) {
    if (self.cursor) shown += "; cursor=" + std::string(repr_of(py::str(*self.cursor)));
  }
  if constexpr (requires { self.next_at; }) {
    if (self.next_at) shown += "; next_at=" + shown_instant(*self.next_at);
  }
  return shown;
}

// The records, then the cursor and the instant of the classes that have them.
template <class Sequence>
py::tuple sequence_members(const Sequence& self) {
  py::tuple records(self.size());
  for (std::size_t i = 0; i < self.size(); ++i) records[i] = self.at(i);
  py::object cursor = py::none(), next_at = py::none();
  if constexpr (requires { self.cursor; }) cursor = py::cast(self.cursor);
  if constexpr (requires { self.next_at; }) next_at = py::cast(self.next_at);
  return py::make_tuple(records, cursor, next_at);
}

template <class Sequence>
Sequence sequence_of(const py::tuple& members) {
  Sequence made;
  for (py::handle record : py::cast<py::tuple>(members[0])) made.append(py::cast<typename Sequence::Record>(record));
  if constexpr (requires { made.cursor; }) made.cursor = py::cast<std::optional<std::string>>(members[1]);
  if constexpr (requires { made.next_at; }) made.next_at = py::cast<std::optional<Instant>>(members[2]);
  return made;
}

// From the data of a reply: the member F has the records.
template <class Sequence, Field F, auto Decode>
Sequence sequence_from_dict(const PythonNode& node) {
  const Members<PythonNode, F, Field::cursor, Field::next_at> members(node, nullptr);
  Sequence made;
  members.template each<F>([&made](const PythonNode& element, const Path& at) { made.append({Decode(element, &at)}); });
  if constexpr (requires { made.cursor; }) made.cursor = members.template optional_text<Field::cursor>();
  if constexpr (requires { made.next_at; }) made.next_at = members.template optional_integer<Field::next_at>();
  return made;
}

// Length, index, slice and iteration.
template <class Sequence, class... Extra>
void def_items(py::class_<Sequence, Extra...>& bound) {
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
      .def("__iter__", [](const Sequence& self) {
        py::list records(self.size());
        for (std::size_t i = 0; i < self.size(); ++i) records[i] = self.at(i);
        return py::typing::Iterator<Record>(py::iter(records));
      });
}

// Decode: of one record.
template <Field F, auto Decode, class Sequence, class... Extra>
void def_sequence(py::class_<Sequence, Extra...>& bound, const char* name, const char* html_function) {
  def_items(bound);
  bound
      .def_static(
          "from_dict",
          [](const RecordMembers& data) {
            return decoded_record<Sequence>(data, &sequence_from_dict<Sequence, F, Decode>, "data");
          },
          py::arg("data"))
      .def("__repr__", [name](const Sequence& self) { return sequence_repr(name, self); })
      .def("_repr_html_", [html_function](const py::object& self) { return html(html_function, self); });
  def_content(bound, &sequence_members<Sequence>, &sequence_of<Sequence>);
}

}  // namespace resonate::python
