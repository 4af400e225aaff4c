// The representations of records: repr here, HTML by resonate_core/display.py.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "gil.hpp"
#include "instants.hpp"

namespace resonate::python {

namespace py = pybind11;

// "Name(a=1, b='x')", with the repr of each value.
class Repr {
 public:
  explicit Repr(std::string_view name) : out_(std::string(name) + "(") {}

  template <class T>
  Repr& with(const char* name, const T& value) {
    return add(name, std::string(repr_of(object_of(value))));
  }
  Repr& with_instant(const char* name, Instant at) { return add(name, shown_instant(at)); }
  std::string done() const { return out_ + ")"; }

 private:
  Repr& add(const char* name, const std::string& shown) {
    if (!first_) out_ += ", ";
    first_ = false;
    out_ += name;
    out_ += '=';
    out_ += shown;
    return *this;
  }

  template <class T>
  static py::object object_of(const T& value) {
    if constexpr (std::is_base_of_v<py::object, T>) {
      return value;
    } else {
      return py::cast(value);
    }
  }

  std::string out_;
  bool first_ = true;
};

// resonate_core.display.<function>(object)
inline py::str html(const char* function, py::handle object) {
  return call(member_of_module("resonate_core.display", function), object);
}

}  // namespace resonate::python
