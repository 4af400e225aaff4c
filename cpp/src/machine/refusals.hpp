// Building blocks of validation: each returns why a member is refused, or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace resonate {

using Refusal = std::optional<std::string>;

Refusal refuse_text(std::string_view name, std::string_view text);
Refusal refuse_below(std::string_view name, std::int64_t value, std::int64_t least);
// Of a value that is known to be too small.
std::string too_small(std::string_view name, std::int64_t value, std::int64_t least);

template <class... Refusals>
Refusal first(Refusals&&... refusals) {
  Refusal found;
  ((refusals && (found = std::move(refusals), true)) || ...);
  return found;
}

}  // namespace resonate
