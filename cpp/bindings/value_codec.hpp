// Values of the typed calls: Python objects to what is stored, and back. `bytes` go in as they are, a Value goes in raw, everything
// else as UTF-8 JSON; all but a Value in base64, as the published SDKs do (WIRE 6).
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "resonate/records.hpp"

namespace resonate::python {

namespace py = pybind11;

// `argument` names the value in errors. None is no data; headers None are no headers.
Value value_of(py::handle value, py::handle headers, const char* argument);

// The bytes behind a value's data; empty where there are none. Invalid when the data is no base64.
py::bytes decoded_bytes(const Value& value);
py::str decoded_text(const Value& value);
// None where there is no data.
py::object decoded_json(const Value& value);

// None where the value has none.
py::object headers_dict(const Value& value);
py::dict string_dict(const StringMap& map);

}  // namespace resonate::python
