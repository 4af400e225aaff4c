// TypeErrors of calls that no bound function takes. pybind11 answers such a call with a dump of every signature; these name the
// argument, and the nearest name where one is misspelt.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace resonate::python {

namespace py = pybind11;

// The message for a keyword that a function does not take.
std::string unexpected_keyword(const char* function, py::handle keyword, const py::list& names);

// Gives every function and constructor of the module a last overload, which is reached by calls that fit no other and raises
// TypeError. Calls that fit cost nothing more; pybind11 converts no argument to fit a call any more, so that a bool is a bool.
// Called once, after everything is bound.
void explain_misuse(py::module_& module);

}  // namespace resonate::python
