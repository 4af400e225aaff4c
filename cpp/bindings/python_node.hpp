// A Python object as a document of the codec (codec/node.hpp). It needs the GIL and runs no Python code: it reads the storage of
// dicts and lists directly, also of subclasses, so a document cannot change while it is read.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>

#include "codec/node.hpp"

namespace resonate::python {

class PythonNode {
 public:
  explicit PythonNode(PyObject* object) noexcept : object_(object) {}

  NodeType type() const noexcept {
    if (is_plain(object_)) return NodeType::string;
    if (PyUnicode_Check(object_)) return utf8(object_, nullptr) ? NodeType::string : NodeType::bad_string;
    if (PyDict_Check(object_)) return has_string_keys() ? NodeType::object : NodeType::bad_object;
    if (PyBool_Check(object_)) return NodeType::boolean;
    if (PyLong_Check(object_)) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(object_, &overflow);
      return overflow ? NodeType::big_integer : NodeType::integer;
    }
    if (object_ == Py_None) return NodeType::null;
    if (PyList_Check(object_) || PyTuple_Check(object_)) return NodeType::array;
    if (PyFloat_Check(object_)) return NodeType::real;
    return NodeType::other;
  }

  std::int64_t integer() const noexcept {
    int overflow = 0;
    return PyLong_AsLongLongAndOverflow(object_, &overflow);
  }

  bool boolean() const noexcept { return object_ == Py_True; }
  double real() const noexcept { return PyFloat_AS_DOUBLE(object_); }

  std::string_view text() const noexcept {
    if (is_plain(object_)) {
      return {static_cast<const char*>(PyUnicode_DATA(object_)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(object_))};
    }
    Py_ssize_t size = 0;
    const char* bytes = utf8(object_, &size);
    return {bytes, static_cast<std::size_t>(size)};
  }

  template <class F>
  void each_member(F f) const {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(object_, &position, &key, &value)) f(PythonNode(key).text(), PythonNode(value));
  }

  std::size_t size() const noexcept { return static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object_)); }

  template <class F>
  void each_element(F f) const {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object_);
    for (Py_ssize_t i = 0; i < size; ++i) f(PythonNode(PySequence_Fast_GET_ITEM(object_, i)));
  }

 private:
  // A str whose storage is its UTF-8 text, as nearly every one: it can be read without a call.
  static bool is_plain(PyObject* object) noexcept { return PyUnicode_CheckExact(object) && PyUnicode_IS_COMPACT_ASCII(object); }

  // The str object caches the text. Returns null for a lone surrogate.
  static const char* utf8(PyObject* text, Py_ssize_t* size) noexcept {
    const char* bytes = PyUnicode_AsUTF8AndSize(text, size);
    if (!bytes) PyErr_Clear();
    return bytes;
  }

  bool has_string_keys() const noexcept {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(object_, &position, &key, &value)) {
      if (!is_plain(key) && (!PyUnicode_Check(key) || !utf8(key, nullptr))) return false;
    }
    return true;
  }

  PyObject* object_;
};
static_assert(DocumentNode<PythonNode>);

}  // namespace resonate::python
