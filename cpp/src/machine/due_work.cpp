#include "machine/due_work.hpp"

#include <algorithm>

namespace resonate {

namespace {

constexpr std::size_t kPageOfDue = 256;

struct Later {
  bool operator()(const DueWork::Item& a, const DueWork::Item& b) const noexcept {
    if (a.due != b.due) return b.due < a.due;
    return b.id < a.id;
  }
};

void continue_after(RowRange& range, const Row& row) { range.after = place_in(range, row); }
void continue_after(ScheduleRange& range, const Schedule& schedule) {
  range.after = schedule.id;
  range.after_at = schedule.due_at();
}

template <class Pages, class Load>
void read_page(Pages& pages, Instant now, const Load& load) {
  pages.range.until = now;
  pages.range.limit = kPageOfDue;
  pages.items = load(pages.range);
  pages.at = 0;
  if (pages.items.size() < kPageOfDue) pages.read_until = now;
  if (!pages.items.empty()) continue_after(pages.range, *pages.items.back());
}

}  // namespace

void DueWork::clear() {
  if (!heap_.empty()) heap_.clear();
  if (rows_.read_until != kUnset || !rows_.items.empty()) rows_ = {.range = rows_by_due()};
  if (schedules_.read_until != kUnset || !schedules_.items.empty()) schedules_ = {.range = {.by = ScheduleRange::By::due}};
}

void DueWork::push(Item item) {
  heap_.push_back(item);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

bool DueWork::holds(const Item& item) {
  if (item.row) return item.row->now && !item.row->removed && item.row->now->due == item.due;
  return item.schedule->now && due_key(*item.schedule->now) == item.due;
}

const DueWork::Item* DueWork::first_own(Instant now) {
  while (!heap_.empty() && !holds(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }
  return heap_.empty() || heap_.front().due.at > now ? nullptr : &heap_.front();
}

void DueWork::read(RowPages& pages, Instant now) {
  read_page(pages, now, [this](const RowRange& range) { return storage_->rows(range); });
}

void DueWork::read(SchedulePages& pages, Instant now) {
  read_page(pages, now, [this](const ScheduleRange& range) { return storage_->schedules(range); });
}

std::optional<DueWork::First> DueWork::first_of(const Item* own, const RowRef* row, const ScheduleRef* schedule) {
  const auto is_first = [](Due due, std::string_view id, Due other, std::string_view its) {
    return due < other || (due == other && id < its);
  };
  if (own && (!row || is_first(own->due, own->id, due_of(**row), (*row)->id())) &&
      (!schedule || is_first(own->due, own->id, due_of(**schedule), (*schedule)->id)))
    return First{.due = own->due, .own = own};
  // At the same instant rows precede schedules.
  if (schedule && (!row || due_of(**schedule) < due_of(**row))) return First{.due = due_of(**schedule), .schedule = schedule};
  if (row) return First{.due = due_of(**row), .row = row};
  return std::nullopt;
}

}  // namespace resonate
