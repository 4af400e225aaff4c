#include "misuse.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "gil.hpp"

namespace resonate::python {

namespace {

[[noreturn]] void explain(const char* signature, const py::tuple& given, const py::dict& named) {
  const py::object message =
      call(member_of_module("resonate_core.base.argument_errors", "explained"), py::str(signature), given, named);
  throw py::type_error(py::cast<std::string>(message));
}

// The first line of a docstring, "name(a: int) -> str"; empty if pybind11 wrote none.
std::string signature_of(py::handle function, std::string_view name) {
  const py::object doc = function.attr("__doc__");
  if (doc.is_none()) return {};
  const auto text = py::cast<std::string>(doc);
  std::string line = text.substr(0, text.find('\n'));
  return line.starts_with(std::string(name) + "(") ? line : std::string();
}

// Keeps the docstring of a function: pybind11 rewrites it for each overload.
class KeptDocstring {
 public:
  explicit KeptDocstring(py::handle function)
      : definition_(reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml), text_(definition_->ml_doc) {}
  KeptDocstring(const KeptDocstring&) = delete;
  KeptDocstring& operator=(const KeptDocstring&) = delete;
  ~KeptDocstring() {
    std::free(const_cast<char*>(definition_->ml_doc));  // NOLINT: pybind11 allocates it so
    definition_->ml_doc = strdup(text_.c_str());
  }

 private:
  PyMethodDef* definition_;
  std::string text_;
};

void add_last_overload(py::handle scope, const char* name, const py::object& attribute) {
  // Python stores a method as an instance method, which contains the function.
  const bool is_method = PyInstanceMethod_Check(attribute.ptr());
  const bool is_static = Py_IS_TYPE(attribute.ptr(), &PyStaticMethod_Type);
  const py::object function = is_method   ? py::reinterpret_borrow<py::object>(PyInstanceMethod_GET_FUNCTION(attribute.ptr()))
                              : is_static ? py::object(attribute.attr("__func__"))
                                          : attribute;
  if (!PyCFunction_Check(function.ptr())) return;
  const std::string signature = signature_of(function, name);
  if (signature.empty()) return;
  const KeptDocstring kept(function);
  const py::name named(name);
  const py::sibling after(is_static ? function : attribute);
  if (!is_method) {
    py::cpp_function(
        [signature](const py::args& given, const py::kwargs& keywords) { explain(signature.c_str(), given, keywords); }, named,
        py::scope(scope), after);
  } else if (std::string_view(name) == "__init__") {
    py::cpp_function([signature](py::detail::value_and_holder&, const py::args& given,
                                 const py::kwargs& keywords) { explain(signature.c_str(), given, keywords); },
                     named, py::is_method(scope), after, py::detail::is_new_style_constructor());
  } else {
    py::cpp_function(
        [signature](py::handle, const py::args& given, const py::kwargs& keywords) { explain(signature.c_str(), given, keywords); },
        named, py::is_method(scope), after);
  }
}

bool is_special(std::string_view name) { return name != "__init__" && name.starts_with("_"); }

void add_last_overloads(py::handle scope) {
  for (const auto& [key, value] : py::dict(py::reinterpret_borrow<py::object>(scope.attr("__dict__")))) {
    const auto name = py::cast<std::string>(key);
    if (!is_special(name)) add_last_overload(scope, name.c_str(), py::reinterpret_borrow<py::object>(value));
  }
}

}  // namespace

std::string unexpected_keyword(const char* function, py::handle keyword, const py::list& names) {
  const py::object message =
      call(member_of_module("resonate_core.base.argument_errors", "unexpected"), py::str(function), keyword, names);
  return py::cast<std::string>(message);
}

void explain_misuse(py::module_& module) {
  add_last_overloads(module);
  for (const auto& [key, value] : py::dict(py::reinterpret_borrow<py::object>(module.attr("__dict__")))) {
    if (PyType_Check(value.ptr())) add_last_overloads(value);
  }
}

}  // namespace resonate::python
