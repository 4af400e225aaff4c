// The search for occurrences: bit scans within a day and a month, one step per month.
#include <algorithm>
#include <bit>

#include "cron_plan.hpp"
#include "machine/calendar.hpp"
#include "resonate/cron.hpp"

namespace resonate {
namespace {

using calendar::floor_div;
using calendar::kSecondsPerDay;

// Returns the lowest set bit at or above `from`, or -1.
template <typename Mask>
int next_bit(Mask mask, int from) {
  const Mask rest = static_cast<Mask>(mask >> from);
  return rest == 0 ? -1 : from + std::countr_zero(rest);
}

int seconds_of(int hour, int minute, int second) { return (hour * 60 + minute) * 60 + second; }

// Returns the first time of day at or after `second_of_day`, or -1.
int next_time(const CronPlan& plan, int second_of_day) {
  const int hour = second_of_day / 3600;
  const int minute = second_of_day / 60 % 60;
  if ((plan.hours >> hour & 1) != 0) {
    if ((plan.minutes >> minute & 1) != 0) {
      const int second = next_bit(plan.seconds, second_of_day % 60);
      if (second >= 0) {
        return seconds_of(hour, minute, second);
      }
    }
    const int later_minute = next_bit(plan.minutes, minute + 1);
    if (later_minute >= 0) {
      return seconds_of(hour, later_minute, std::countr_zero(plan.seconds));
    }
  }
  const int later_hour = next_bit(plan.hours, hour + 1);
  if (later_hour < 0) {
    return -1;
  }
  return seconds_of(later_hour, std::countr_zero(plan.minutes), std::countr_zero(plan.seconds));
}

// Returns the firing days of the month that starts with day number `first` and has `length` days.
std::uint32_t firing_days(const CronPlan& plan, std::int64_t first, int length) {
  const std::uint32_t in_month = (std::uint32_t{2} << length) - 1;
  return plan.days_of_month[static_cast<std::size_t>(calendar::weekday(first))] & in_month;
}

// Returns the first firing day number in [day, last_day].
std::optional<std::int64_t> next_day(const CronPlan& plan, std::int64_t day, std::int64_t last_day) {
  auto [year, month, day_of_month] = calendar::date_of(day);
  std::int64_t first = day - (day_of_month - 1);
  if ((plan.months >> month & 1) == 0) {
    day_of_month = 32;  // no day of this month fires
  }
  while (first <= last_day) {
    if (day_of_month <= 31) {
      const int found = next_bit(firing_days(plan, first, calendar::days_in_month(year, month)), day_of_month);
      if (found >= 0) {
        const std::int64_t result = first + found - 1;
        return result <= last_day ? std::optional(result) : std::nullopt;
      }
    }
    month = next_bit(plan.months, month + 1);
    if (month < 0) {
      month = std::countr_zero(plan.months);
      ++year;
    }
    first = calendar::day_number(year, month, 1);
    day_of_month = 1;
  }
  return std::nullopt;
}

// Returns the first match in [from, to], in seconds of one calendar without zones.
std::optional<std::int64_t> next_match(const CronPlan& plan, std::int64_t from, std::int64_t to) {
  if (from > to) {
    return std::nullopt;
  }
  std::int64_t day = floor_div(from, kSecondsPerDay);
  const std::int64_t last_day = floor_div(to, kSecondsPerDay);
  auto found = next_day(plan, day, last_day);
  if (!found) {
    return std::nullopt;
  }
  int time = *found == day ? next_time(plan, static_cast<int>(from - day * kSecondsPerDay)) : next_time(plan, 0);
  if (time < 0) {
    found = next_day(plan, day + 1, last_day);
    if (!found) {
      return std::nullopt;
    }
    time = next_time(plan, 0);
  }
  const std::int64_t result = *found * kSecondsPerDay + time;
  return result <= to ? std::optional(result) : std::nullopt;
}

// A zone that skips three hours or more has crossed the date line, so the skipped times belong to a day that it never had.
constexpr std::int64_t kLongestSkip = 3 * 3600;

// Returns the local time at which the search begins at `at` in the span. An interval takes what the local clock shows. Other
// expressions fire once for each local time: repeated times are left out, and skipped ones are searched at the start of the span.
std::int64_t search_start(const CronPlan& plan, const TimeZone::Span& span, std::int64_t at) {
  if (plan.interval) return at + span.offset;
  const bool skips = at == span.begin && span.skipped > 0 && span.skipped < kLongestSkip;
  return skips ? at + span.offset - span.skipped : std::max(at, span.begin + span.repeated) + span.offset;
}

// Searches the spans of constant offset.
std::optional<std::int64_t> next_match_in_zone(const CronPlan& plan, std::int64_t from, std::int64_t to) {
  std::optional<std::int64_t> match;
  for (std::int64_t at = from; at <= to;) {
    const TimeZone::Span span = plan.zone->span_at(at);
    const std::int64_t start = search_start(plan, span, at);
    const bool went_back = plan.interval && span.repeated > 0;  // an earlier local time may match than that of the span before
    if (!match || *match < start || went_back) {
      match = next_match(plan, start, to + kSecondsPerDay);  // every offset is shorter than a day
      if (!match) {
        return std::nullopt;
      }
    }
    const std::int64_t instant = std::max(at, *match - span.offset);  // a skipped time fires at the change
    if (instant < span.end) {
      return instant <= to ? std::optional(instant) : std::nullopt;
    }
    at = span.end;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> first_occurrence(const CronPlan& plan, std::int64_t from, std::int64_t to) {
  return plan.zone ? next_match_in_zone(plan, from, to) : next_match(plan, from, to);
}

std::optional<std::int64_t> CronExpression::next_after(std::int64_t ms) const {
  const std::int64_t from = floor_div(ms, 1000) + 1;
  const auto second = first_occurrence(*plan_, from, kLastCronSecond);
  return second ? std::optional(*second * 1000) : std::nullopt;
}

std::optional<std::int64_t> CronExpression::latest_at_or_before(std::int64_t ms, std::int64_t not_before) const {
  const std::int64_t earliest = floor_div(not_before, 1000) + (not_before % 1000 == 0 ? 0 : 1);
  std::int64_t low = std::min(floor_div(ms, 1000), kLastCronSecond);
  std::int64_t high = low;
  // Searches backwards in windows of 1, 2, 4, ... seconds until one contains an occurrence.
  std::optional<std::int64_t> newest;
  for (std::int64_t width = 1; low >= earliest; width *= 2) {
    newest = first_occurrence(*plan_, low, high);
    if (newest) {
      break;
    }
    high = low - 1;
    low = low == earliest ? earliest - 1 : std::max(earliest, low - width);
  }
  if (!newest) {
    return std::nullopt;
  }
  // Finds the last occurrence in that window by bisection.
  for (low = *newest + 1; low <= high;) {
    const std::int64_t middle = low + (high - low) / 2;
    if (const auto later = first_occurrence(*plan_, middle, high)) {
      newest = later;
      low = *later + 1;
    } else {
      high = middle - 1;
    }
  }
  return *newest * 1000;
}

}  // namespace resonate
