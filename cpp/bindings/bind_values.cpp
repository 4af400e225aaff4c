// Value: the param or value of a promise.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "codec/reader.hpp"
#include "keyword_method.hpp"
#include "record_class.hpp"
#include "value_codec.hpp"

namespace resonate::python {

namespace {

Value make_value(const StringMapping& headers, const OptionalStr& data) {
  Value value;
  if (!headers.is_none()) value.headers = string_map(headers, "headers");
  value.data = optional_text(data, "data");
  return value;
}

JsonDict to_dict(const Value& value) {
  py::dict made;
  if (value.headers) made["headers"] = string_dict(*value.headers);
  if (value.data) made["data"] = py::str(*value.data);
  return JsonDict(std::move(made));
}

// Encodes a param, payload or result for the builders of requests in Python.
JsonDict members_of(const AnyValue& value, const StringMapping& headers, const std::string& argument) {
  return to_dict(value_of(value, headers, argument.c_str()));
}

AnyValue json(const Value& value) { return AnyValue(decoded_json(value)); }

std::string repr(const Value& value) {
  constexpr std::size_t kShown = 60;
  Repr shown("Value");
  if (value.headers) shown.with("headers", string_dict(*value.headers));
  if (value.data) shown.with("data", value.data->size() <= kShown ? *value.data : value.data->substr(0, kShown - 3) + "...");
  return shown.done();
}

Value from_dict(const PythonNode& node) { return read_value(node, nullptr); }

bool same(const Value& a, const Value& b) { return a == b; }

py::tuple identity(const Value& value) { return py::make_tuple(value.data, value.headers ? value.headers->size() + 1 : 0); }

}  // namespace

void bind_values(py::module_& module) {
  py::class_<Value> bound(module, "Value", R"doc(
The param or the value of a promise: headers and data, each only if it was given (PROTOCOL 2).

The typed calls take `bytes`, JSON-able objects or a `Value`. A `Value` is stored as it is; its data is base64 by convention and
the engine never decodes it (PROTOCOL 3).

Args:
    headers: Strings by name, or None for no headers.
    data: The raw text, base64 by convention, or None for no data.

Raises:
    TypeError: The headers are not a mapping of strings, or the data is not a string.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> promise = store.promises.create("order:1", timeout=1000, param={"amount": 3})
    >>> promise.param
    Value(data='eyJhbW91bnQiOjN9')
    >>> promise.param.json()
    {'amount': 3}
)doc");
  module.def("value_members", &members_of, py::arg("value"), py::arg("headers"), py::arg("argument"), R"doc(
Return the members of a `Value` on the wire, from what a typed call takes: bytes, a `Value`, or any JSON-able object.

Args:
    value: The given object; None: no data.
    headers: Strings by name, or None.
    argument: The name of the value in errors.

Raises:
    Invalid: It cannot be written as JSON.
    TypeError: Headers are given twice, or are not a mapping of strings.

Example:
    >>> from resonate_core import _core
    >>> _core.value_members({"ok": True}, None, "param")
    {'data': 'eyJvayI6dHJ1ZX0='}
)doc");
  bound.def(py::init(&make_value), py::arg("headers") = py::none(), py::arg("data") = py::none())
      .def_property_readonly(
          "headers", [](const Value& self) { return Shown<"dict[str, str] | None">(headers_dict(self)); }, R"doc(
Strings by name, a new dict each time; None without headers.

Example:
    >>> rc.Value({"trace": "7"}).headers
    {'trace': '7'}
)doc")
      .def_property_readonly(
          "data", [](const Value& self) { return self.data; }, R"doc(
The raw text as it is stored, base64 by convention; None without data.

Example:
    >>> rc.Value(data="aGk=").data
    'aGk='
)doc")
      .def(
          "bytes", [](const Value& self) { return Shown<"builtins.bytes">(decoded_bytes(self)); }, R"doc(
Return the decoded data as bytes; empty without data.

Raises:
    Invalid: The data is not base64; read `data` instead.

Example:
    >>> rc.Value(data="aGk=").bytes()
    b'hi'
)doc")
      .def(
          "text", [](const Value& self) { return decoded_text(self); }, R"doc(
Return the decoded data as UTF-8 text; empty without data.

Raises:
    Invalid: The data is not base64, or the bytes are not UTF-8.

Example:
    >>> rc.Value(data="aGk=").text()
    'hi'
)doc")
      .def(
          "__bool__", [](const Value& self) { return !self.empty(); }, "Whether headers or data were given.");
  // Once for each job that a worker runs.
  KeywordMethod<&json>::bind(bound, "json", {}, "typing.Any", R"doc(
Return the decoded data as JSON; None without data.

Raises:
    Invalid: The data is not base64, or the bytes are not JSON in UTF-8, or are nested too deeply for Python.

Example:
    >>> rc.Value(data="WzEsMl0=").json()
    [1, 2]
)doc");
  def_record(bound, RecordTraits<Value>{.to_dict = to_dict,
                                        .to_dict_doc = R"doc(
Return the value as in an envelope of 2026-04-01: only the members that were given.

Example:
    >>> rc.Value(data="aGk=").to_dict()
    {'data': 'aGk='}
)doc",
                                        .from_dict = from_dict,
                                        .from_dict_doc = R"doc(
Return the value with these members: the inverse of `to_dict`.

Args:
    members: `headers` and `data`, each only if it was given. Unknown members are ignored.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The members are not a mapping.

Example:
    >>> rc.Value.from_dict({"data": "aGk="}).text()
    'hi'
)doc",
                                        .same = same,
                                        .identity = identity,
                                        .repr = repr,
                                        .html = "value_html"});
}

}  // namespace resonate::python
