// Errors that are thrown. A refused request (404, 409, ...) is not an error: its status is in the reply.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace resonate {

enum class ErrorCode { invalid, closed, storage, busy, read_only, invariant, unsupported };

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// A violated invariant of PROTOCOL 6.
struct Violation {
  std::string name;    // e.g. acquired_task_no_lease
  std::string id;      // the promise, task, schedule or message
  std::string detail;  // the values found
};

class InvariantError : public Error {
 public:
  explicit InvariantError(std::vector<Violation> violations);
  const std::vector<Violation>& violations() const noexcept { return violations_; }

 private:
  std::vector<Violation> violations_;
};

}  // namespace resonate
