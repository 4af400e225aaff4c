// An index in a transaction: the range in storage, overlaid by the rows that the transaction changed.
#include <algorithm>
#include <utility>

#include "machine/working_set.hpp"

namespace resonate {

namespace {
constexpr std::size_t kLargestPage = 1024;
constexpr std::size_t kFewRows = 16;
}  // namespace

std::string WorkingSet::name_of_group(std::string_view queue, std::string_view text, std::string_view type) {
  std::string name(queue);  // a queue's name contains no NUL
  name.append(1, '\0').append(text);
  if (!type.empty()) name.append(1, '\0').append(type).append(std::to_string(type.size()));
  return name;
}

// Adds the rows changed since the last call to the index. Most transactions never read one, so the work is done on demand.
WorkingSet::Overlay& WorkingSet::overlay(Index index) {
  overlaid_ = true;
  Overlay& overlay = overlays_[place_of(index)];
  for (; overlay.touches < touched_.size(); ++overlay.touches) {
    Entry* const entry = touched_[overlay.touches];
    if (entry->removed) continue;
    if (const std::optional<IndexKey> key = index_key(*entry->now, index))
      overlay.groups[name_of_group(IndexKey::view(key->queue), IndexKey::view(key->text), IndexKey::view(key->type))].own.insert(
          {key->major, key->minor, entry->now->id(), entry});
  }
  return overlay;
}

bool WorkingSet::still_at(const OwnRow& row, const RowRange& range) const {
  if (row.entry->removed) return false;
  const std::optional<IndexKey> key = index_key(*row.entry->now, range.index);
  return key && key->major == row.major && key->minor == row.minor && row.entry->now->id() == row.id && range.has(*key);
}

// Returns the transaction's rows in the range's group, or null. The first row returned is still in the group.
WorkingSet::OwnRows* WorkingSet::own_rows(const RowRange& range) {
  auto& groups = overlay(range.index).groups;
  const auto group = groups.find(name_of_group(range.queue, range.text, range.type));
  if (group == groups.end()) return nullptr;
  OwnRows& own = group->second.own;
  RowRange all = range;
  all.until = std::numeric_limits<std::int64_t>::max();
  while (!own.empty() && !still_at(*own.begin(), all)) own.erase(own.begin());
  return &own;
}

WorkingSet::Cursor::Cursor(WorkingSet& set, RowRange range, std::size_t expected, Reads reads,
                           std::function<bool(const Row&)> wanted)
    : set_(set), range_(std::move(range)), page_size_(std::min(expected, kLargestPage)), wanted_(std::move(wanted)) {
  if (reads == Reads::often) {
    Overlay& overlay = set.overlay(range_.index);
    kept_ = &overlay.groups[name_of_group(range_.queue, range_.text, range_.type)].page;
    next_stored_ = kept_->front;
  }
  own_ = set.own_rows(range_);
  if (own_) next_own_ = own_->upper_bound({range_.after.major, range_.after.minor, range_.after.id, nullptr});
}

bool WorkingSet::Cursor::read_more() {
  Page& page = this->page();
  if (page.complete) return false;
  if (!page.rows.empty()) range_.after = place_in(range_, *page.rows.back());
  if (!kept_) {
    page.rows.clear();
    next_stored_ = 0;
  }
  if (set_.rows_left_ == 0) {
    set_.reached_row_limit_ = true;
    return false;
  }
  range_.limit = std::min(page_size_, set_.rows_left_);
  page_size_ = std::min(2 * page_size_, kLargestPage);  // a caller that needs more rows than expected may need many
  std::vector<RowRef> more = set_.storage_->rows(range_);
  if (set_.rows_left_ != SIZE_MAX) set_.rows_left_ -= more.size();
  page.complete = more.size() < range_.limit;
  const bool found = !more.empty();
  if (page.rows.empty()) {
    page.rows = std::move(more);
  } else {
    std::move(more.begin(), more.end(), std::back_inserter(page.rows));
  }
  return found;
}

// Returns the next stored row that this transaction has not changed; own() returns the changed ones if they are still in the range.
const RowRef* WorkingSet::Cursor::stored() {
  for (;; ++next_stored_) {
    if (next_stored_ == page().rows.size() && !read_more()) return nullptr;
    const RowRef& row = page().rows[next_stored_];
    const Entry* const mine = set_.entries_ ? set_.known(row->id()) : nullptr;
    if (mine && mine->changed) {
      if (next_stored_ == page().front) ++page().front;
    } else if (!wanted_ || wanted_(*row)) {
      return &row;
    }
  }
}

const RowRef* WorkingSet::Cursor::own() {
  if (!own_) return nullptr;
  for (; next_own_ != own_->end() && next_own_->major <= range_.until; ++next_own_) {
    const RowRef& row = next_own_->entry->now;
    if (set_.still_at(*next_own_, range_) && (!wanted_ || wanted_(*row))) return &row;
  }
  return nullptr;
}

const RowRef* WorkingSet::Cursor::peek() {
  if (found_) return found_;
  const RowRef* const mine = own();
  const RowRef* const row = stored();
  found_is_own_ = mine && (!row || place_in(range_, **mine) < place_in(range_, **row));
  return found_ = found_is_own_ ? mine : row;
}

WorkingSet::Entry& WorkingSet::Cursor::entry() {
  const RowRef& row = *peek();
  if (found_is_own_) return *next_own_->entry;
  Entry* const known = set_.known(row->id());
  return known ? *known : set_.remember(row);
}

void WorkingSet::Cursor::pop() {
  if (found_is_own_) {
    ++next_own_;
  } else {
    ++next_stored_;
  }
  found_ = nullptr;
}

std::vector<WorkingSet::Entry*> WorkingSet::all_of(RowRange range) {
  std::vector<Entry*> found;
  for (Cursor cursor(*this, std::move(range), kFewRows, Cursor::Reads::often, {}); cursor.peek(); cursor.pop())
    found.push_back(&cursor.entry());
  return found;
}

WorkingSet::Entry* WorkingSet::first_of(RowRange range) {
  Cursor cursor(*this, std::move(range), kFewRows, Cursor::Reads::often, {});
  return cursor.peek() ? &cursor.entry() : nullptr;
}

std::vector<RowRef> WorkingSet::scan(RowRange range, const std::function<bool(const Row&)>& wanted) {
  return scan_until(std::move(range), [&wanted](const Row& row) { return wanted(row) ? RowMatch::wanted : RowMatch::unwanted; });
}

std::vector<RowRef> WorkingSet::scan_until(RowRange range, const std::function<RowMatch(const Row&)>& classify) {
  const std::size_t limit = range.limit;
  std::vector<RowRef> found;
  if (limit == 0) return found;
  // Rows can be large, so a scan that may end early reads few at first.
  const std::size_t expected = limit == SIZE_MAX ? 16 : std::clamp<std::size_t>(limit, 16, 256);
  Cursor cursor(*this, std::move(range), expected, Cursor::Reads::once, {});
  for (; found.size() < limit; cursor.pop()) {
    const RowRef* const row = cursor.peek();
    if (!row) break;
    const RowMatch seen = classify(**row);
    if (seen == RowMatch::end) break;
    if (seen == RowMatch::wanted) found.push_back(*row);
  }
  return found;
}

}  // namespace resonate
