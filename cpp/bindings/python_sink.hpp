// Builds Python dicts and lists from what an encoder writes (codec/node.hpp), with one interned key a field. Needs the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/node.hpp"
#include "resonate/fields.hpp"

namespace resonate::python {

namespace py = pybind11;

class PythonSink {
 public:
  PythonSink() { levels_.reserve(kUsualDepth); }
  PythonSink(const PythonSink&) = delete;
  PythonSink& operator=(const PythonSink&) = delete;

  void begin_object() { open(PyDict_New()); }
  void begin_array() { open(PyList_New(0)); }
  void end_object() { close(); }
  void end_array() { close(); }

  void key(Field field) { key_ = interned(field); }
  void key(std::string_view name) {
    named_ = py::reinterpret_steal<py::object>(text(name));
    key_ = named_.ptr();
  }

  void string(std::string_view value) { put(text(value)); }
  void integer(std::int64_t value) { put(PyLong_FromLongLong(value)); }
  void real(double value) { put(PyFloat_FromDouble(value)); }
  void boolean(bool value) { put(PyBool_FromLong(value)); }
  void null() { put(py::none().release().ptr()); }

  // The whole document.
  py::object take() { return std::move(result_); }

 private:
  static constexpr std::size_t kUsualDepth = 8;

  // New.
  static PyObject* text(std::string_view value) {
    PyObject* const made = PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace");
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

  // A container goes into the one above as soon as it is begun, so that only borrowed pointers are left to keep.
  void open(PyObject* container) {
    put(container);
    levels_.push_back(container);
  }
  void close() { levels_.pop_back(); }

  // Takes the reference.
  void put(PyObject* made) {
    py::object value = py::reinterpret_steal<py::object>(made);
    if (!value) throw py::error_already_set();
    if (levels_.empty()) {
      result_ = std::move(value);
      return;
    }
    PyObject* const container = levels_.back();
    const int failed = PyDict_CheckExact(container) ? PyDict_SetItem(container, key_, made) : PyList_Append(container, made);
    if (failed) throw py::error_already_set();
  }

  std::vector<PyObject*> levels_;  // open containers, each held by the one before or by result_
  PyObject* key_ = nullptr;        // an interned name, or named_
  py::object named_;
  py::object result_;
};
static_assert(DocumentSink<PythonSink>);

}  // namespace resonate::python
