#include "arguments.hpp"

#include <datetime.h>

#include "gil.hpp"
#include "resonate/instant.hpp"

namespace resonate::python {

namespace {

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

// PyDateTime_IMPORT needs the GIL and runs once.
bool is_timedelta(PyObject* object) {
  if (!PyDateTimeAPI) {
    PyDateTime_IMPORT;
    if (!PyDateTimeAPI) throw py::error_already_set();
  }
  return PyDelta_Check(object);
}

void add_entry(StringMap& map, py::handle key, py::handle value, const char* argument) {
  if (!PyUnicode_Check(key.ptr())) wrong_type(argument, "a mapping of str to str", key);
  if (!PyUnicode_Check(value.ptr())) wrong_type(argument, "a mapping of str to str", value);
  map.set(std::string(text(key, argument)), std::string(text(value, argument)));
}

}  // namespace

void wrong_type(const char* argument, const char* expected, py::handle given) {
  throw py::type_error(std::string(argument) + " must be " + expected + ", got " + Py_TYPE(given.ptr())->tp_name);
}

void deadline_given_wrong(bool both) {
  throw py::type_error(both ? "timeout_at and timeout must not both be given" : "timeout_at or timeout must be given");
}

void not_a_choice(std::string_view given, const char* argument, const std::vector<std::string_view>& allowed) {
  std::string message = std::string(argument) + " must be one of";
  for (std::size_t i = 0; i < allowed.size(); ++i) message += (i == 0 ? " " : ", ") + quoted(allowed[i]);
  raise(ErrorClass::invalid, message + ", got " + quoted(given));
}

std::string_view text(py::handle given, const char* argument) {
  if (!PyUnicode_Check(given.ptr())) wrong_type(argument, "str", given);
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (!utf8) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw py::error_already_set();
    PyErr_Clear();
    raise(ErrorClass::invalid, std::string(argument) + " must be text that UTF-8 can encode, got a lone surrogate");
  }
  return {utf8, static_cast<std::size_t>(size)};
}

std::optional<std::string> optional_text(py::handle given, const char* argument) {
  if (given.is_none()) return std::nullopt;
  return std::string(text(given, argument));
}

double number(py::handle given, const char* argument) {
  if (PyFloat_Check(given.ptr())) return PyFloat_AS_DOUBLE(given.ptr());
  if (!PyLong_Check(given.ptr()) || PyBool_Check(given.ptr())) wrong_type(argument, "int or float", given);
  return static_cast<double>(integer(given, argument));
}

bool boolean(py::handle given, const char* argument) {
  if (!PyBool_Check(given.ptr())) wrong_type(argument, "bool", given);
  return given.is(py::handle(Py_True));
}

std::int64_t integer(py::handle given, const char* argument) {
  PyObject* object = given.ptr();
  py::object index;
  if (!PyLong_Check(object)) {
    if (!PyIndex_Check(object)) wrong_type(argument, "int", given);
    index = owned(into_python([object] { return PyNumber_Index(object); }));
    object = index.ptr();
  } else if (PyBool_Check(object)) {
    wrong_type(argument, "int", given);
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow) raise(ErrorClass::invalid, std::string(argument) + " must fit into 64 bits");
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

std::optional<std::int64_t> optional_integer(py::handle given, const char* argument) {
  if (given.is_none()) return std::nullopt;
  return integer(given, argument);
}

Duration duration(py::handle given, const char* argument) {
  if (PyLong_CheckExact(given.ptr())) return integer(given, argument);
  if (is_timedelta(given.ptr())) {
    const auto days = static_cast<Duration>(PyDateTime_DELTA_GET_DAYS(given.ptr()));
    const auto seconds = static_cast<Duration>(PyDateTime_DELTA_GET_SECONDS(given.ptr()));
    const auto microseconds = static_cast<Duration>(PyDateTime_DELTA_GET_MICROSECONDS(given.ptr()));
    if (microseconds % 1000 != 0) {
      raise(ErrorClass::invalid,
            std::string(argument) + " must be a whole number of milliseconds, got " + std::string(text_of(given)));
    }
    return days * 86'400'000 + seconds * 1000 + microseconds / 1000;
  }
  if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr()))
    wrong_type(argument, "a duration, an int of milliseconds or a timedelta", given);
  return integer(given, argument);
}

StringMap string_map(py::handle given, const char* argument) {
  StringMap map;
  if (given.is_none()) return map;
  if (PyDict_Check(given.ptr())) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(given.ptr(), &position, &key, &value)) add_entry(map, key, value, argument);
    return map;
  }
  if (!py::hasattr(given, "keys")) wrong_type(argument, "a mapping of str to str", given);
  const py::object items = owned(into_python([given] { return PyMapping_Items(given.ptr()); }));
  for (py::handle item : items) {
    const auto pair = py::cast<py::sequence>(item);
    add_entry(map, py::object(pair[0]), py::object(pair[1]), argument);
  }
  return map;
}

py::object fast_sequence(py::handle given, const char* argument, const char* expected) {
  if (PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()) || PyDict_Check(given.ptr()))
    wrong_type(argument, expected, given);
  auto fast = py::reinterpret_steal<py::object>(into_python([given] { return PySequence_Fast(given.ptr(), ""); }));
  if (fast) return fast;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) || Py_TYPE(given.ptr())->tp_iter) throw py::error_already_set();
  PyErr_Clear();
  wrong_type(argument, expected, given);
}

std::vector<std::string> texts(py::handle given, const char* argument) {
  const py::object items = fast_sequence(given, argument, "an iterable of str");
  std::vector<std::string> result;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.ptr());
  result.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) result.emplace_back(text(PySequence_Fast_GET_ITEM(items.ptr(), i), argument));
  return result;
}

}  // namespace resonate::python
