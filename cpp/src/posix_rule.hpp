// The rule by which a zone continues after the last listed change of its file: POSIX's TZ variable as extended by RFC 8536.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace resonate {

struct PosixRule {
  // The day and time of a change, in the local time before the change.
  struct Date {
    enum class Kind { day_without_leap, day_of_year, weekday_of_month };
    Kind kind = Kind::weekday_of_month;
    int month = 0;
    int week = 0;  // 1-5, 5 = last
    int day = 0;   // weekday (0 = Sunday), or day of the year
    std::int64_t time = 7200;

    // The instant of the change in that year, as if the zone were UTC.
    std::int64_t in_year(std::int64_t year) const;
  };

  std::int64_t standard_offset = 0;  // seconds east of UTC
  bool has_summer = false;
  std::int64_t summer_offset = 0;
  Date summer_starts;
  Date summer_ends;

  // The instants (Unix seconds) at which summer and standard time begin in that year.
  std::int64_t summer_begins(std::int64_t year) const { return summer_starts.in_year(year) - standard_offset; }
  std::int64_t standard_begins(std::int64_t year) const { return summer_ends.in_year(year) - summer_offset; }

  // Returns nothing for a text that is not such a rule (`EST5EDT,M3.2.0,M11.1.0` is one).
  static std::optional<PosixRule> parse(std::string_view text);
};

}  // namespace resonate
