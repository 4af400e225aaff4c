// Building blocks of validation: each returns why a member is refused, or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace resonate {

using Refusal = std::optional<std::string>;

inline Refusal refuse_text(std::string_view name, const std::string& text) {
  if (text.empty()) return std::string(name) + " must not be empty";
  if (text.find('\0') != std::string::npos) return std::string(name) + " must not hold a NUL character";
  return std::nullopt;
}

inline Refusal refuse_below(std::string_view name, std::int64_t value, std::int64_t least) {
  if (value >= least) return std::nullopt;
  return std::string(name) + " must be at least " + std::to_string(least) + ", got " + std::to_string(value);
}

inline Refusal refuse_outside(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return std::string(name) + " must be within " + std::to_string(least) + ".." + std::to_string(most) + ", got " +
         std::to_string(value);
}

template <class... Refusals>
Refusal first(Refusals&&... refusals) {
  Refusal found;
  ((refusals && (found = std::move(refusals), true)) || ...);
  return found;
}

}  // namespace resonate
