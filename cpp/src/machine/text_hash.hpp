// TextHash: lets a hash table of strings be searched by a view, without a copy.
#pragma once

#include <functional>
#include <string_view>

namespace resonate {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

}  // namespace resonate
