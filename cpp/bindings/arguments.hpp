// Converts Python arguments to C++ values. Every error names the argument: a wrong type is a TypeError, a value that no request can
// carry is Invalid. The engine checks the rules of the protocol (validate.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "instants.hpp"
#include "resonate/records.hpp"
#include "shown.hpp"

namespace resonate::python {

[[noreturn]] void wrong_type(const char* argument, const char* expected, py::handle given);

// The UTF-8 text of a str; valid while the object lives.
std::string_view text(py::handle given, const char* argument);
std::optional<std::string> optional_text(py::handle given, const char* argument);

// An int, or an object with __index__; bool and float are refused.
std::int64_t integer(py::handle given, const char* argument);
std::optional<std::int64_t> optional_integer(py::handle given, const char* argument);

// An int or a float; bool is refused.
double number(py::handle given, const char* argument);

bool boolean(py::handle given, const char* argument);

// Milliseconds: an int, or a timedelta that is a whole number of them.
Duration duration(py::handle given, const char* argument);

// Exactly one of timeout_at= and timeout=; timeout is relative to `now`.
template <class Now>
Instant deadline(py::handle timeout_at, py::handle timeout, Now now);

// A mapping of strings, or None.
StringMap string_map(py::handle given, const char* argument);

// The items of an iterable as a list or tuple; strings, bytes and dicts are refused.
py::object fast_sequence(py::handle given, const char* argument, const char* expected);
// An iterable of strings.
std::vector<std::string> texts(py::handle given, const char* argument);

// A word from a fixed list.
template <class Choice, std::size_t N>
Choice choice(py::handle given, const char* argument, const std::array<std::pair<std::string_view, Choice>, N>& choices);

// --- templates ------------------------------------------------------------------------------------------------------------------

[[noreturn]] void deadline_given_wrong(bool both);
[[noreturn]] void not_a_choice(std::string_view given, const char* argument, const std::vector<std::string_view>& allowed);

template <class Now>
Instant deadline(py::handle timeout_at, py::handle timeout, Now now) {
  if (timeout_at.is_none() == timeout.is_none()) deadline_given_wrong(!timeout.is_none());
  if (!timeout_at.is_none()) return instant(timeout_at, "timeout_at");
  const Duration by = duration(timeout, "timeout");
  if (by < 0) raise(ErrorClass::invalid, "timeout must be at least 0 ms, got " + std::to_string(by));
  return saturating_add(now(), by);
}

template <class Choice, std::size_t N>
Choice choice(py::handle given, const char* argument, const std::array<std::pair<std::string_view, Choice>, N>& choices) {
  const std::string_view word = text(given, argument);
  std::vector<std::string_view> allowed;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    allowed.push_back(name);
  }
  not_a_choice(word, argument, allowed);
}

}  // namespace resonate::python
