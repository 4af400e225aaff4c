// Builds Python dicts and lists from what an encoder writes (protocol/node.hpp), with one interned key a field. Needs the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/fields.hpp"
#include "protocol/node.hpp"

namespace resonate::python {

namespace py = pybind11;

class PythonSink {
 public:
  void begin_object() { open(PyDict_New()); }
  void begin_array() { open(PyList_New(0)); }
  void end_object() { close(); }
  void end_array() { close(); }

  void key(Field field) { key_ = py::reinterpret_borrow<py::object>(interned(field)); }
  void key(std::string_view name) { key_ = text(name); }

  void string(std::string_view value) { put(text(value)); }
  void integer(std::int64_t value) { put(py::reinterpret_steal<py::object>(PyLong_FromLongLong(value))); }
  void boolean(bool value) { put(py::bool_(value)); }
  void null() { put(py::none()); }

  // The whole document.
  py::object take() { return std::move(result_); }

 private:
  struct Level {
    py::object container;
    py::object key;  // under which the container goes into the one above
  };

  static py::object text(std::string_view value) {
    auto made = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
    if (!made) throw py::error_already_set();
    return made;
  }

  // Kept for the life of the process, as the interned strings of any module are.
  static PyObject* interned(Field field) {
    static std::array<PyObject*, kFieldCount> keys{};
    PyObject*& key = keys[static_cast<std::size_t>(field)];
    if (!key) {
      const std::string_view name = name_of(field);
      key = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
      if (!key) throw py::error_already_set();
      PyUnicode_InternInPlace(&key);
    }
    return key;
  }

  void open(PyObject* container) {
    if (!container) throw py::error_already_set();
    levels_.push_back({py::reinterpret_steal<py::object>(container), std::move(key_)});
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    key_ = std::move(level.key);
    put(std::move(level.container));
  }

  void put(py::object value) {
    if (!value) throw py::error_already_set();
    if (levels_.empty()) {
      result_ = std::move(value);
      return;
    }
    PyObject* container = levels_.back().container.ptr();
    const int failed = PyDict_CheckExact(container) ? PyDict_SetItem(container, key_.ptr(), value.ptr()) : PyList_Append(container, value.ptr());
    if (failed) throw py::error_already_set();
  }

  std::vector<Level> levels_;
  py::object key_;
  py::object result_;
};
static_assert(DocumentSink<PythonSink>);

}  // namespace resonate::python
