// Compares cron expressions with a second, slower implementation: a calendar that checks every minute. The seeds are fixed; a
// failure shows the expression.
#include <date/date.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "resonate/cron.hpp"
#include "time_zone.hpp"

namespace {

using resonate::CronExpression;
using resonate::InvalidCron;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kDay = 86'400'000;

std::int64_t new_year(int year) { return date::sys_days(date::year(year) / date::January / 1).time_since_epoch().count() * kDay; }

// A field of a cron expression, as text and as the set of its values.
struct RandomField {
  std::string text;
  std::set<int> values;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return between(1, 100) <= percent; }

  RandomField field(int low, int high) {
    RandomField field;
    for (int items = chance(70) ? 1 : between(2, 4); items > 0; --items) {
      int from = low;
      int to = high;
      std::string item = "*";
      const bool stepped = chance(40);
      if (chance(70)) {
        from = between(low, high);
        item = std::to_string(from);
        if (chance(50)) {
          to = between(from, high);
          item += "-" + std::to_string(to);
        } else if (!stepped) {
          to = from;
        }
      }
      const int step = stepped ? between(1, high) : 1;
      if (stepped) item += "/" + std::to_string(step);
      for (int value = from; value <= to; value += step) field.values.insert(value);
      field.text += (field.text.empty() ? "" : ",") + item;
    }
    return field;
  }

 private:
  std::mt19937_64 random_;
};

struct RandomCron {
  RandomField minute, hour, day, month, weekday;

  bool interval() const { return minute.text.front() == '*' || hour.text.front() == '*'; }
  std::string text() const { return minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text; }

  bool fires_at(date::local_time<std::chrono::minutes> at) const {
    const auto midnight = date::floor<date::days>(at);
    const date::year_month_day ymd(midnight);
    const date::hh_mm_ss time(at - midnight);
    const int dow = static_cast<int>(date::weekday(midnight).c_encoding());
    const bool day_matches = day.values.contains(static_cast<int>(static_cast<unsigned>(ymd.day())));
    const bool weekday_matches = weekday.values.contains(dow) || (dow == 0 && weekday.values.contains(7));
    const bool both = day.text.front() == '*' || weekday.text.front() == '*';
    return month.values.contains(static_cast<int>(static_cast<unsigned>(ymd.month()))) &&
           (both ? day_matches && weekday_matches : day_matches || weekday_matches) &&
           hour.values.contains(static_cast<int>(time.hours().count())) &&
           minute.values.contains(static_cast<int>(time.minutes().count()));
  }
};

RandomCron random_cron(Generator& generator) {
  return {generator.field(0, 59), generator.field(0, 23), generator.field(1, 31), generator.field(1, 12), generator.field(0, 7)};
}

// All firings in [from, to], found by a check of every minute: the offsets of today's zones are whole minutes. Unless the
// expression is an interval, a local minute that occurs twice fires only the first time, and a minute that the clock skips by less
// than three hours fires at the change.
std::vector<std::int64_t> slowly(const RandomCron& cron, const resonate::TimeZone* zone, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> result;
  std::int64_t shown_until = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t at = from - 2 * kDay; at <= to; at += kMinute) {
    const std::int64_t local = at + (zone == nullptr ? 0 : zone->span_at(at / 1000).offset * 1000);
    const bool skips = at > from - 2 * kDay && local - shown_until < 3 * 60 * kMinute;
    std::int64_t first = local;
    if (!cron.interval()) {
      if (local <= shown_until) continue;
      if (skips) first = shown_until + kMinute;
    }
    shown_until = local;
    bool fires = false;
    for (std::int64_t minute = first; minute <= local; minute += kMinute)
      fires = fires || cron.fires_at(date::local_time<std::chrono::minutes>(std::chrono::minutes(minute / kMinute)));
    if (at >= from && fires) result.push_back(at);
  }
  return result;
}

void expect_same(const std::string& text, const std::vector<std::int64_t>& expected, std::int64_t from, std::int64_t to) {
  const auto cron = CronExpression::parse(text);
  std::vector<std::int64_t> found;
  for (auto next = cron.next_after(from - 1); next && *next <= to; next = cron.next_after(*next)) found.push_back(*next);
  ASSERT_EQ(found, expected) << text << " from " << from;
  const auto newest = expected.empty() ? std::nullopt : std::optional(expected.back());
  ASSERT_EQ(cron.latest_at_or_before(to, from), newest) << text << " up to " << to;
}

TEST(CronRandom, AgreesWithAskingEveryMinute) {
  Generator generator(20'240'229);
  int accepted = 0;
  while (accepted < 300) {
    const RandomCron cron = random_cron(generator);
    try {
      CronExpression::parse(cron.text());
    } catch (const InvalidCron& error) {
      ASSERT_NE(std::string(error.what()).find("never fires"), std::string::npos) << error.what();
      continue;
    }
    ++accepted;
    const std::int64_t from = new_year(1960) + generator.between(0, 60'000) * kDay;
    const std::int64_t to = from + 40 * kDay;
    ASSERT_NO_FATAL_FAILURE(expect_same(cron.text(), slowly(cron, nullptr, from, to), from, to));
  }
}

TEST(CronRandom, AgreesWithAskingEveryMinuteAroundChangesOfZone) {
  Generator generator(20'241'103);
  for (const std::string name : {"America/New_York", "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca",
                                 "Asia/Tehran", "America/Sao_Paulo", "Pacific/Apia", "Asia/Gaza", "America/St_Johns"}) {
    const auto zone = resonate::TimeZone::find(name);
    for (int round = 0; round < 40; ++round) {
      RandomCron cron = random_cron(generator);
      cron.day = cron.weekday = RandomField{"*", {}};  // so that the expression fires on the day of the change
      for (int value = 0; value <= 31; ++value) {
        cron.day.values.insert(value);
        cron.weekday.values.insert(value);
      }
      cron.month = {"*", cron.day.values};
      const std::int64_t somewhere = new_year(1970) + generator.between(0, 60'000) * kDay;
      const std::int64_t change = std::min(zone->span_at(somewhere / 1000).end, new_year(2200) / 1000) * 1000;
      const std::int64_t from = change / kMinute * kMinute - 2 * kDay;
      const std::int64_t to = from + 4 * kDay;
      ASSERT_NO_FATAL_FAILURE(expect_same("CRON_TZ=" + name + " " + cron.text(), slowly(cron, zone.get(), from, to), from, to));
    }
  }
}

}  // namespace
