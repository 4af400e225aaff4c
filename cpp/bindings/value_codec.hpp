// Converts values of typed calls to stored values and back. `bytes` and a Value are stored unchanged, other objects as UTF-8 JSON;
// all except a Value in base64, like the published SDKs (WIRE 6).
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "resonate/records.hpp"

namespace resonate::python {

namespace py = pybind11;

// `argument` names the value in errors. None: no data, or no headers.
Value value_of(py::handle value, py::handle headers, const char* argument);

// The bytes of a value's data; empty if it has none. Invalid: the data is not base64.
py::bytes decoded_bytes(const Value& value);
py::str decoded_text(const Value& value);
// None if there is no data.
py::object decoded_json(const Value& value);

// None if there are no headers.
py::object headers_dict(const Value& value);
py::dict string_dict(const StringMap& map);

}  // namespace resonate::python
