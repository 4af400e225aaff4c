// Protections that pybind11 leaves to its users: an object without a value cannot be used, and only what is known by its content
// can be pickled.
#include <string>

#include "bind.hpp"
#include "gil.hpp"

namespace resonate::python {

namespace {

// pybind11 allocates uninitialized memory for an object whose __init__ never ran (Class.__new__(Class)), at its first use.
void* refuse_uninitialized(std::size_t) { throw py::type_error("__init__() of this object was never called"); }

[[noreturn]] void refuse_to_reduce(const py::object& self, const py::args&) {
  throw py::type_error("cannot pickle or copy a '" + std::string(py::str(py::type::handle_of(self).attr("__name__"))) +
                       "': pass on its values (to_dict(), ids), or Store.snapshot() of a store");
}

// In every protocol; object.__reduce__ knows nothing of __getstate__ in the oldest two.
py::tuple reduce_to_state(const py::object& self, const py::args&) {
  return py::make_tuple(member_of_module("copyreg", "__newobj__"), py::make_tuple(py::type::of(self)),
                        call_method(self, "__getstate__"));
}

}  // namespace

void bind_finished_classes(py::module_& module) {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  // Both are needed: object.__reduce__ would create an object of pybind11's base class, which aborts the process.
  const py::object refuse = py::cpp_function(&refuse_to_reduce, py::name("__reduce__"), py::is_method(module));
  const py::object refuse_ex = py::cpp_function(&refuse_to_reduce, py::name("__reduce_ex__"), py::is_method(module));
  const py::object reduce = py::cpp_function(&reduce_to_state, py::name("__reduce__"), py::is_method(module));
  const py::object reduce_ex = py::cpp_function(&reduce_to_state, py::name("__reduce_ex__"), py::is_method(module));
  for (const auto& [name, bound] : py::dict(module.attr("__dict__"))) {
    if (!PyType_Check(bound.ptr())) continue;
    auto* const type = reinterpret_cast<PyTypeObject*>(bound.ptr());
    if (!PyType_IsSubtype(type, base)) continue;
    py::detail::get_type_info(type)->operator_new = &refuse_uninitialized;
    const bool pickled = bound.attr("__dict__").contains("__setstate__");
    py::setattr(bound, "__reduce__", pickled ? reduce : refuse);
    py::setattr(bound, "__reduce_ex__", pickled ? reduce_ex : refuse_ex);
  }
}

}  // namespace resonate::python
