// Repairs a state that a wrong clock has moved ahead (docs/decisions/0016).
#pragma once

#include <cstdint>
#include <memory>

#include "resonate/storage.hpp"

namespace resonate {

// The changes that setting the clock of a store back makes, or would make.
struct ClockReset {
  Instant from = 0;  // the last instant that the store has seen
  Instant to = 0;
  std::int64_t promises = 0;  // promises with changed instants, including those of their tasks and jobs
  std::int64_t schedules = 0;
  std::int64_t queues = 0;
  std::int64_t messages = 0;
  std::int64_t removed = 0;  // deleted occurrences that were ahead of the clock and not begun; they are created again at their time
};

// Returns a state in memory in which no instant of an event is later than `to`, which must be earlier than the last instant that
// `contents` has seen. Writes the changes to `done`.
std::unique_ptr<Storage> with_clock_set_back(Storage& contents, Instant to, ClockReset& done);

}  // namespace resonate
