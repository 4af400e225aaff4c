// Raises the exceptions of resonate_core/errors.py for the core's refusals and errors. The class is chosen by status or code, never
// by the text of a message; the table is in bind_errors.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "resonate/errors.hpp"
#include "resonate/requests.hpp"

namespace resonate::python {

enum class ErrorClass : std::uint8_t {
  resonate_error,
  invalid,
  not_found,
  conflict,
  unprocessable,
  store_error,
  closed,
  store_busy,
  read_only,
  unsupported,
  invariant_violation,
};

// Needs the GIL.
[[noreturn]] void raise(ErrorClass error, const std::string& message);
// Raises the class for the status of a refused request.
[[noreturn]] void raise_refusal(int status, const std::string& message);
[[noreturn]] void raise_violations(const std::vector<Violation>& violations);

}  // namespace resonate::python
