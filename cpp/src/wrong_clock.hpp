// What a wrong clock left behind is put right (docs/decisions/0016).
#pragma once

#include <cstdint>
#include <memory>

#include "resonate/storage.hpp"

namespace resonate {

// What setting the clock of a store back changes.
struct ClockReset {
  Instant from = 0;  // the last instant that the store has seen
  Instant to = 0;
  std::int64_t promises = 0;  // whose instants are others afterwards, those of tasks and jobs among them
  std::int64_t schedules = 0;
  std::int64_t queues = 0;
  std::int64_t messages = 0;
  std::int64_t removed = 0;  // occurrences of schedules ahead of the clock that nobody has begun: they come at their time
};

// A state in memory in which nothing is later than `to`, which is earlier than what `contents` has seen. Says in `done` what is
// another than in `contents`.
std::unique_ptr<Storage> with_clock_set_back(Storage& contents, Instant to, ClockReset& done);

}  // namespace resonate
