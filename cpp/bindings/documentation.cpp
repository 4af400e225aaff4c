// Gives the finished module its docstrings: __doc__ of classes and properties is the text of the stub, that of a function is its
// signature line and the text.
#include "documentation.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "bind.hpp"
#include "gil.hpp"

namespace resonate::python {

namespace {

std::string path_of(const Docstring& one) {
  return *one.class_name ? std::string(one.class_name) + "." + one.name : std::string(one.name);
}

bool is_overload(const Docstring& one, const Docstring& other) noexcept {
  return std::strcmp(one.class_name, other.class_name) == 0 && std::strcmp(one.name, other.name) == 0;
}

[[noreturn]] void refuse(const Docstring& one, const char* reason) {
  throw py::import_error("_core.pyi documents '" + path_of(one) + "', which " + reason);
}

// Null if Python, or pybind11 for a class, made the attribute.
PyMethodDef* definition_of(py::handle attribute) {
  PyObject* function = attribute.ptr();
  if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
  if (PyCFunction_Check(function)) return reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  if (Py_IS_TYPE(function, &PyMethodDescr_Type)) return reinterpret_cast<PyMethodDescrObject*>(function)->d_method;
  return nullptr;
}

// Puts each text behind its signature line. The line of an overload begins with its number.
std::string documented(std::string_view lines, const Docstring* rows, std::size_t count) {
  const bool overloaded = lines.find(")\nOverloaded function.\n\n1. ") != std::string_view::npos;
  std::string made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string next = "\n" + std::to_string(i + 2) + ". ";
    const std::size_t end = overloaded ? lines.find(next) : std::string_view::npos;
    if ((end == std::string_view::npos) != (i + 1 == count)) refuse(*rows, "has another number of overloads");
    made += std::string(lines.substr(0, end)) + "\n" + rows[i].text + "\n";
    lines.remove_prefix(std::min(end, lines.size()));
  }
  return made;
}

void document_function(PyMethodDef& definition, const Docstring* rows, std::size_t count) {
  const std::string text = documented(definition.ml_doc, rows, count);
  std::free(const_cast<char*>(definition.ml_doc));  // NOLINT: pybind11 allocates it so
  definition.ml_doc = strdup(text.c_str());
}

// A new property: before Python 3.12, pybind11's static properties cannot be given another text.
py::object documented_property(py::handle property, const char* text) {
  return call(py::type::handle_of(property), property.attr("fget"), property.attr("fset"), property.attr("fdel"), py::str(text));
}

}  // namespace

void bind_documentation(py::module_& module) {
  const std::span<const Docstring> rows = docstrings();
  for (std::size_t i = 0, count = 1; i < rows.size(); i += count) {
    const Docstring& one = rows[i];
    count = 1;
    while (i + count < rows.size() && is_overload(one, rows[i + count])) ++count;
    if (!*one.name) {
      module.doc() = one.text;
      continue;
    }
    py::object scope = module;
    if (*one.class_name) scope = py::getattr(module, one.class_name, py::none());
    const py::object members = py::getattr(scope, "__dict__", py::dict());
    if (!members.contains(one.name)) refuse(one, "cpp/bindings does not bind");
    py::object attribute = members[one.name];
    if (Py_IS_TYPE(attribute.ptr(), &PyStaticMethod_Type)) attribute = attribute.attr("__func__");
    if (PyMethodDef* const definition = definition_of(attribute)) {
      document_function(*definition, &one, count);
    } else if (PyType_Check(attribute.ptr())) {
      attribute.attr("__doc__") = one.text;
    } else if (PyObject_TypeCheck(attribute.ptr(), &PyProperty_Type)) {
      scope.attr(one.name) = documented_property(attribute, one.text);
    } else {
      refuse(one, "is neither a class, a function nor a property of it");
    }
  }
}

}  // namespace resonate::python
