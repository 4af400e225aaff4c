#include "value_codec.hpp"

#include <charconv>

#include "arguments.hpp"
#include "codec/base64.hpp"
#include "gil.hpp"

namespace resonate::python {

namespace {

// The output of json.dumps(text, ensure_ascii=False).
std::string json_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

// json.JSONEncoder(...).encode, created once: json.dumps creates an encoder in every call with options.
py::handle json_encode() {
  static constinit MadeOnce<py::object> kept;
  return kept.get([]() -> py::object {
    const py::dict options(py::arg("separators") = py::make_tuple(",", ":"), py::arg("ensure_ascii") = false,
                           py::arg("allow_nan") = false);
    return call_with(member_of_module("json", "JSONEncoder"), py::tuple(), options).attr("encode");
  });
}

py::handle json_loads() {
  static constinit MadeOnce<py::object> kept;
  return kept.get([] { return member_of_module("json", "loads"); });
}

// json.JSONDecoder().scan_once: json.loads without its checks for a byte order mark and white space.
py::handle json_scan() {
  static constinit MadeOnce<py::object> kept;
  return kept.get([]() -> py::object { return call(member_of_module("json", "JSONDecoder")).attr("scan_once"); });
}

// Parses a document that begins and ends with its value. Returns null for any other; json.loads then parses it or raises its error.
py::object scanned(const py::str& document) {
  static PyObject* const kBegin = PyLong_FromLong(0);
  PyObject* const arguments[] = {document.ptr(), kBegin};
  const py::handle scan = json_scan();
  const auto read =
      py::reinterpret_steal<py::object>(into_python([&] { return PyObject_Vectorcall(scan.ptr(), arguments, 2, nullptr); }));
  if (!read) {
    PyErr_Clear();
    return {};
  }
  const Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GET_ITEM(read.ptr(), 1));
  if (end != PyUnicode_GET_LENGTH(document.ptr())) return {};
  return py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(read.ptr(), 0));
}

[[noreturn]] void raise_from_python(const char* argument, const char* what) {
  py::error_already_set cause;
  const std::string reason = text_of(cause.value());
  raise(ErrorClass::invalid, std::string(argument) + what + reason);
}

// Python nests about a thousand levels. Its RecursionError looks like a defect of the program.
[[noreturn]] void raise_too_deep(const char* argument) {
  PyErr_Clear();
  raise(ErrorClass::invalid, std::string(argument) + " must be nested less deeply: Python neither reads nor writes such JSON");
}

std::string json_of(py::handle value, const char* argument) {
  if (PyUnicode_CheckExact(value.ptr())) return json_string(text(value, argument));
  if (value.ptr() == Py_True) return "true";
  if (value.ptr() == Py_False) return "false";
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (!overflow) return std::to_string(number);
  }
  const py::handle encode = json_encode();
  const auto encoded =
      py::reinterpret_steal<py::object>(into_python([&] { return PyObject_CallOneArg(encode.ptr(), value.ptr()); }));
  if (!encoded) {
    if (PyErr_ExceptionMatches(PyExc_ValueError)) raise_from_python(argument, " cannot be written as JSON: ");
    if (PyErr_ExceptionMatches(PyExc_RecursionError)) raise_too_deep(argument);
    throw py::error_already_set();
  }
  return std::string(text(encoded, argument));
}

std::string base64_of_buffer(py::handle value) {
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  std::string encoded = base64_encode({static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)});
  PyBuffer_Release(&view);
  return encoded;
}

std::string bytes_of(const Value& value) {
  if (!value.data) return {};
  auto bytes = base64_decode(*value.data);
  if (!bytes) raise(ErrorClass::invalid, "the data of this value must be base64: read .data");
  return std::move(*bytes);
}

}  // namespace

Value value_of(py::handle value, py::handle headers, const char* argument) {
  Value encoded;
  if (value.is_none()) {
    // nothing given
  } else if (PyUnicode_CheckExact(value.ptr())) {
    encoded.data = base64_encode(json_of(value, argument));
  } else if (PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr()) || PyMemoryView_Check(value.ptr())) {
    encoded.data = base64_of_buffer(value);
  } else if (py::isinstance<Value>(value)) {
    encoded = py::cast<const Value&>(value);
    if (encoded.headers && !headers.is_none()) {
      throw py::type_error("headers must not be given twice: " + std::string(argument) + " is a Value with headers");
    }
  } else {
    encoded.data = base64_encode(json_of(value, argument));
  }
  if (!headers.is_none()) encoded.headers = string_map(headers, "headers");
  return encoded;
}

py::bytes decoded_bytes(const Value& value) { return {bytes_of(value)}; }

py::str decoded_text(const Value& value) {
  const std::string bytes = bytes_of(value);
  auto decoded = py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr));
  if (!decoded) raise_from_python("data", " is no UTF-8 text: ");
  return decoded;
}

py::object decoded_json(const Value& value) {
  if (!value.data || value.data->empty()) return py::none();
  const auto document = decoded_text(value);
  if (py::object read = scanned(document)) return read;
  const py::handle loads = json_loads();
  auto decoded = py::reinterpret_steal<py::object>(into_python([&] { return PyObject_CallOneArg(loads.ptr(), document.ptr()); }));
  if (!decoded) {
    if (PyErr_ExceptionMatches(PyExc_ValueError)) raise_from_python("data", " is no JSON: ");
    if (PyErr_ExceptionMatches(PyExc_RecursionError)) raise_too_deep("data");
    throw py::error_already_set();
  }
  return decoded;
}

py::object headers_dict(const Value& value) {
  if (!value.headers) return py::none();
  return string_dict(*value.headers);
}

py::dict string_dict(const StringMap& map) {
  py::dict made;
  for (const auto& [key, value] : map) made[py::str(key)] = py::str(value);
  return made;
}

}  // namespace resonate::python
