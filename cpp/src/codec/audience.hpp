// Who reads what is encoded: storage keeps members that replies do not show.
#pragma once

#include <cstdint>

namespace resonate {

enum class Audience : std::uint8_t { storage, replies };

}  // namespace resonate
