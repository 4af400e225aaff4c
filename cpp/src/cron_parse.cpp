// Parses the text of a cron expression into bit masks.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cron_plan.hpp"
#include "machine/ascii.hpp"
#include "resonate/cron.hpp"

namespace resonate {
namespace {

constexpr std::array<std::string_view, 12> kMonthNames = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdayNames = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct Field {
  std::string_view name;
  int low;
  int high;
  std::span<const std::string_view> names;  // the first one is the name of `low`
  bool is_day;                              // allows `?`; the error explains that L, W and # are not supported
};

constexpr Field kSecond{"second", 0, 59, {}, false};
constexpr Field kMinute{"minute", 0, 59, {}, false};
constexpr Field kHour{"hour", 0, 23, {}, false};
constexpr Field kDayOfMonth{"day-of-month", 1, 31, {}, true};
constexpr Field kMonth{"month", 1, 12, kMonthNames, false};
constexpr Field kDayOfWeek{"day-of-week", 0, 7, kWeekdayNames, true};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords = {{{"@HOURLY", "0 * * * *"},
                                                                                  {"@DAILY", "0 0 * * *"},
                                                                                  {"@MIDNIGHT", "0 0 * * *"},
                                                                                  {"@WEEKLY", "0 0 * * 0"},
                                                                                  {"@MONTHLY", "0 0 1 * *"},
                                                                                  {"@YEARLY", "0 0 1 1 *"},
                                                                                  {"@ANNUALLY", "0 0 1 1 *"}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return result;
}

// Quotes a value of unknown origin: shortened and printable.
std::string quoted(std::string_view value) {
  constexpr std::size_t kLongest = 60;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : value.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + (value.size() > kLongest ? "...\"" : "\"");
}

[[noreturn]] void fail(std::string_view value, const std::string& rule) {
  throw InvalidCron("cron " + quoted(value) + ": " + rule);
}

std::vector<std::string_view> split_at_spaces(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_space(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end])) {
      ++end;
    }
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

// Parses one field of an expression into a mask of its values.
class FieldParser {
 public:
  FieldParser(const Field& field, std::string_view text) : field_(field), text_(text) {}

  std::uint64_t parse() const {
    std::uint64_t mask = 0;
    std::string_view rest = text_;
    while (true) {
      const std::size_t comma = rest.find(',');
      mask |= parse_item(rest.substr(0, comma));
      if (comma == std::string_view::npos) {
        return mask;
      }
      rest.remove_prefix(comma + 1);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& rule) const {
    throw InvalidCron("cron " + std::string(field_.name) + " " + quoted(text_) + ": " + rule);
  }

  std::string bounds() const { return std::to_string(field_.low) + "-" + std::to_string(field_.high); }

  // An item is `*`, `a` or `a-b`, each with or without `/step`.
  std::uint64_t parse_item(std::string_view item) const {
    if (item.empty()) {
      refuse("an item of a list must not be empty");
    }
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    const int step = slash == std::string_view::npos ? 1 : parse_step(item.substr(slash + 1));
    int low = field_.low;
    int high = field_.high;
    if (range == "?" && !field_.is_day) {
      refuse("? is allowed only in the two day fields");
    }
    if (range != "*" && range != "?") {
      const std::size_t dash = range.find('-');
      low = parse_value(range.substr(0, dash));
      if (dash != std::string_view::npos) {
        high = parse_value(range.substr(dash + 1));
      } else if (slash == std::string_view::npos) {
        high = low;
      }
      if (low > high) {
        refuse("a range must not decrease, got " + quoted(range) +
               (high == 0 && field_.high == 7 ? "; write Sunday as 7 at the end of a range" : ""));
      }
    }
    std::uint64_t mask = 0;
    for (int value = low; value <= high; value += step) {
      mask |= std::uint64_t{1} << value;
    }
    return mask;
  }

  int parse_step(std::string_view text) const {
    if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
      refuse("a step must be a whole number, got " + quoted(text));
    }
    const int step = parse_digits(text);
    if (step == 0) {
      refuse("a step must be at least 1, got 0");
    }
    return step;
  }

  int parse_value(std::string_view text) const {
    if (text.empty()) {
      refuse("a value must not be empty");
    }
    if (std::all_of(text.begin(), text.end(), is_digit)) {
      const int value = parse_digits(text);
      if (value < field_.low || value > field_.high) {
        refuse("a value must be within " + bounds() + ", got " + quoted(text));
      }
      return value;
    }
    const std::string name = upper(text);
    const auto found = std::find(field_.names.begin(), field_.names.end(), name);
    if (found != field_.names.end()) {
      return field_.low + static_cast<int>(found - field_.names.begin());
    }
    if (field_.is_day && name.find_first_of("LW#") != std::string::npos) {
      refuse("the extensions L, W and # are not supported");
    }
    if (field_.names.empty()) {
      refuse("a value must be a whole number within " + bounds() + ", got " + quoted(text));
    }
    refuse("a value must be a whole number within " + bounds() + " or a name from " + std::string(field_.names.front()) + " to " +
           std::string(field_.names.back()) + ", got " + quoted(text));
  }

  // Large numbers saturate above every bound and step.
  static int parse_digits(std::string_view digits) {
    int value = 0;
    for (const char c : digits) {
      value = std::min(value * 10 + (c - '0'), 100'000);
    }
    return value;
  }

  const Field& field_;
  std::string_view text_;
};

// The two day fields form one condition: AND if either begins with `*`, otherwise OR (Debian's cron).
std::array<std::uint32_t, 7> combine_days(std::string_view day_of_month, std::string_view day_of_week) {
  const auto days = static_cast<std::uint32_t>(FieldParser(kDayOfMonth, day_of_month).parse());
  std::uint64_t weekdays = FieldParser(kDayOfWeek, day_of_week).parse();
  weekdays |= weekdays >> 7 & 1;  // 7 is also Sunday
  const auto unrestricted = [](std::string_view field) { return field.front() == '*' || field.front() == '?'; };
  const bool both = unrestricted(day_of_month) || unrestricted(day_of_week);
  std::array<std::uint32_t, 7> result{};
  for (int first = 0; first < 7; ++first) {
    std::uint32_t by_weekday = 0;
    for (int day = 1; day <= 31; ++day) {
      if ((weekdays >> ((first + day - 1) % 7) & 1) != 0) {
        by_weekday |= std::uint32_t{1} << day;
      }
    }
    result[static_cast<std::size_t>(first)] = both ? days & by_weekday : days | by_weekday;
  }
  return result;
}

void parse_fields(std::string_view expression, std::vector<std::string_view> fields, CronPlan& plan) {
  if (fields.size() == 5) {
    fields.insert(fields.begin(), "0");
  }
  if (fields.size() != 6) {
    fail(expression, "must have 5 fields, or 6 with leading seconds, got " + std::to_string(fields.size()));
  }
  plan.interval = std::any_of(fields.begin(), fields.begin() + 3, [](std::string_view field) { return field.starts_with('*'); });
  plan.seconds = FieldParser(kSecond, fields[0]).parse();
  plan.minutes = FieldParser(kMinute, fields[1]).parse();
  plan.hours = static_cast<std::uint32_t>(FieldParser(kHour, fields[2]).parse());
  plan.days_of_month = combine_days(fields[3], fields[5]);
  plan.months = static_cast<std::uint32_t>(FieldParser(kMonth, fields[4]).parse());
}

// Returns the expression that a `@word` abbreviates.
std::string_view expand_word(const std::vector<std::string_view>& fields) {
  const std::string name = upper(fields.front());
  if (name == "@EVERY" || name == "@REBOOT") {
    fail(fields.front(), "must name calendar times; @every and @reboot are not supported");
  }
  const auto* const found = std::find_if(kWords.begin(), kWords.end(), [&](const auto& word) { return word.first == name; });
  if (found == kWords.end()) {
    fail(fields.front(), "must be one of @hourly @daily @midnight @weekly @monthly @yearly @annually");
  }
  if (fields.size() > 1) {
    fail(fields[1], "must be absent after " + std::string(fields.front()));
  }
  return found->second;
}

// Returns null for UTC, which needs no database.
std::shared_ptr<const TimeZone> find_zone(std::string_view setting) {
  const std::string name(setting.substr(setting.find('=') + 1));
  if (name.empty()) {
    fail(setting, "must name a time zone");
  }
  if (name == "UTC" || name == "Etc/UTC") {
    return nullptr;
  }
  try {
    return TimeZone::find(name);
  } catch (const std::invalid_argument& refusal) {
    fail(setting, refusal.what());
  } catch (const std::exception&) {  // not quoted: the library's text differs from system to system
    throw UnknownZone("cron " + quoted(setting) + ": must name a time zone of the system's database");
  }
}

void check_bytes(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!is_space(c) && (byte < 0x20 || byte > 0x7e)) {
      fail(text, "must be printable ASCII");
    }
  }
}

}  // namespace

CronExpression CronExpression::parse(std::string_view text) {
  check_bytes(text);
  auto plan = std::make_shared<CronPlan>();
  plan->text = text;
  std::vector<std::string_view> fields = split_at_spaces(text);
  if (!fields.empty() && fields.front().starts_with("CRON_TZ=")) {
    plan->zone = find_zone(fields.front());
    fields.erase(fields.begin());
  }
  if (fields.empty()) {
    fail(text, "must have 5 fields, or 6 with leading seconds, got 0");
  }
  if (fields.front().find('=') != std::string_view::npos) {
    fail(fields.front(), "must not be a setting other than one CRON_TZ=Area/City at the start");
  }
  if (fields.front().front() == '@') {
    fields = split_at_spaces(expand_word(fields));
  }
  parse_fields(text, std::move(fields), *plan);
  // From 1970 on: 400 years contain every combination of date and weekday.
  if (!first_occurrence(*plan, 0, kLastCronSecond)) {
    fail(text, "must have an occurrence, but never fires");
  }
  return CronExpression(std::move(plan));
}

const std::string& CronExpression::text() const { return plan_->text; }

}  // namespace resonate
