// The offsets of one time zone of the system's database, as cron needs them.
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
  // A stretch of time in which local time = UTC + offset.
  struct Span {
    std::int64_t begin;     // the first instant of it
    std::int64_t end;       // the first instant after it
    std::int64_t offset;    // seconds
    std::int64_t repeated;  // for how many seconds from `begin` the local clock shows what it showed before; 0: not
  };

  // The zone of that name (`Europe/Berlin`); each is read once a process and then shared.
  // Throws std::runtime_error when there is no such zone, or no database: there may be one later. std::invalid_argument: the
  // name is that of no place.
  static std::shared_ptr<const TimeZone> find(const std::string& name);

  // The span that holds `instant`.
  Span span_at(std::int64_t instant) const;

 private:
  struct Change {
    std::int64_t at;
    std::int64_t offset;
  };

  explicit TimeZone(const std::string& name);
  void add(std::int64_t at, std::int64_t offset);
  void add_rule(std::string_view posix_rule, std::int64_t listed_until);

  std::vector<Change> changes_;  // by `at`; the first one stands for all time before the second
  bool repeats_ = false;         // whether the last 400 years of changes go on for ever
};

}  // namespace resonate
