// What `cron_parse.cpp` makes of a text and `cron_next.cpp` searches: one bit mask a field.
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
  // Both day fields together: days_of_month[w] has a bit 1-31 for each day that fires in a 31-day month whose
  // first day is the weekday w (0 = Sunday). Shorter months ignore the bits past their end.
  std::array<std::uint32_t, 7> days_of_month{};
  std::shared_ptr<const TimeZone> zone;  // null: UTC
};

// The last whole second at which anything fires: 9999-12-31T23:59:59Z.
inline constexpr std::int64_t kLastCronSecond = 253'402'300'799;

// The first occurrence in [from, to], Unix seconds.
std::optional<std::int64_t> first_occurrence(const CronPlan& plan, std::int64_t from, std::int64_t to);

}  // namespace resonate
