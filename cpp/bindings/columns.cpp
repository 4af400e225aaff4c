#include "columns.hpp"

#include <string>

#include "arguments.hpp"
#include "value_codec.hpp"

namespace resonate::python {

namespace {

// A column as a list or tuple with one item per id; a null object if the column is absent.
py::object column_of(py::handle given, const char* argument, const char* expected, std::size_t size) {
  if (given.is_none()) return {};
  py::object column = fast_sequence(given, argument, expected);
  const auto length = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(column.ptr()));
  if (length != size) {
    raise(ErrorClass::invalid,
          std::string(argument) + " holds " + std::to_string(length) + " items for " + std::to_string(size) + " ids");
  }
  return column;
}

py::handle item(const py::object& column, std::size_t i) {
  return PySequence_Fast_GET_ITEM(column.ptr(), static_cast<Py_ssize_t>(i));
}

}  // namespace

std::vector<Request> creations(const TextColumn& ids, const InstantColumn& timeout_at, const ValueColumn& params,
                               const StringMapping& tags) {
  std::vector<std::string> names = texts(ids, "ids");
  const StringMap shared_tags = string_map(tags, "tags");
  const py::object values = column_of(params, "params", "an iterable of values", names.size());
  const bool one_deadline = PyIndex_Check(timeout_at.ptr()) != 0 || is_datetime(timeout_at);
  const Instant deadline_of_all = one_deadline ? instant(timeout_at, "timeout_at") : 0;
  const py::object deadlines =
      one_deadline ? py::object()
                   : column_of(fast_sequence(timeout_at, "timeout_at",
                                             "an int of Unix milliseconds, an aware datetime, or an iterable of them"),
                               "timeout_at", "", names.size());

  std::vector<Request> requests;
  requests.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    PromiseCreate& create = std::get<PromiseCreate>(requests.emplace_back(Request{.operation = PromiseCreate{}}).operation);
    create.id = std::move(names[i]);
    create.timeout_at = one_deadline ? deadline_of_all : instant(item(deadlines, i), "timeout_at");
    if (values) create.param = value_of(item(values, i), py::none(), "params");
    create.tags = shared_tags;
  }
  return requests;
}

std::vector<Request> settlements(const TextColumn& ids, const ValueColumn& values, std::string_view state) {
  std::vector<std::string> names = texts(ids, "ids");
  const py::object column = column_of(values, "values", "an iterable of values", names.size());
  std::vector<Request> requests;
  requests.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    PromiseSettle& settle = std::get<PromiseSettle>(requests.emplace_back(Request{.operation = PromiseSettle{}}).operation);
    settle.id = std::move(names[i]);
    settle.state = state;
    if (column) settle.value = value_of(item(column, i), py::none(), "values");
  }
  return requests;
}

}  // namespace resonate::python
