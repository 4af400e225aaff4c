// Instants and durations: integer Unix milliseconds, as on the wire. Sums saturate (PROTOCOL 8), because clients send durations
// near the end of int64.
#pragma once

#include <cstdint>
#include <limits>

namespace resonate {

using Instant = std::int64_t;   // ms since 1970-01-01T00:00:00Z
using Duration = std::int64_t;  // ms

inline constexpr Instant kNever = std::numeric_limits<Instant>::max();
inline constexpr Instant kUnset = std::numeric_limits<Instant>::min();   // no instant
inline constexpr Instant kAtOnce = std::numeric_limits<Instant>::min();  // before every instant of a timer

constexpr Instant saturating_add(Instant at, Duration by) noexcept {
  Instant sum = 0;
  if (!__builtin_add_overflow(at, by, &sum)) return sum;
  return by > 0 ? std::numeric_limits<Instant>::max() : std::numeric_limits<Instant>::min();
}

// The difference of two instants, or an instant minus a duration. Not saturating_add(at, -by): the least int64 cannot be negated.
constexpr Instant saturating_sub(Instant at, Duration by) noexcept {
  Instant difference = 0;
  if (!__builtin_sub_overflow(at, by, &difference)) return difference;
  return by > 0 ? std::numeric_limits<Instant>::min() : std::numeric_limits<Instant>::max();
}

constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace resonate
