#include "posix_rule.hpp"

#include "machine/calendar.hpp"

namespace resonate {
namespace {

// Reads a rule from left to right. Every `read_` function returns whether it found its part.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool read(char c) {
    if (rest_.empty() || rest_.front() != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool read_name() {
    std::size_t length = 0;
    if (read('<')) {
      length = rest_.find('>');
      if (length == std::string_view::npos) {
        return false;
      }
      rest_.remove_prefix(length + 1);
      return length > 0;
    }
    while (length < rest_.size() && is_letter(rest_[length])) {
      ++length;
    }
    rest_.remove_prefix(length);
    return length > 0;
  }

  bool read_number(int low, int high, int& value) {
    value = 0;
    int digits = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9' && digits < 4) {
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
      ++digits;
    }
    return digits > 0 && value >= low && value <= high;
  }

  // [+|-]hh[:mm[:ss]], hours up to 167
  bool read_time(std::int64_t& seconds) {
    const bool negative = read('-');
    if (!negative) {
      read('+');
    }
    int hours = 0;
    int minutes = 0;
    int rest = 0;
    if (!read_number(0, 167, hours) || (read(':') && !read_number(0, 59, minutes)) || (read(':') && !read_number(0, 59, rest))) {
      return false;
    }
    seconds = (hours * 60 + minutes) * 60 + rest;
    if (negative) {
      seconds = -seconds;
    }
    return true;
  }

  bool read_date(PosixRule::Date& date) {
    using Kind = PosixRule::Date::Kind;
    bool ok = false;
    if (read('M')) {
      date.kind = Kind::weekday_of_month;
      ok = read_number(1, 12, date.month) && read('.') && read_number(1, 5, date.week) && read('.') && read_number(0, 6, date.day);
    } else if (read('J')) {
      date.kind = Kind::day_without_leap;
      ok = read_number(1, 365, date.day);
    } else {
      date.kind = Kind::day_of_year;
      ok = read_number(0, 365, date.day);
    }
    return ok && (!read('/') || read_time(date.time));
  }

 private:
  static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

  std::string_view rest_;
};

}  // namespace

std::int64_t PosixRule::Date::in_year(std::int64_t year) const {
  const std::int64_t new_year = calendar::day_number(year, 1, 1);
  std::int64_t number = 0;
  switch (kind) {
    case Kind::day_without_leap:  // 29 February is never counted
      number = new_year + day - 1 + (calendar::is_leap(year) && day >= 60 ? 1 : 0);
      break;
    case Kind::day_of_year: number = new_year + day; break;
    case Kind::weekday_of_month: {
      const std::int64_t first = calendar::day_number(year, month, 1);
      number = first + (day - calendar::weekday(first) + 7) % 7 + 7 * (week - 1);
      if (number >= first + calendar::days_in_month(year, month)) {
        number -= 7;
      }
      break;
    }
  }
  return number * calendar::kSecondsPerDay + time;
}

std::optional<PosixRule> PosixRule::parse(std::string_view text) {
  PosixRule rule;
  Reader reader(text);
  std::int64_t west = 0;  // POSIX gives offsets west of Greenwich
  if (!reader.read_name() || !reader.read_time(west)) {
    return std::nullopt;
  }
  rule.standard_offset = -west;
  if (reader.at_end()) {
    return rule;
  }
  if (!reader.read_name()) {
    return std::nullopt;
  }
  rule.has_summer = true;
  rule.summer_offset = rule.standard_offset + 3600;
  if (!reader.read(',')) {
    if (!reader.read_time(west) || !reader.read(',')) {
      return std::nullopt;
    }
    rule.summer_offset = -west;
  }
  if (!reader.read_date(rule.summer_starts) || !reader.read(',') || !reader.read_date(rule.summer_ends) || !reader.at_end()) {
    return std::nullopt;
  }
  return rule;
}

}  // namespace resonate
