#include "job_arguments.hpp"

#include <string_view>

#include "described_arguments.hpp"
#include "gil.hpp"
#include "record_types.hpp"

namespace resonate::python {

namespace {

std::string awaited_id(py::handle given, const char* argument) {
  if (py::isinstance<JobRecord>(given)) return given.cast<const JobRecord&>().row->id();
  return std::string(text(given, argument));
}

}  // namespace

std::vector<std::string> awaited_ids(py::handle given, const char* argument) {
  if (PyUnicode_Check(given.ptr()) || py::isinstance<JobRecord>(given)) return {awaited_id(given, argument)};
  std::vector<std::string> ids;
  const py::object items = fast_sequence(given, argument, "an id, a job, or an iterable of these");
  for (py::handle one : items) ids.push_back(awaited_id(one, argument));
  return ids;
}

JobParent job_parent(py::handle given, const char* argument) {
  if (!py::isinstance<JobRecord>(given)) return described_argument<JobParent>(given, argument);
  const RowRef row = given.cast<const JobRecord&>().row;
  return {.id = row->id(), .version = row->acquisitions};
}

Duration retention(py::handle given, const char* argument) {
  if (!PyUnicode_Check(given.ptr())) {
    const Duration retention = duration(given, argument);
    if (retention < 0)
      raise(ErrorClass::invalid,
            std::string(argument) + " is " + std::to_string(retention) + " ms; it has to be 0 or more, or 'kept'");
    return retention;
  }
  if (const std::string_view word = text(given, argument); word != "kept")
    raise(ErrorClass::invalid, std::string(argument) + " is '" + std::string(word) + "'; it has to be a duration or 'kept'");
  return kKept;
}

std::optional<Duration> optional_duration(py::handle given, const char* argument) {
  if (given.is_none()) return std::nullopt;
  return duration(given, argument);
}

std::vector<QueueChoice> queue_choices(py::handle given, const char* argument) {
  std::vector<QueueChoice> choices;
  if (PyUnicode_Check(given.ptr())) {
    choices.push_back({std::string(text(given, argument)), {}});
  } else if (PyMapping_Check(given.ptr()) && py::hasattr(given, "items")) {
    for (py::handle item : list_of(call_method(given, "items"))) {
      const auto pair = py::reinterpret_borrow<py::sequence>(item);
      const py::object name = pair[0];
      const py::object weight = pair[1];
      choices.push_back({std::string(text(name, argument)), optional_integer(weight, argument)});
    }
  } else {
    for (std::string& name : texts(given, argument)) choices.push_back({std::move(name), {}});
  }
  return choices;
}

}  // namespace resonate::python
