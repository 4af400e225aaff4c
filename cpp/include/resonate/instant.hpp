// Instants and durations: integer Unix milliseconds, as everywhere on the wire. Sums saturate (PROTOCOL 8), since clients send
// durations near the end of int64.
#pragma once

#include <cstdint>
#include <limits>

namespace resonate {

using Instant = std::int64_t;   // ms since 1970-01-01T00:00:00Z
using Duration = std::int64_t;  // ms

inline constexpr Instant kNever = std::numeric_limits<Instant>::max();
inline constexpr Instant kUnset = std::numeric_limits<Instant>::min();   // an instant that is not there
inline constexpr Instant kAtOnce = std::numeric_limits<Instant>::min();  // due before every timer

constexpr Instant saturating_add(Instant at, Duration by) noexcept {
  Instant sum = 0;
  if (!__builtin_add_overflow(at, by, &sum)) return sum;
  return by > 0 ? std::numeric_limits<Instant>::max() : std::numeric_limits<Instant>::min();
}

}  // namespace resonate
