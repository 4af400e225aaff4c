#pragma once

#include <string>
#include <string_view>

namespace resonate {

// For messages that name a value.
inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace resonate
