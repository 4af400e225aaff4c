// The date library lists the changes that a zone file spells out. It does not read the rule in the file's last line,
// by which the zone goes on afterwards (HowardHinnant/date issue 794): without it, summer time ends in 2037 where the
// files are "fat", and years ago where they are "slim". So that line is read and applied here.
#include "time_zone.hpp"

#include <date/tz.h>
#if USE_OS_TZDB && __has_include(<date/tz_private.h>)
#include <date/tz_private.h>  // a zone of one's own needs its members' types
#define RESONATE_LATE_ZONES
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "machine/calendar.hpp"
#include "posix_rule.hpp"

namespace resonate {
namespace {

using calendar::floor_div;

constexpr std::int64_t kSecondsPer400Years = calendar::kDaysPer400Years * calendar::kSecondsPerDay;
// Before every date with a meaning, and yet far enough inside int64 that offsets can be added.
constexpr std::int64_t kBeginningOfTime = INT64_MIN / 2;
constexpr std::int64_t kEndOfTime = INT64_MAX / 2;
// Older than any zone, newer than the oldest year that the date library can name.
constexpr std::int64_t kFirstInstant = calendar::day_number(1, 1, 1) * calendar::kSecondsPerDay;
// A list of changes that reaches this year (a library built over the text database) needs no rule: what goes on
// for ever has long begun 400 years earlier.
constexpr std::int64_t kListedFarEnough = calendar::day_number(2700, 1, 1) * calendar::kSecondsPerDay;

// The zone's file, or "" where there is none.
std::string zone_file(const std::string& name) {
  // Where the date library looks, in its order.
  for (const char* directory : {"/usr/share/zoneinfo/uclibc/", "/usr/share/zoneinfo/", "/var/db/timezone/zoneinfo/"}) {
    std::ifstream file(directory + name, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.starts_with("TZif")) {
      return bytes;
    }
  }
  return {};
}

// The text between the last two line ends of the zone's file, or "" where no such file is found.
std::string rule_in_file(const std::string& name) {
  std::string bytes = zone_file(name);
  if (bytes.empty() || bytes.back() != '\n') {
    return {};
  }
  bytes.pop_back();
  const std::size_t line = bytes.rfind('\n');
  return line == std::string::npos ? std::string() : bytes.substr(line + 1);
}

#ifdef RESONATE_LATE_ZONES
// Whether a text is the name of a place: other files lie beside the zones, and others again above them.
bool is_place(const std::string& name) {
  const bool named = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' ||
           c == '+';
  });
  return named && !name.starts_with("/") && !name.starts_with("posix") && !name.starts_with("right/") && name != "Factory";
}
#endif

// The date library lists the zones once in the life of a process. One that was not there then may be there now.
const date::time_zone* locate(const std::string& name, [[maybe_unused]] std::optional<date::time_zone>& own) {
  try {
    return date::locate_zone(name);
  } catch (const std::runtime_error&) {
#ifdef RESONATE_LATE_ZONES
    if (is_place(name) && !zone_file(name).empty()) {
      return &own.emplace(name, date::detail::undocumented());
    }
#endif
    throw;
  }
}

}  // namespace

TimeZone::TimeZone(const std::string& name) {
  std::optional<date::time_zone> own;
  const date::time_zone* zone = locate(name, own);
  date::sys_info info = zone->get_info(date::sys_seconds(std::chrono::seconds(kFirstInstant)));
  add(kBeginningOfTime, info.offset.count());
  std::int64_t listed_until = kFirstInstant;  // also when a change alters no offset: the rule takes over after the last one
  while (true) {
    const std::int64_t end = info.end.time_since_epoch().count();
    if (end > kListedFarEnough) {
      break;
    }
    info = zone->get_info(info.end);
    add(end, info.offset.count());
    listed_until = end;
  }
  repeats_ = changes_.back().at > kListedFarEnough - kSecondsPer400Years;
  if (!repeats_) {
    add_rule(rule_in_file(name), listed_until);
  }
}

void TimeZone::add(std::int64_t at, std::int64_t offset) {
  if (!changes_.empty() && changes_.back().offset == offset) {
    return;  // only the abbreviation changes
  }
  changes_.push_back({at, offset});
}

void TimeZone::add_rule(std::string_view posix_rule, std::int64_t listed_until) {
  const auto rule = PosixRule::parse(posix_rule);
  if (!rule || !rule->has_summer) {
    return;  // the last listed change stays
  }
  const std::int64_t first_year = calendar::date_of(floor_div(listed_until, calendar::kSecondsPerDay)).year;
  // Two years more than a period, so that the period which repeats starts clear of the listed changes.
  std::vector<Change> ruled;
  for (std::int64_t year = first_year; year <= first_year + 402; ++year) {
    ruled.push_back({rule->standard_begins(year), rule->standard_offset});
    ruled.push_back({rule->summer_begins(year), rule->summer_offset});
  }
  std::stable_sort(ruled.begin(), ruled.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  for (std::size_t i = 0; i < ruled.size(); ++i) {
    // Where one summer ends at the instant at which the next begins, the zone has summer time all the year.
    const bool superseded = i + 1 < ruled.size() && ruled[i + 1].at == ruled[i].at;
    if (ruled[i].at > listed_until && !superseded) {
      add(ruled[i].at, ruled[i].offset);
    }
  }
  repeats_ = changes_.back().at - listed_until > kSecondsPer400Years;
}

TimeZone::Span TimeZone::span_at(std::int64_t instant) const {
  // Beyond the list, look 400 years back as often as it takes: the calendar and the rule are the same then.
  std::int64_t shift = 0;
  if (repeats_ && instant >= changes_.back().at) {
    shift = (floor_div(instant - changes_.back().at, kSecondsPer400Years) + 1) * kSecondsPer400Years;
  }
  const auto later = std::upper_bound(changes_.begin() + 1, changes_.end(), instant - shift,
                                      [](std::int64_t value, const Change& change) { return value < change.at; });
  const auto current = later - 1;
  Span span{current->at + shift, kEndOfTime, current->offset, 0};
  if (later != changes_.end()) {
    span.end = later->at + shift;
  }
  if (current != changes_.begin()) {
    span.repeated = std::max<std::int64_t>(0, (current - 1)->offset - current->offset);
  }
  return span;
}

std::shared_ptr<const TimeZone> TimeZone::find(const std::string& name) {
  // These two are settings of the machine, not places.
  if (name == "localtime" || name == "posixrules") {
    throw std::invalid_argument("the time zone \"" + name + "\" differs from machine to machine");
  }
  // A list that only grows, without a lock: a lock that another thread holds during fork() would stay held in the child.
  struct Known {
    std::string name;
    std::shared_ptr<const TimeZone> zone;
    const Known* next;
  };
  static std::atomic<const Known*> newest = nullptr;
  const Known* seen = newest.load(std::memory_order_acquire);
  for (const Known* known = seen; known != nullptr; known = known->next) {
    if (known->name == name) return known->zone;
  }
  // Two threads that meet here list the zone twice, which does no harm.
  auto* added = new Known{name, std::shared_ptr<const TimeZone>(new TimeZone(name)), seen};
  while (!newest.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return added->zone;
}

}  // namespace resonate
