// Proleptic Gregorian arithmetic on int64 day numbers (day 0 = 1970-01-01).
//
// <chrono> has the same functions, but it stores the year in a short, which cannot hold the years that int64 milliseconds reach.
#pragma once

#include <cstdint>

namespace resonate::calendar {

inline constexpr std::int64_t kSecondsPerDay = 86'400;
inline constexpr std::int64_t kDaysPer400Years = 146'097;

struct Date {
  std::int64_t year;
  int month;  // 1-12
  int day;    // 1-31
};

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Years begin in March, so that the leap day is the last day of a year.
constexpr std::int64_t day_number(std::int64_t year, int month, int day) {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = floor_div(y, 400);
  const auto year_of_era = static_cast<int>(y - era * 400);
  const int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPer400Years + day_of_era - 719'468;
}

constexpr Date date_of(std::int64_t day) {
  const std::int64_t shifted = day + 719'468;
  const std::int64_t era = floor_div(shifted, kDaysPer400Years);
  const auto day_of_era = static_cast<unsigned>(shifted - era * kDaysPer400Years);
  const unsigned year_of_era = (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned shifted_month = (5 * day_of_year + 2) / 153;
  const auto month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2 ? 1 : 0), month,
          static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

// 0 is Sunday.
constexpr int weekday(std::int64_t day) {
  const auto w = static_cast<int>((day + 4) % 7);
  return w < 0 ? w + 7 : w;
}

constexpr bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

constexpr int days_in_month(std::int64_t year, int month) {
  if (month == 2) {
    return is_leap(year) ? 29 : 28;
  }
  return 30 + ((month + (month >> 3)) & 1);
}

}  // namespace resonate::calendar
