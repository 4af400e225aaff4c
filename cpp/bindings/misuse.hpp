// TypeErrors for calls that match no bound function. pybind11 would answer with all signatures; these errors name the argument, and
// the nearest name for a misspelt one.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace resonate::python {

namespace py = pybind11;

// The message for an unknown keyword.
std::string unexpected_keyword(const char* function, py::handle keyword, const py::list& names);

// Adds to every function and constructor of the module a last overload, which raises the TypeError for calls that match no other.
// Matching calls cost nothing more. pybind11 then converts no arguments, so a bool is not accepted as an int. Call it once, after
// everything is bound.
void explain_misuse(py::module_& module);

}  // namespace resonate::python
