// Cron expressions against tables made by hand.
#include "resonate/cron.hpp"

#include <date/date.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

using resonate::CronExpression;
using resonate::InvalidCron;

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Unix ms of "2024-02-29T12:00:00" or "2024-02-29T12:00:00.999" (UTC).
std::int64_t ms(const std::string& text) {
  const auto number = [&](std::size_t at, std::size_t length) { return std::stoi(text.substr(at, length)); };
  const auto day = date::sys_days(date::year(number(0, 4)) / number(5, 2) / number(8, 2)).time_since_epoch().count();
  const std::int64_t second = (number(11, 2) * 60 + number(14, 2)) * 60 + number(17, 2);
  return (day * std::int64_t{86'400} + second) * 1000 + (text.size() > 19 ? number(20, 3) : 0);
}

std::string iso(std::int64_t instant) {
  return date::format("%FT%T", date::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(instant)));
}

std::vector<std::string> occurrences(const std::string& text, const std::string& after, std::size_t count) {
  const auto cron = CronExpression::parse(text);
  std::vector<std::string> result;
  std::int64_t at = ms(after);
  while (result.size() < count) {
    const auto next = cron.next_after(at);
    if (!next) {
      result.emplace_back("none");
      break;
    }
    EXPECT_GT(*next, at) << text;
    at = *next;
    std::string shown = iso(at);
    if (shown.ends_with(".000")) shown.resize(shown.size() - 4);
    result.push_back(shown);
  }
  return result;
}

struct Row {
  std::string text;
  std::string after;
  std::vector<std::string> expected;

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.text; }
};

class Occurrences : public testing::TestWithParam<Row> {};

TEST_P(Occurrences, FollowEachOther) {
  const Row& row = GetParam();
  EXPECT_EQ(occurrences(row.text, row.after, row.expected.size()), row.expected) << row.text;
}

// 2024-01-01 is a Monday.
INSTANTIATE_TEST_SUITE_P(
    Utc, Occurrences,
    testing::Values(
        Row{"* * * * *", "2024-01-01T00:00:00", {"2024-01-01T00:01:00", "2024-01-01T00:02:00"}},
        Row{"* * * * *", "2024-01-01T00:00:59.999", {"2024-01-01T00:01:00"}},
        Row{"* * * * * *", "2024-01-01T00:00:00.001", {"2024-01-01T00:00:01", "2024-01-01T00:00:02"}},
        Row{"*/20 * * * * *", "2024-01-01T00:00:30", {"2024-01-01T00:00:40", "2024-01-01T00:01:00"}},
        Row{"50/5 59 23 31 12 *", "2024-01-01T00:00:00", {"2024-12-31T23:59:50", "2024-12-31T23:59:55", "2025-12-31T23:59:50"}},
        Row{"5,10-12,50/4 3 * * *",
            "2024-01-01T03:10:00",
            {"2024-01-01T03:11:00", "2024-01-01T03:12:00", "2024-01-01T03:50:00", "2024-01-01T03:54:00", "2024-01-01T03:58:00",
             "2024-01-02T03:05:00"}},
        Row{"7-20/6 * * * *", "2024-01-01T00:00:00", {"2024-01-01T00:07:00", "2024-01-01T00:13:00", "2024-01-01T00:19:00"}},
        Row{"*/90 * * * *", "2024-01-01T00:00:00", {"2024-01-01T01:00:00"}},  // the step exceeds the range: only its start fires
        Row{"0 22/1 * * *", "2024-01-01T00:00:00", {"2024-01-01T22:00:00", "2024-01-01T23:00:00", "2024-01-02T22:00:00"}},
        Row{"0 0 31 * *", "2024-01-31T00:00:00", {"2024-03-31T00:00:00", "2024-05-31T00:00:00"}},
        Row{"0 0 29 2 *", "2096-03-01T00:00:00", {"2104-02-29T00:00:00"}},
        Row{"0 0 * feb *", "2023-02-28T00:00:00", {"2024-02-01T00:00:00"}},
        Row{"0 0 1 JAN-Mar,nov/1 *", "2024-03-01T00:00:00", {"2024-11-01T00:00:00", "2024-12-01T00:00:00", "2025-01-01T00:00:00"}},
        Row{"0 0 * * 0", "2024-01-01T00:00:00", {"2024-01-07T00:00:00", "2024-01-14T00:00:00"}},
        Row{"0 0 * * 7", "2024-01-01T00:00:00", {"2024-01-07T00:00:00", "2024-01-14T00:00:00"}},
        Row{"0 0 * * 5-7", "2024-01-01T00:00:00", {"2024-01-05T00:00:00", "2024-01-06T00:00:00", "2024-01-07T00:00:00"}},
        Row{"0 0 * * mon-FRI/2", "2024-01-01T00:00:00", {"2024-01-03T00:00:00", "2024-01-05T00:00:00", "2024-01-08T00:00:00"}},
        Row{"0 0 * * SUN-TUE", "2024-01-02T00:00:00", {"2024-01-07T00:00:00", "2024-01-08T00:00:00", "2024-01-09T00:00:00"}},
        Row{"0 0 * * 5/1", "2024-01-01T00:00:00", {"2024-01-05T00:00:00", "2024-01-06T00:00:00", "2024-01-07T00:00:00"}},
        Row{"0 0 ? * ?", "2024-01-01T00:00:00", {"2024-01-02T00:00:00"}},
        Row{"0 0 13 * ?", "2024-01-01T00:00:00", {"2024-01-13T00:00:00", "2024-02-13T00:00:00"}},
        Row{" \t0  0\t* * *\r\n", "2024-01-01T00:00:00", {"2024-01-02T00:00:00"}},
        Row{"* * * * *", "1969-12-31T23:58:59.999", {"1969-12-31T23:59:00", "1970-01-01T00:00:00"}},
        Row{"0 0 29 2 *", "1582-10-10T00:00:00", {"1584-02-29T00:00:00"}},
        Row{"59 23 31 12 *", "9998-12-31T23:58:00", {"9998-12-31T23:59:00", "9999-12-31T23:59:00", "none"}}));

INSTANTIATE_TEST_SUITE_P(Words, Occurrences,
                         testing::Values(Row{"@hourly", "2024-02-10T10:30:00", {"2024-02-10T11:00:00"}},
                                         Row{"@daily", "2024-02-10T10:30:00", {"2024-02-11T00:00:00"}},
                                         Row{"@Midnight", "2024-02-10T10:30:00", {"2024-02-11T00:00:00"}},
                                         Row{"@weekly", "2024-02-10T10:30:00", {"2024-02-11T00:00:00", "2024-02-18T00:00:00"}},
                                         Row{"@monthly", "2024-02-10T10:30:00", {"2024-03-01T00:00:00"}},
                                         Row{"@yearly", "2024-02-10T10:30:00", {"2025-01-01T00:00:00"}},
                                         Row{" @ANNUALLY ", "2024-02-10T10:30:00", {"2025-01-01T00:00:00"}},
                                         Row{"CRON_TZ=Asia/Tokyo @daily", "2024-02-10T10:30:00", {"2024-02-10T15:00:00"}}));

// If either day field begins with *, a day must match both fields; otherwise it must match at least one.
INSTANTIATE_TEST_SUITE_P(
    DayRule, Occurrences,
    testing::Values(
        Row{"0 0 13 * FRI", "2024-09-01T00:00:00", {"2024-09-06T00:00:00", "2024-09-13T00:00:00", "2024-09-20T00:00:00"}},
        Row{"0 0 13 * */5", "2024-09-01T00:00:00", {"2024-09-13T00:00:00", "2024-10-13T00:00:00"}},  // a Friday and a Sunday
        Row{"0 0 */10 * MON", "2024-01-01T00:00:00", {"2024-03-11T00:00:00", "2024-04-01T00:00:00"}},
        Row{"0 0 1-31 * MON", "2024-01-01T00:00:00", {"2024-01-02T00:00:00"}},  // a full range counts as a restriction
        Row{"0 0 1,* * MON", "2024-01-01T00:00:00", {"2024-01-02T00:00:00"}},   // so does a * that is not first
        Row{"0 0 *,1 * MON", "2024-01-01T00:00:00", {"2024-01-08T00:00:00"}},
        Row{"0 0 ?/2 * MON", "2024-01-01T00:00:00", {"2024-01-15T00:00:00", "2024-01-29T00:00:00"}},
        Row{"0 0 31 2 MON", "2024-01-01T00:00:00", {"2024-02-05T00:00:00"}},
        Row{"0 0 29 2 */7", "2024-01-01T00:00:00", {"2032-02-29T00:00:00", "2060-02-29T00:00:00"}},
        Row{"0 0 29 2 */7", "2088-03-01T00:00:00", {"2128-02-29T00:00:00"}}));

INSTANTIATE_TEST_SUITE_P(
    Zones, Occurrences,
    testing::Values(
        Row{"CRON_TZ=UTC 0 9 * * *", "2024-03-09T00:00:00", {"2024-03-09T09:00:00"}},
        Row{"CRON_TZ=America/New_York 0 9 * * *", "2024-03-09T00:00:00", {"2024-03-09T14:00:00", "2024-03-10T13:00:00"}},
        // 2024-03-10 02:00-03:00 is skipped, 2024-11-03 01:00-02:00 occurs twice. A skipped time fires at the change.
        Row{"CRON_TZ=America/New_York 30 2 * * *",
            "2024-03-09T00:00:00",
            {"2024-03-09T07:30:00", "2024-03-10T07:00:00", "2024-03-11T06:30:00"}},
        Row{"CRON_TZ=America/New_York 0,30 2 * * *", "2024-03-10T00:00:00", {"2024-03-10T07:00:00", "2024-03-11T06:00:00"}},
        Row{"CRON_TZ=America/New_York 15 30 2 * * *", "2024-03-10T00:00:00", {"2024-03-10T07:00:00", "2024-03-11T06:30:15"}},
        Row{"CRON_TZ=America/New_York */10 2 * * *", "2024-03-10T00:00:00", {"2024-03-11T06:00:00"}},
        Row{"CRON_TZ=America/New_York 30 2 * * *", "2024-03-10T07:00:00", {"2024-03-11T06:30:00"}},
        Row{"CRON_TZ=America/New_York */30 2-3 * * *", "2024-03-10T00:00:00", {"2024-03-10T07:00:00", "2024-03-10T07:30:00"}},
        Row{"CRON_TZ=America/New_York 30 1 * * *", "2024-11-03T00:00:00", {"2024-11-03T05:30:00", "2024-11-04T06:30:00"}},
        Row{"CRON_TZ=America/New_York 30 1 * * *", "2024-11-03T06:00:00", {"2024-11-04T06:30:00"}},  // within the repeated hour
        // An interval continues in the repeated hour.
        Row{"CRON_TZ=America/New_York 0 * * * *",
            "2024-11-03T04:30:00",
            {"2024-11-03T05:00:00", "2024-11-03T06:00:00", "2024-11-03T07:00:00"}},
        Row{"CRON_TZ=America/New_York */30 1 * * *",
            "2024-11-03T05:00:00",
            {"2024-11-03T05:30:00", "2024-11-03T06:00:00", "2024-11-03T06:30:00", "2024-11-04T06:00:00"}},
        Row{"CRON_TZ=America/New_York */20 30 1 * * *",
            "2024-11-03T05:30:00",
            {"2024-11-03T05:30:20", "2024-11-03T05:30:40", "2024-11-03T06:30:00"}},
        Row{"CRON_TZ=America/New_York 59 0-23 * * *", "2024-11-03T05:30:00", {"2024-11-03T05:59:00", "2024-11-03T07:59:00"}},
        // The clock moves half an hour back at 2024-04-07 02:00, and forward at 2024-10-06 02:00.
        Row{"CRON_TZ=Australia/Lord_Howe */15 1-2 7 4 *",
            "2024-04-06T14:30:00",
            {"2024-04-06T14:45:00", "2024-04-06T15:00:00", "2024-04-06T15:15:00", "2024-04-06T15:30:00", "2024-04-06T15:45:00"}},
        Row{"CRON_TZ=Australia/Lord_Howe 45 1 * * *", "2024-04-06T14:30:00", {"2024-04-06T14:45:00", "2024-04-07T15:15:00"}},
        Row{"CRON_TZ=Australia/Lord_Howe 10 2 * * *", "2024-10-05T00:00:00", {"2024-10-05T15:30:00", "2024-10-06T15:10:00"}},
        Row{"CRON_TZ=Australia/Lord_Howe */15 2 6 10 *", "2024-10-05T00:00:00", {"2024-10-05T15:30:00", "2024-10-05T15:45:00"}},
        Row{"CRON_TZ=Europe/Berlin 30 2 31 3 *", "2024-01-01T00:00:00", {"2024-03-31T01:00:00", "2025-03-31T00:30:00"}},
        Row{"CRON_TZ=America/Sao_Paulo @daily", "2018-11-03T12:00:00", {"2018-11-04T03:00:00", "2018-11-05T02:00:00"}},
        Row{"CRON_TZ=America/Sao_Paulo @daily", "2018-02-17T01:30:00", {"2018-02-17T02:00:00", "2018-02-18T03:00:00"}},
        Row{"CRON_TZ=Europe/Dublin 30 1 27 10 *", "2024-01-01T00:00:00", {"2024-10-27T00:30:00"}},  // summer time is standard
        // The clock moves one hour back for Ramadan, at 2024-03-10 03:00.
        Row{"CRON_TZ=Africa/Casablanca 30 2 * * *", "2024-03-09T12:00:00", {"2024-03-10T01:30:00", "2024-03-11T02:30:00"}},
        Row{"CRON_TZ=Asia/Tehran 0 12 1 7 *", "2022-01-01T00:00:00", {"2022-07-01T07:30:00", "2023-07-01T08:30:00"}},
        Row{"CRON_TZ=Asia/Kathmandu 0 0 * * *", "2024-01-01T00:00:00", {"2024-01-01T18:15:00"}},
        Row{"CRON_TZ=Pacific/Apia 0 12 * 12 *", "2011-12-29T00:00:00", {"2011-12-29T22:00:00", "2011-12-30T22:00:00"}},  // no 30th
        // The zone files list changes up to 2037; a rule gives the later changes.
        Row{"CRON_TZ=America/New_York 0 9 1 1,7 *", "2050-01-01T15:00:00", {"2050-07-01T13:00:00", "2051-01-01T14:00:00"}},
        Row{"CRON_TZ=Europe/Berlin 30 2 27 3 *", "2050-01-01T00:00:00", {"2050-03-27T01:00:00", "2051-03-27T00:30:00"}},
        Row{"CRON_TZ=Australia/Sydney 0 0 1 1,7 *", "9998-12-31T14:00:00", {"9999-06-30T14:00:00", "9999-12-31T13:00:00", "none"}},
        // This local time is skipped every year since 2007: an interval has no occurrence, a time of day fires at the change.
        Row{"CRON_TZ=America/New_York */30 2 8-14 3 */7", "2024-01-01T00:00:00", {"none"}},
        Row{"CRON_TZ=America/New_York 30 2 8-14 3 */7", "2024-01-01T00:00:00", {"2024-03-10T07:00:00", "2025-03-09T07:00:00"}}));

struct Refusal {
  std::string text;
  std::string says;

  friend void PrintTo(const Refusal& row, std::ostream* out) { *out << testing::PrintToString(row.text); }
};

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithFieldValueAndRule) {
  const Refusal& row = GetParam();
  try {
    CronExpression::parse(row.text);
    FAIL() << row.text << " was accepted";
  } catch (const InvalidCron& error) {
    EXPECT_NE(std::string(error.what()).find(row.says), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Refused,
    testing::Values(
        Refusal{"", "must have 5 fields, or 6 with leading seconds, got 0"},
        Refusal{" \t ", "must have 5 fields, or 6 with leading seconds, got 0"},
        Refusal{"* * * *", "\"* * * *\": must have 5 fields, or 6 with leading seconds, got 4"},
        Refusal{"* * * * * * *", "must have 5 fields, or 6 with leading seconds, got 7"},
        Refusal{"60 * * * *", "minute \"60\": a value must be within 0-59, got \"60\""},
        Refusal{"60 * * * * *", "second \"60\": a value must be within 0-59, got \"60\""},
        Refusal{"0 24 * * *", "hour \"24\": a value must be within 0-23, got \"24\""},
        Refusal{"0 0 0 * *", "day-of-month \"0\": a value must be within 1-31, got \"0\""},
        Refusal{"0 0 1-32 * *", "a value must be within 1-31, got \"32\""},
        Refusal{"0 0 * 13 *", "month \"13\": a value must be within 1-12, got \"13\""},
        Refusal{"0 0 * 0 *", "within 1-12, got \"0\""},
        Refusal{"0 0 * * 8", "day-of-week \"8\": a value must be within 0-7, got \"8\""},
        Refusal{"99999999999999999999999 * * * *", "must be within 0-59"}, Refusal{"-1 * * * *", "a value must not be empty"},
        Refusal{"+1 * * * *", "a value must be a whole number within 0-59, got \"+1\""},
        Refusal{"1.5 * * * *", "whole number within 0-59, got \"1.5\""}, Refusal{"*/0 * * * *", "a step must be at least 1, got 0"},
        Refusal{"*/ * * * *", "a step must be a whole number, got \"\""},
        Refusal{"*/-2 * * * *", "a step must be a whole number, got \"-2\""},
        Refusal{"*/2/2 * * * *", "a step must be a whole number, got \"2/2\""}, Refusal{"/2 * * * *", "a value must not be empty"},
        Refusal{"1,,2 * * * *", "minute \"1,,2\": an item of a list must not be empty"}, Refusal{"1, * * * *", "must not be empty"},
        Refusal{", * * * *", "must not be empty"}, Refusal{"1- * * * *", "a value must not be empty"},
        Refusal{"1-2-3 * * * *", "whole number within 0-59, got \"2-3\""},
        Refusal{"*-5 * * * *", "whole number within 0-59, got \"*\""}, Refusal{"** * * * *", "\"**\""},
        Refusal{"5*  * * * *", "\"5*\""}, Refusal{"30-10 * * * *", "a range must not decrease, got \"30-10\""},
        Refusal{"0 0 * * FRI-SUN", "got \"FRI-SUN\"; write Sunday as 7 at the end of a range"},
        Refusal{"0 0 * * 6-1", "must not decrease, got \"6-1\""}, Refusal{"0 0 * NOV-FEB *", "must not decrease, got \"NOV-FEB\""},
        Refusal{"0 0 * * MONDAY", "a value must be a whole number within 0-7 or a name from SUN to SAT, got \"MONDAY\""},
        Refusal{"0 0 * JULY *", "or a name from JAN to DEC"}, Refusal{"0 0 * MON *", "month \"MON\""},
        Refusal{"MON * * * *", "minute \"MON\""}, Refusal{"? * * * *", "minute \"?\": ? is allowed only in the two day fields"},
        Refusal{"0 0 L * *", "day-of-month \"L\": the extensions L, W and # are not supported"},
        Refusal{"0 0 l-3 * *", "extensions"}, Refusal{"0 0 15W * *", "extensions"}, Refusal{"0 0 LW * *", "extensions"},
        Refusal{"0 0 * * 5L", "extensions"}, Refusal{"0 0 * * MON#2", "extensions"},
        Refusal{"@every 1h", "\"@every\": must name calendar times"}, Refusal{"@reboot", "\"@reboot\": must name calendar times"},
        Refusal{"@fortnightly", "must be one of @hourly"}, Refusal{"@", "must be one of @hourly"},
        Refusal{"@daily 5", "\"5\": must be absent after @daily"},
        Refusal{"0 0 31 2 *", "\"0 0 31 2 *\": must have an occurrence, but never fires"}, Refusal{"0 0 30 FEB *", "never fires"},
        Refusal{"0 0 31 2,4,6,9,11 */2", "never fires"}, Refusal{"CRON_TZ=UTC 0 0 31 4 ?", "never fires"},
        Refusal{"CRON_TZ=Mars/Olympus 0 0 * * *", "\"CRON_TZ=Mars/Olympus\": must name a time zone of the system"},
        Refusal{"CRON_TZ=europe/berlin 0 0 * * *", "must name a time zone of the system"},
        Refusal{"CRON_TZ=../../etc/passwd 0 0 * * *", "must name a time zone of the system"},
        Refusal{"CRON_TZ=localtime 0 0 * * *", "differs from machine to machine"},
        Refusal{"CRON_TZ= 0 0 * * *", "must name a time zone"},
        Refusal{"CRON_TZ=UTC", "must have 5 fields, or 6 with leading seconds, got 0"},
        Refusal{"TZ=UTC 0 0 * * *", "must not be a setting other than one CRON_TZ=Area/City"},
        Refusal{"CRON_TZ=UTC CRON_TZ=UTC 0 0 * * *", "other than one CRON_TZ=Area/City at the start"},
        Refusal{"0 0 * * * CRON_TZ=UTC", "\"CRON_TZ=UTC\""},
        Refusal{std::string("0 0 * * *\0", 10), "\\x00\": must be printable ASCII"}, Refusal{"0 0 * * \xd9\xa3", "\\xd9\\xa3"},
        Refusal{"0\xc2\xa0"
                "0 * * *",
                "must be printable ASCII"},
        Refusal{"0 0 * * *\x7f", "must be printable ASCII"}, Refusal{std::string(5000, '7') + " * * * *", "...\""}));

TEST(CronText, IsKeptAsGiven) {
  const auto cron = CronExpression::parse("  0 9 * * mon ");
  EXPECT_EQ(cron.text(), "  0 9 * * mon ");
  const CronExpression copy = cron;
  EXPECT_EQ(&copy.text(), &cron.text()) << "copies share";
}

TEST(CronLimits, EndsOfInt64) {
  for (const std::string zone : {"", "CRON_TZ=America/New_York "}) {
    const auto cron = CronExpression::parse(zone + "* * * * * *");
    EXPECT_EQ(cron.next_after(kSmallest), kSmallest / 1000 * 1000) << "the first whole second";
    EXPECT_EQ(cron.next_after(kLargest), std::nullopt);
    EXPECT_EQ(cron.next_after(ms("9999-12-31T23:59:58.999")), ms("9999-12-31T23:59:59"));
    EXPECT_EQ(cron.next_after(ms("9999-12-31T23:59:59")), std::nullopt);
    EXPECT_EQ(cron.latest_at_or_before(kLargest, kSmallest), ms("9999-12-31T23:59:59"));
    EXPECT_EQ(cron.latest_at_or_before(kSmallest, kSmallest), std::nullopt) << "no whole second";
    EXPECT_EQ(cron.latest_at_or_before(kSmallest, kLargest), std::nullopt);
    EXPECT_EQ(cron.latest_at_or_before(kLargest, kLargest), std::nullopt);
    const auto rare = CronExpression::parse(zone + "0 0 29 2 */7");
    EXPECT_TRUE(rare.next_after(kSmallest));
    EXPECT_EQ(rare.next_after(kLargest - 1), std::nullopt);
    EXPECT_EQ(rare.latest_at_or_before(kSmallest + 1'000'000, kSmallest), std::nullopt);
  }
}

TEST(CronLatest, IsTheNewestInTheWindow) {
  const auto yearly = CronExpression::parse("@yearly");
  EXPECT_EQ(yearly.latest_at_or_before(ms("2024-12-31T23:59:59.999"), 0), ms("2024-01-01T00:00:00"));
  EXPECT_EQ(yearly.latest_at_or_before(ms("2024-01-01T00:00:00"), 0), ms("2024-01-01T00:00:00")) << "itself included";
  EXPECT_EQ(yearly.latest_at_or_before(ms("2024-06-01T00:00:00"), ms("2024-01-01T00:00:00")), ms("2024-01-01T00:00:00"));
  EXPECT_EQ(yearly.latest_at_or_before(ms("2024-06-01T00:00:00"), ms("2024-01-01T00:00:00.001")), std::nullopt);
  EXPECT_EQ(yearly.latest_at_or_before(-1, kSmallest), ms("1969-01-01T00:00:00"));
  const auto minutely = CronExpression::parse("* * * * *");
  EXPECT_EQ(minutely.latest_at_or_before(ms("2424-06-01T00:00:59"), 0), ms("2424-06-01T00:00:00"));
  const auto repeated = CronExpression::parse("CRON_TZ=America/New_York 30 1 * * *");
  EXPECT_EQ(repeated.latest_at_or_before(ms("2024-11-03T06:45:00"), 0), ms("2024-11-03T05:30:00"));
}

TEST(CronThreads, ParseAndSearchAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::int64_t> found(8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&found, i] {
      for (int round = 0; round < 200; ++round) {
        found[i] = *CronExpression::parse("CRON_TZ=America/Denver 0 9 * * *").next_after(ms("2024-07-01T00:00:00"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::int64_t at : found) EXPECT_EQ(iso(at), "2024-07-01T15:00:00.000");
}

}  // namespace
