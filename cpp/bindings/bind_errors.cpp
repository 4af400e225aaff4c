// The table from the core's codes and statuses to Python's exceptions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <vector>

#include "bind.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "resonate/interruption.hpp"

namespace resonate::python {

namespace {

constexpr std::array<const char*, 11> kClassNames = {
    "ResonateError", "Invalid",   "NotFound", "Conflict",    "Unprocessable",      "StoreError",
    "Closed",        "StoreBusy", "ReadOnly", "Unsupported", "InvariantViolation",
};
using Classes = std::array<py::object, kClassNames.size()>;

// Imported at the first error: the package imports errors.py, this module does not.
py::handle class_of(ErrorClass error) {
  static constinit MadeOnce<Classes> kept;
  const Classes& classes = kept.get([] {
    const py::object errors = imported("resonate_core.errors");
    Classes found;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = errors.attr(kClassNames[i]);
    return found;
  });
  return classes[static_cast<std::size_t>(error)];
}

ErrorClass class_of_status(int status) {
  switch (status) {
    case status::kInvalid: return ErrorClass::invalid;
    case status::kNotFound: return ErrorClass::not_found;
    case status::kConflict: return ErrorClass::conflict;
    case status::kUnprocessable: return ErrorClass::unprocessable;
    case status::kFault: return ErrorClass::store_error;
    default: return ErrorClass::resonate_error;
  }
}

ErrorClass class_of_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return ErrorClass::invalid;
    case ErrorCode::closed: return ErrorClass::closed;
    case ErrorCode::storage: return ErrorClass::store_error;
    case ErrorCode::busy: return ErrorClass::store_busy;
    case ErrorCode::read_only: return ErrorClass::read_only;
    case ErrorCode::invariant: return ErrorClass::invariant_violation;
    case ErrorCode::unsupported: return ErrorClass::unsupported;
  }
  return ErrorClass::resonate_error;
}

void set_error(ErrorClass error, const std::string& message) {
  const py::handle type = class_of(error);
  const py::object text = owned(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  const py::object instance = call(type, text);
  PyErr_SetObject(type.ptr(), instance.ptr());
}

void set_violations(const std::vector<Violation>& violations) {
  const py::handle type = class_of(ErrorClass::invariant_violation);
  PyErr_SetObject(type.ptr(), call(type, py::cast(violations)).ptr());
}

}  // namespace

void raise(ErrorClass error, const std::string& message) {
  set_error(error, message);
  throw py::error_already_set();
}

void raise_refusal(int status, const std::string& message) {
  const ErrorClass error = class_of_status(status);
  if (error != ErrorClass::resonate_error) raise(error, message);
  const py::handle type = class_of(error);
  PyErr_SetObject(type.ptr(), call_with(type, py::make_tuple(message), py::dict(py::arg("status") = status)).ptr());
  throw py::error_already_set();
}

void raise_violations(const std::vector<Violation>& violations) {
  set_violations(violations);
  throw py::error_already_set();
}

void bind_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr pending) {
    // An exception that occurs while the error is created, such as a KeyboardInterrupt, replaces it.
    try {
      try {
        if (pending) std::rethrow_exception(pending);
      } catch (const InvariantError& error) {
        set_violations(error.violations());
      } catch (const Error& error) {
        set_error(class_of_code(error.code()), error.what());
      } catch (const Interrupted& interrupted) {
        std::rethrow_exception(interrupted.cause());
      }
    } catch (py::error_already_set& error) {
      error.restore();
    }
  });
}

}  // namespace resonate::python
