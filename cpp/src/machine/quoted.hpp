#pragma once

#include <string>
#include <string_view>

namespace resonate {

// A value in quotes, for messages.
inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace resonate
