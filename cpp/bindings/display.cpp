#include "display.hpp"

namespace resonate::python {

py::str html(const char* function, py::handle object) {
  return py::module_::import("resonate_core.display").attr(function)(object);
}

}  // namespace resonate::python
