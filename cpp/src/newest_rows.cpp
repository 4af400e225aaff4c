#include "newest_rows.hpp"

#include <algorithm>

namespace resonate {

namespace {

constexpr std::size_t kSmallestPage = 4;
constexpr std::size_t kLargestPage = kLongPage;

}  // namespace

bool NewestRows::Older::operator()(std::size_t a, std::size_t b) const noexcept {
  return age_of(*(*groups)[a].front()) < age_of(*(*groups)[b].front());
}

NewestRows::NewestRows(Storage& storage, std::vector<RowRange> groups, std::size_t expected) : storage_(storage) {
  const std::size_t page = std::clamp(expected / std::max<std::size_t>(1, groups.size()) * 2, kSmallestPage, kLargestPage);
  groups_.reserve(groups.size());
  for (RowRange& range : groups) {
    range.limit = page;
    groups_.push_back({std::move(range)});
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) read(i);
}

// Reads the next page of a group that has no row left.
void NewestRows::read(std::size_t place) {
  Group& group = groups_[place];
  if (group.complete) return;
  if (!group.page.empty()) {
    group.range.after = place_in(group.range, *group.page.back());
    group.range.limit = std::min(2 * group.range.limit, kLargestPage);
  }
  group.page = storage_.rows(group.range);
  group.next = 0;
  group.complete = group.page.size() < group.range.limit;
  if (group.page.empty()) return;
  heap_.push_back(place);
  std::push_heap(heap_.begin(), heap_.end(), Older{&groups_});
}

RowRef NewestRows::peek() {
  if (heap_.empty()) return nullptr;
  const Group& group = groups_[heap_.front()];
  return group.page[group.next];
}

void NewestRows::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), Older{&groups_});
  const std::size_t place = heap_.back();
  heap_.pop_back();
  Group& group = groups_[place];
  ++group.next;
  if (!group.front()) return read(place);
  heap_.push_back(place);
  std::push_heap(heap_.begin(), heap_.end(), Older{&groups_});
}

}  // namespace resonate
