// Cron expressions: when a schedule fires (PROTOCOL sections 4 and 8).
//
// Fields: [second] minute hour day-of-month month day-of-week, each a list of `*`, `a`, `a-b`, with an optional
// step (`*/n`, `a-b/n`, `a/n` = from a to the field's maximum). Months and weekdays may be three-letter English
// names. Day-of-week is 0-7, where 0 and 7 are Sunday; ranges go upwards, so Friday to Sunday is 5-7. `?` stands
// for `*` in the two day fields. A day fires when it matches both day fields if either of them begins with `*`,
// else when it matches one of them. Also @hourly @daily @midnight @weekly @monthly @yearly @annually.
//
// Instants are UTC unless the text starts with `CRON_TZ=Area/City `. If its second, minute or hour field begins with `*`, the text
// is an interval: it fires whenever the local clock shows a match, so it continues in a repeated hour. Any other text fires once
// for each local time: the first time if it occurs twice, and at the change if the clock skips it by less than three hours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace resonate {

struct CronPlan;

// An invalid cron text; the message names the field, the value and the rule.
class InvalidCron : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The text may be valid, but the system's time zone database lacks its zone or cannot be read now.
class UnknownZone : public InvalidCron {
 public:
  using InvalidCron::InvalidCron;
};

// A parsed expression. Immutable; copies share one plan, and any thread may read any copy.
class CronExpression {
 public:
  // Throws InvalidCron for an invalid text and for one that can never fire (`0 0 31 2 *`), UnknownZone for a zone that the system's
  // database lacks. The zone is looked up once, here.
  static CronExpression parse(std::string_view text);

  // Returns the first occurrence strictly after `ms`. All instants are Unix milliseconds, which can be negative. Returns nothing if
  // there is no occurrence up to the end of the year 9999 (UTC). Never throws.
  std::optional<std::int64_t> next_after(std::int64_t ms) const;

  // Returns the latest occurrence in [not_before, ms], or nothing. The cost grows with the logarithm of the distance to that
  // occurrence, not with the number of occurrences before it.
  std::optional<std::int64_t> latest_at_or_before(std::int64_t ms, std::int64_t not_before) const;

  // The text that was given to `parse`.
  const std::string& text() const;

 private:
  explicit CronExpression(std::shared_ptr<const CronPlan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const CronPlan> plan_;
};

}  // namespace resonate
