#include "machine/refusals.hpp"

namespace resonate {

Refusal refuse_text(std::string_view name, std::string_view text) {
  if (text.empty()) return std::string(name) + " must not be empty";
  if (text.find('\0') != std::string_view::npos) return std::string(name) + " must not hold a NUL character";
  return std::nullopt;
}

Refusal refuse_below(std::string_view name, std::int64_t value, std::int64_t least) {
  if (value >= least) return std::nullopt;
  return too_small(name, value, least);
}

std::string too_small(std::string_view name, std::int64_t value, std::int64_t least) {
  return std::string(name) + " must be at least " + std::to_string(least) + ", got " + std::to_string(value);
}

}  // namespace resonate
