#include "display.hpp"

#include "gil.hpp"

namespace resonate::python {

py::str html(const char* function, py::handle object) { return call(member_of_module("resonate_core.display", function), object); }

}  // namespace resonate::python
