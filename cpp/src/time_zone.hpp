// The offsets of one zone of the system's time zone database, in the form that cron needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace resonate {

// Immutable; any thread may read it. All instants are Unix seconds.
class TimeZone {
 public:
  // A period in which local time = UTC + offset.
  struct Span {
    std::int64_t begin;     // the first instant of the span
    std::int64_t end;       // the first instant after the span
    std::int64_t offset;    // seconds
    std::int64_t repeated;  // the seconds from `begin` in which the local clock repeats earlier times; 0: none
    std::int64_t skipped;   // the seconds of local time before `begin` that the local clock never shows; 0: none
  };

  // Returns the zone with that name (`Europe/Berlin`); each zone is read once per process and then shared. Throws
  // std::runtime_error if the zone or the database does not exist (it may be installed later), std::invalid_argument if the text
  // cannot be a zone's name.
  static std::shared_ptr<const TimeZone> find(const std::string& name);

  // Returns the span that contains `instant`.
  Span span_at(std::int64_t instant) const;

 private:
  struct Change {
    std::int64_t at;
    std::int64_t offset;
  };

  explicit TimeZone(const std::string& name);
  void add(std::int64_t at, std::int64_t offset);
  void add_rule(std::string_view posix_rule, std::int64_t listed_until);

  std::vector<Change> changes_;  // by `at`; the first one also applies to all earlier time
  bool repeats_ = false;         // whether the last 400 years of changes repeat for ever
};

}  // namespace resonate
