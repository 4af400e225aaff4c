// The bit masks of an expression: made by `cron_parse.cpp`, searched by `cron_next.cpp`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "time_zone.hpp"

namespace resonate {

struct CronPlan {
  std::string text;
  std::uint64_t seconds = 0;  // bits 0-59
  std::uint64_t minutes = 0;  // bits 0-59
  std::uint32_t hours = 0;    // bits 0-23
  std::uint32_t months = 0;   // bits 1-12
  // Both day fields combined: days_of_month[w] has a bit 1-31 for each firing day of a 31-day month whose first day is weekday w (0
  // = Sunday). Shorter months ignore the bits beyond their end.
  std::array<std::uint32_t, 7> days_of_month{};
  // An interval, which follows elapsed time when the zone changes its offset: the second, minute or hour field begins with `*`.
  bool interval = false;
  std::shared_ptr<const TimeZone> zone;  // null: UTC
};

// The last second at which an expression can fire: 9999-12-31T23:59:59Z.
inline constexpr std::int64_t kLastCronSecond = 253'402'300'799;

// Returns the first occurrence in [from, to], in Unix seconds.
std::optional<std::int64_t> first_occurrence(const CronPlan& plan, std::int64_t from, std::int64_t to);

}  // namespace resonate
