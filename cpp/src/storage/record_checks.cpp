#include "storage/record_checks.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include "machine/quoted.hpp"
#include "machine/row_damage.hpp"
#include "resonate/errors.hpp"

namespace resonate {

void refuse_stored_record(std::string_view what, const std::string& id, const std::string& why) {
  throw Error(ErrorCode::storage, "a stored row is damaged: " + std::string(what) + " " + resonate::quoted(id) + ": " + why);
}

void require_usable(const Row& row) {
  if (const char* const damage = damage_of(row)) refuse_stored_record("promise", row.id(), damage);
  if (row.due.kind != DueKind::none && !fits_timer(row, row.due.kind))
    refuse_stored_record("promise", row.id(), "its timer is not one of its state");
}

void refuse_timer_of_no_kind(const std::string& id) { refuse_stored_record("promise", id, "its timer is one of no kind"); }

void require_usable(const Counters& counters, std::int64_t messages) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  for (const std::int64_t count : {counters.sequence, counters.dropped, counters.jobs, messages})
    if (count < 0 || count > kMost)
      throw Error(ErrorCode::storage, "a stored row is damaged: the counters hold " + std::to_string(count));
}

void require_name(std::string_view found, std::string_view wanted) {
  if (found != wanted)
    refuse_stored_record("queue", std::string(wanted), "it is stored under the name " + resonate::quoted(std::string(found)));
}

void RangeCheck::see(const Row& row) {
  const std::optional<IndexKey> key = index_key(row, range_.index);
  const auto fails = [&] { refuse_stored_record("promise", row.id(), "an index has it where its row does not belong"); };
  if (!key || !range_.has(*key)) fails();
  IndexPlace place{key->major, key->minor, row.id()};
  if (is_reversed(range_.index) ? !(place < last_) : !(last_ < place)) fails();
  last_ = std::move(place);
}

void require_in(const ScheduleRange& range, const Schedule& schedule) {
  if (range.by != ScheduleRange::By::due) return;
  const Instant at = schedule.due_at();
  if (at > range.until || std::tie(at, schedule.id) <= std::tie(range.after_at, range.after))
    refuse_stored_record("schedule", schedule.id, "its timer is not that of its next occurrence");
}

void require_in(const MessageRange& range, const OutboxMessage& message) {
  using enum MessageRange::By;
  if (range.by != unblock && range.by != unblock_of) return;
  const std::string* const key = unblock_key(message);
  if (!key || (range.by == unblock_of && *key != range.text))
    refuse_stored_record("message to", message.address, "an index has it where its row does not belong");
}

}  // namespace resonate
