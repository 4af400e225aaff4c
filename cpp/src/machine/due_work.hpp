// The rows and schedules that are due, as a transaction sees them: those of storage that it has not changed, and its own.
//
// Invariants:
// - The heap has an item for each row and schedule that the transaction has changed and that has a due instant. Items of earlier
//   versions stay in it until they are the first; holds() tells them apart.
// - Storage does not change during the transaction, so a page stays valid. The transaction has changed all items of a page before
//   `at`, and a changed one stays changed: none of them is examined again.
// - Storage has no items up to `read_until` beside those of the page.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "machine/derive.hpp"
#include "machine/entries.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class DueWork {
 public:
  // A row or a schedule of the transaction. The id must be as long-lived as the entry.
  struct Item {
    Due due;
    std::string_view id;
    RowEntry* row = nullptr;
    ScheduleEntry* schedule = nullptr;
  };
  // One of the three is set.
  struct First {
    Due due;
    const Item* own = nullptr;
    const RowRef* row = nullptr;
    const ScheduleRef* schedule = nullptr;
  };

  void begin(Storage& storage) noexcept { storage_ = &storage; }
  void clear();
  // Call it with each changed record that has a due instant.
  void push(Item item);
  // Returns what is due first at `now`, or none. `changed(record)` is true for a row or schedule that the transaction has changed.
  template <class Changed>
  std::optional<First> first(Instant now, const Changed& changed) {
    const Item* const own = first_own(now);
    const bool any_stored = storage_->first_due() <= now;
    const RowRef* const row = any_stored ? first_stored(rows_, now, changed) : nullptr;
    const ScheduleRef* const schedule = any_stored ? first_stored(schedules_, now, changed) : nullptr;
    return first_of(own, row, schedule);
  }

 private:
  template <class Range, class Ref>
  struct Pages {
    Range range;
    std::vector<Ref> items = {};
    std::size_t at = 0;
    Instant read_until = kUnset;
  };
  using RowPages = Pages<RowRange, RowRef>;
  using SchedulePages = Pages<ScheduleRange, ScheduleRef>;

  static Due due_of(const Row& row) noexcept { return row.due; }
  static Due due_of(const Schedule& schedule) noexcept { return {schedule.due_at(), DueKind::schedule}; }
  static bool holds(const Item& item);

  const Item* first_own(Instant now);
  static std::optional<First> first_of(const Item* own, const RowRef* row, const ScheduleRef* schedule);
  // Reads the next page of what is due at `now`.
  void read(RowPages& pages, Instant now);
  void read(SchedulePages& pages, Instant now);

  template <class Range, class Ref, class Changed>
  const Ref* first_stored(Pages<Range, Ref>& pages, Instant now, const Changed& changed) {
    for (;;) {
      for (; pages.at < pages.items.size(); ++pages.at) {
        const Ref& item = pages.items[pages.at];
        if (due_of(*item).at > now) return nullptr;
        if (!changed(*item)) return &item;
      }
      if (now <= pages.read_until) return nullptr;
      read(pages, now);
    }
  }

  Storage* storage_ = nullptr;
  std::vector<Item> heap_;
  RowPages rows_{.range = rows_by_due()};
  SchedulePages schedules_{.range = {.by = ScheduleRange::By::due}};
};

}  // namespace resonate
