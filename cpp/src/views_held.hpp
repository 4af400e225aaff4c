// The jobs that workers hold.
#pragma once

#include <vector>

#include "resonate/views.hpp"

namespace resonate {

// No index holds them: each has a timer, its lease or one that is due earlier, and the queues count them. So the first timers are
// read until all are found, up to a limit. `queues`: all.
Leases held_jobs(Storage& storage, const std::vector<QueueRef>& queues);

}  // namespace resonate
