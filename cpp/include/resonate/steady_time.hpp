// The steady clock of this machine, for waits. Instants of a store come from its Clock.
#pragma once

#include <chrono>

namespace resonate {

std::chrono::steady_clock::time_point steady_time() noexcept;

}  // namespace resonate
