// Record.from_dict(): the inverse of to_dict(), by the decoders of the wire.
#pragma once

#include <pybind11/pybind11.h>

#include "arguments.hpp"
#include "codec/path.hpp"
#include "gil.hpp"
#include "python_node.hpp"
#include "shown.hpp"

namespace resonate::python {

using RecordMembers = Shown<"collections.abc.Mapping[str, typing.Any]">;

// Calls decode(PythonNode), and raises Invalid where it throws Malformed. A mapping that is no dict is copied.
template <class Record>
Record decoded_record(py::handle given, Record (*decode)(const PythonNode&), const char* argument = "members") {
  py::object copy;
  if (!PyDict_Check(given.ptr())) {
    if (!PyMapping_Check(given.ptr()) || !py::hasattr(given, "keys")) wrong_type(argument, "a mapping", given);
    copy = call(reinterpret_cast<PyObject*>(&PyDict_Type), given);
    given = copy;
  }
  try {
    return decode(PythonNode(given.ptr()));
  } catch (const Malformed& malformed) {
    raise(ErrorClass::invalid, malformed.message);
  }
}

}  // namespace resonate::python
