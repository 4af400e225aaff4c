// Characters of ASCII: those of other alphabets are left as they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace resonate {

inline bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lowered(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), lower);
  return made;
}

inline std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace resonate
