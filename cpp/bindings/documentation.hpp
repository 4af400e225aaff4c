// The docstrings of the module. They are written in python/resonate_core/_core.pyi; a step of the build makes the table of them.
#pragma once

#include <span>

namespace resonate::python {

struct Docstring {
  const char* class_name;  // empty for the module, its functions and its classes
  const char* name;        // empty for the module
  const char* text;        // of an overloaded function: one row for each overload, in order
};

std::span<const Docstring> docstrings() noexcept;  // in order of the stub; the source is made by cmake/docstrings.py

}  // namespace resonate::python
