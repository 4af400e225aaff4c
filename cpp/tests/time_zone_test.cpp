// Time zones, and the rule by which a zone continues after the last listed change of its file.
#include "time_zone.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "machine/calendar.hpp"
#include "posix_rule.hpp"

namespace {

using resonate::PosixRule;
using resonate::TimeZone;

constexpr std::int64_t kHour = 3600;

std::int64_t midnight(std::int64_t year, int month, int day) {
  return resonate::calendar::day_number(year, month, day) * resonate::calendar::kSecondsPerDay;
}

TEST(Calendar, GoesThereAndBack) {
  using namespace resonate::calendar;
  EXPECT_EQ(day_number(1970, 1, 1), 0);
  EXPECT_EQ(weekday(0), 4) << "a Thursday";
  EXPECT_EQ(weekday(-5), 6) << "a Saturday";
  for (std::int64_t day = -800'000; day <= 800'000; ++day) {
    const Date date = date_of(day);
    ASSERT_EQ(day_number(date.year, date.month, date.day), day);
    ASSERT_LE(date.day, days_in_month(date.year, date.month));
  }
  EXPECT_EQ(date_of(day_number(-290'000'000, 2, 29)).day, 29);
  EXPECT_EQ(date_of(day_number(290'000'000, 12, 31)).year, 290'000'000);
}

TEST(PosixRuleText, NorthAndSouth) {
  const auto north = PosixRule::parse("EST5EDT,M3.2.0,M11.1.0");
  ASSERT_TRUE(north);
  EXPECT_EQ(north->standard_offset, -5 * kHour);
  EXPECT_EQ(north->summer_offset, -4 * kHour);
  EXPECT_EQ(north->summer_begins(2050), midnight(2050, 3, 13) + 7 * kHour);
  EXPECT_EQ(north->standard_begins(2050), midnight(2050, 11, 6) + 6 * kHour);
  const auto south = PosixRule::parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
  ASSERT_TRUE(south);
  EXPECT_EQ(south->standard_offset, 10 * kHour + 1800);
  EXPECT_EQ(south->summer_offset, 11 * kHour);
}

TEST(PosixRuleText, EveryKindOfDateAndTime) {
  EXPECT_EQ(PosixRule::parse("AAA0BBB,J60/0,J365/0")->summer_begins(2024), midnight(2024, 3, 1)) << "29 February is not counted";
  EXPECT_EQ(PosixRule::parse("AAA0BBB,59/0,365/0")->summer_begins(2024), midnight(2024, 2, 29)) << "here it is";
  EXPECT_EQ(PosixRule::parse("AAA0BBB,M3.5.0/-1,M10.5.0/0")->summer_begins(2024), midnight(2024, 3, 31) - kHour);
  EXPECT_EQ(PosixRule::parse("AAA0BBB,M3.4.4/50,M10.4.4/50")->summer_begins(2024), midnight(2024, 3, 28) + 50 * kHour);
  EXPECT_EQ(PosixRule::parse("AAA0BBB,M2.5.4/1:02:03,M10.4.4")->summer_begins(2024), midnight(2024, 2, 29) + 3723);
  const auto winter_is_the_exception = PosixRule::parse("IST-1GMT0,M10.5.0,M3.5.0/1");
  EXPECT_EQ(winter_is_the_exception->standard_offset, kHour);
  EXPECT_EQ(winter_is_the_exception->summer_offset, 0);
  EXPECT_FALSE(PosixRule::parse("<-03>3")->has_summer);
}

TEST(PosixRuleText, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "5",
                           "EST",
                           "<EST",
                           "<>5",
                           "EST5EDT",
                           "EST5EDT,",
                           "EST5EDT,M3.2.0",
                           "EST5EDT,M3.2.0,",
                           "EST5EDT,M13.2.0,M1.1.0",
                           "EST5EDT,M3.6.0,M1.1.0",
                           "EST5EDT,M3.2.7,M1.1.0",
                           "EST5EDT,J0,J1",
                           "EST5EDT,J366,J1",
                           "EST5EDT,366,1",
                           "EST5EDT,M3.2.0/168,M1.1.0",
                           "EST5EDT,M3.2.0,M11.1.0x",
                           "EST5:60",
                           "EST99999999999",
                           "EST5EDT4:"}) {
    EXPECT_FALSE(PosixRule::parse(text)) << text;
  }
}

TEST(TimeZones, SpansMeetAndShareTheirChange) {
  for (const std::string name : {"America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran", "Etc/GMT+5"}) {
    const auto zone = TimeZone::find(name);
    std::int64_t offset = zone->span_at(INT64_MIN / 4).offset;
    for (std::int64_t at = INT64_MIN / 4; at < midnight(4000, 1, 1);) {
      const TimeZone::Span span = zone->span_at(at);
      ASSERT_LE(span.begin, at) << name;
      ASSERT_LT(at, span.end) << name;
      ASSERT_EQ(zone->span_at(span.end - 1).begin, span.begin) << name;
      ASSERT_EQ(span.repeated, std::max<std::int64_t>(0, offset - span.offset)) << name;
      offset = span.offset;
      at = span.end;
    }
  }
}

TEST(TimeZones, GoOnAfterTheListedChanges) {
  const auto new_york = TimeZone::find("America/New_York");
  for (const std::int64_t year : {2024, 2037, 2038, 2100, 2439, 2440, 2441, 2837, 2840, 9999}) {
    EXPECT_EQ(new_york->span_at(midnight(year, 1, 15)).offset, -5 * kHour) << year;
    EXPECT_EQ(new_york->span_at(midnight(year, 7, 15)).offset, -4 * kHour) << year;
    EXPECT_EQ(new_york->span_at(midnight(year, 12, 15)).offset, -5 * kHour) << year;
  }
  EXPECT_EQ(TimeZone::find("Asia/Tehran")->span_at(midnight(2500, 7, 1)).offset, 3 * kHour + 1800);
}

// On 2018-03-11 the zone changed from standard time to a summer time of the same offset, and follows a rule since. If the
// file lists no later change, the rule must not begin earlier.
TEST(TimeZones, ARuleStartsAfterAChangeThatAltersNoOffset) {
  const auto grand_turk = TimeZone::find("America/Grand_Turk");
  EXPECT_EQ(grand_turk->span_at(midnight(2018, 2, 21)).offset, -4 * kHour);
  EXPECT_EQ(grand_turk->span_at(midnight(2018, 12, 1)).offset, -5 * kHour);
}

TEST(TimeZones, AreSharedAndMayBeMissing) {
  EXPECT_EQ(TimeZone::find("Europe/Berlin"), TimeZone::find("Europe/Berlin"));
  for (const char* name : {"", "Mars/Olympus", "Europe", "../../etc/passwd", "/etc/passwd", "zone.tab", "right/UTC"}) {
    EXPECT_THROW(TimeZone::find(name), std::runtime_error) << name;
  }
  for (const char* name : {"localtime", "posixrules"}) EXPECT_THROW(TimeZone::find(name), std::invalid_argument) << name;
}

}  // namespace
