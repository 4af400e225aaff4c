// Protections that pybind11 leaves to its users: an object without a value cannot be used, and no object can be pickled.
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

}  // namespace

void bind_finished_classes(py::module_& module) {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  // Both are needed: object.__reduce__ would create an object of pybind11's base class, which aborts the process.
  const py::object reduce = py::cpp_function(&refuse_to_reduce, py::name("__reduce__"), py::is_method(module));
  const py::object reduce_ex = py::cpp_function(&refuse_to_reduce, py::name("__reduce_ex__"), py::is_method(module));
  for (const auto& [name, bound] : py::dict(module.attr("__dict__"))) {
    if (!PyType_Check(bound.ptr())) continue;
    auto* const type = reinterpret_cast<PyTypeObject*>(bound.ptr());
    if (!PyType_IsSubtype(type, base)) continue;
    py::detail::get_type_info(type)->operator_new = &refuse_uninitialized;
    py::setattr(bound, "__reduce__", reduce);
    py::setattr(bound, "__reduce_ex__", reduce_ex);
  }
}

}  // namespace resonate::python
