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
  py::class_<Value> bound(module, "Value");
  module.def("value_members", &members_of, py::arg("value"), py::arg("headers"), py::arg("argument"));
  bound.def(py::init(&make_value), py::arg("headers") = py::none(), py::arg("data") = py::none())
      .def_property_readonly("headers", [](const Value& self) { return Shown<"dict[str, str] | None">(headers_dict(self)); })
      .def_property_readonly("data", [](const Value& self) { return self.data; })
      .def("bytes", [](const Value& self) { return Shown<"builtins.bytes">(decoded_bytes(self)); })
      .def("text", [](const Value& self) { return decoded_text(self); })
      .def("__bool__", [](const Value& self) { return !self.empty(); });
  // Once for each job that a worker runs.
  KeywordMethod<&json>::bind(bound, "json", {}, "typing.Any");
  def_record(
      bound,
      RecordTraits<Value>{
          .to_dict = to_dict, .from_dict = from_dict, .same = same, .identity = identity, .repr = repr, .html = "value_html"});
}

}  // namespace resonate::python
