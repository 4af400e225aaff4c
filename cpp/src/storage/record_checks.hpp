// Checks of stored records as a storage reads them. Another program may have written them: a record that the engine cannot use, or
// that is not what an index says, is an error and never reaches the engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "resonate/index_keys.hpp"
#include "resonate/records.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// Throws Error (storage): a stored record is damaged.
[[noreturn]] void refuse_stored_record(std::string_view what, const std::string& id, const std::string& why);
// Refuses a row that the engine cannot use.
void require_usable(const Row& row);
// Refuses a row that has a due time and no kind of step. No tick would run it, so a loop that ticks until nothing is due never
// ends.
[[noreturn]] void refuse_timer_of_no_kind(const std::string& id);
// Refuses counters that leave no room to count upwards, or count less than nothing.
void require_usable(const Counters& counters, std::int64_t messages);
// Refuses a queue that is found by the name of another one.
void require_name(std::string_view found, std::string_view wanted);

// Checks the rows of a range as a storage returns them: an index that disagrees with its rows would lead a reader to rows that it
// does not expect, or to the same rows for ever.
class RangeCheck {
 public:
  explicit RangeCheck(const RowRange& range) : range_(range), last_(range.after) {}
  void see(const Row& row);

 private:
  const RowRange& range_;
  IndexPlace last_;
};
// The same for a schedule and a message of a range.
void require_in(const ScheduleRange& range, const Schedule& schedule);
void require_in(const MessageRange& range, const OutboxMessage& message);

}  // namespace resonate
