// The date library reads the changes listed in a zone file, but not the rule in the file's last line, by which the zone continues
// (HowardHinnant/date issue 794). Without the rule, summer time ends in 2037 in "fat" files, and years ago in "slim" files. So this
// file reads and applies that line.
#include "time_zone.hpp"

#include <date/tz.h>
#if USE_OS_TZDB && __has_include(<date/tz_private.h>)
#include <date/tz_private.h>  // the types of time_zone's members
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
// Before every meaningful date, yet offsets can be added without overflow.
constexpr std::int64_t kBeginningOfTime = INT64_MIN / 2;
constexpr std::int64_t kEndOfTime = INT64_MAX / 2;
// Before the first change of any zone, after the oldest year that the date library can represent.
constexpr std::int64_t kFirstInstant = calendar::day_number(1, 1, 1) * calendar::kSecondsPerDay;
// A list of changes up to this year (from a library built on the text database) needs no rule: it contains the repeating 400 years.
constexpr std::int64_t kListedFarEnough = calendar::day_number(2700, 1, 1) * calendar::kSecondsPerDay;

// Returns the path of the zone's file, or "" if there is none.
std::string zone_file(const std::string& name) {
  // The directories that the date library searches, in its order.
  for (const char* directory : {"/usr/share/zoneinfo/uclibc/", "/usr/share/zoneinfo/", "/var/db/timezone/zoneinfo/"}) {
    std::ifstream file(directory + name, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.starts_with("TZif")) {
      return bytes;
    }
  }
  return {};
}

// Returns the text between the last two line ends of the zone's file, or "" if there is no such file.
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
// Returns whether the name can be a zone: the directory also contains other files, and `..` leads out of it.
bool is_place(const std::string& name) {
  const bool named = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' ||
           c == '+';
  });
  return named && !name.starts_with("/") && !name.starts_with("posix") && !name.starts_with("right/") && name != "Factory";
}
#endif

// The date library lists the zones once per process, so a zone that was installed later is loaded here.
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
  std::int64_t listed_until =
      kFirstInstant;  // the rule applies after the last change in the table, even if that change keeps the offset
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
    return;  // the last listed offset is final
  }
  const std::int64_t first_year = calendar::date_of(floor_div(listed_until, calendar::kSecondsPerDay)).year;
  // Two years more than a period, so that the repeated period starts after the listed changes.
  std::vector<Change> ruled;
  for (std::int64_t year = first_year; year <= first_year + 402; ++year) {
    ruled.push_back({rule->standard_begins(year), rule->standard_offset});
    ruled.push_back({rule->summer_begins(year), rule->summer_offset});
  }
  std::stable_sort(ruled.begin(), ruled.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  for (std::size_t i = 0; i < ruled.size(); ++i) {
    // If one summer ends at the instant at which the next begins, the zone has summer time all year.
    const bool superseded = i + 1 < ruled.size() && ruled[i + 1].at == ruled[i].at;
    if (ruled[i].at > listed_until && !superseded) {
      add(ruled[i].at, ruled[i].offset);
    }
  }
  repeats_ = changes_.back().at - listed_until > kSecondsPer400Years;
}

TimeZone::Span TimeZone::span_at(std::int64_t instant) const {
  // Beyond the list, the instant is moved back by multiples of 400 years, in which calendar and rule repeat.
  std::int64_t shift = 0;
  if (repeats_ && instant >= changes_.back().at) {
    shift = (floor_div(instant - changes_.back().at, kSecondsPer400Years) + 1) * kSecondsPer400Years;
  }
  const auto later = std::upper_bound(changes_.begin() + 1, changes_.end(), instant - shift,
                                      [](std::int64_t value, const Change& change) { return value < change.at; });
  const auto current = later - 1;
  Span span{current->at + shift, kEndOfTime, current->offset, 0, 0};
  if (later != changes_.end()) {
    span.end = later->at + shift;
  }
  if (current != changes_.begin()) {
    const std::int64_t forward = current->offset - (current - 1)->offset;
    span.repeated = std::max<std::int64_t>(0, -forward);
    span.skipped = std::max<std::int64_t>(0, forward);
  }
  return span;
}

std::shared_ptr<const TimeZone> TimeZone::find(const std::string& name) {
  // These two files are settings of the machine, not zones.
  if (name == "localtime" || name == "posixrules") {
    throw std::invalid_argument("the time zone must not be \"" + name + "\", which differs from machine to machine");
  }
  // A lock-free list that only grows: a lock held by another thread during fork() would stay locked in the child.
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
  // Two threads may both add the same zone, which does no harm.
  auto* added = new Known{name, std::shared_ptr<const TimeZone>(new TimeZone(name)), seen};
  while (!newest.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return added->zone;
}

}  // namespace resonate
