#include "storage/known_state.hpp"

#include <algorithm>
#include <tuple>

namespace resonate {

namespace {

bool changes_only_instant(const Changes& changes, const Counters& before) noexcept {
  return !changes.replaces_all && !changes.stores_instant && changes.rows.empty() && changes.schedules.empty() &&
         changes.queues.empty() && changes.edges_added.empty() && changes.edges_removed.empty() && changes.messages_added.empty() &&
         changes.messages_removed.empty() && changes.messages_leased.empty() && changes.submissions_ended.empty() &&
         changes.counters.sequence == before.sequence && changes.counters.dropped == before.dropped &&
         changes.counters.jobs == before.jobs;
}

bool from_the_beginning(const RowRange& range) {
  return range.after.major == kFirstPlace && range.after.minor == kFirstPlace && range.after.id.empty();
}

}  // namespace

Counters KnownState::present() const noexcept {
  Counters present = counters;
  present.now = std::max(present.now, unsaved_now);
  return present;
}

bool KnownState::keeps_instant(const Changes& changes) noexcept {
  if (!changes_only_instant(changes, counters)) return false;
  unsaved_now = std::max(unsaved_now, changes.counters.now);
  return true;
}

std::optional<Changes> KnownState::unsaved_changes() const {
  if (counters.now >= unsaved_now) return std::nullopt;
  Changes changes;
  changes.counters = present();
  changes.stores_instant = true;
  return changes;
}

QueueRef KnownState::find_queue(std::string_view name) const {
  const auto found = queues.find(name);
  return found == queues.end() ? nullptr : found->second;
}

std::optional<std::vector<MessageRef>> KnownState::messages_of(const MessageRange& range) const {
  using enum MessageRange::By;
  if (range.by != unblock && (range.by != unblock_of || !all_unblocks_)) return std::nullopt;
  std::vector<MessageRef> found;
  for (const MessageRef& message : unblocks_) {
    if (found.size() == range.limit) break;
    if (message->seq > range.after && (range.by == unblock || message->id == range.text)) found.push_back(message);
  }
  if (!all_unblocks_ && found.size() < range.limit) return std::nullopt;
  return found;
}

void KnownState::read(const MessageRange& range, const std::vector<MessageRef>& found) {
  if (range.by != MessageRange::By::unblock || range.after != 0) return;
  all_unblocks_ = found.size() < range.limit;
  unblocks_ = found;
}

void KnownState::keep_unblocks(const Changes& changes) {
  const auto& removed = changes.messages_removed;
  std::erase_if(unblocks_, [&](const MessageRef& message) { return std::ranges::find(removed, message->seq) != removed.end(); });
  for (MessageRef& message : unblocks_)
    for (const MessageRef& leased : changes.messages_leased)
      if (leased->seq == message->seq) message = leased;
  if (!all_unblocks_) return;
  for (const MessageRef& message : changes.messages_added)
    if (unblock_key(*message)) unblocks_.push_back(message);
  if (unblocks_.size() <= kUnblocksKept) return;
  unblocks_.resize(kUnblocksKept);
  all_unblocks_ = false;
}

std::optional<std::vector<EdgeRef>> KnownState::callbacks_of(const EdgeRange& range) {
  if (range.by != EdgeRange::By::owner || range.kind != EdgeKind::callback) return std::nullopt;
  const auto known = callbacks_.find(range.of);
  const RowRef owner = known == callbacks_.end() ? nullptr : rows.find(range.of);
  if (!owner || owner->callbacks + static_cast<std::size_t>(owner->job ? owner->job->kept_callbacks : 0) != known->second.size())
    return std::nullopt;
  std::vector<EdgeRef> found;
  for (const EdgeRef& edge : known->second)
    if (edge->seq > range.after && found.size() < range.limit) found.push_back(edge);
  return found;
}

void KnownState::keep_callbacks(const Changes& changes) {
  for (const EdgeRef& edge : changes.edges_removed) {
    const auto known = edge->kind == EdgeKind::callback ? callbacks_.find(edge->owner) : callbacks_.end();
    if (known == callbacks_.end()) continue;
    callbacks_kept_ -= std::erase_if(known->second, [&](const EdgeRef& one) { return one->seq == edge->seq; });
    if (known->second.empty()) callbacks_.erase(known);
  }
  for (const EdgeRef& edge : changes.edges_added) {
    if (edge->kind != EdgeKind::callback) continue;
    if (callbacks_kept_ == kCallbacksKept) forget_callbacks();
    std::vector<EdgeRef>& known = callbacks_[edge->owner];
    if (known.size() == kCallbacksOfOne) continue;
    known.push_back(edge);
    ++callbacks_kept_;
  }
}

void KnownState::forget_callbacks() {
  callbacks_ = decltype(callbacks_)();  // clear() would keep its buckets, see RowCache::clear
  callbacks_kept_ = 0;
}

RowRange KnownState::narrowed(RowRange range) const {
  if (!from_the_beginning(range)) return range;
  if (range.index == Index::due) range.after.major = marks.due;
  if (const auto first = marks.claims.find(range.queue); range.index == Index::claim && first != marks.claims.end())
    std::tie(range.after.major, range.after.minor) = first->second;
  return range;
}

void KnownState::read(const RowRange& range, const std::vector<RowRef>& found) {
  if (range.index != Index::claim || !from_the_beginning(range) || range.until != RowRange().until || range.limit == 0) return;
  if (found.empty()) {
    marks.claims[range.queue] = {kNever, kNever};
  } else {
    const IndexPlace place = place_in(range, *found.front());
    marks.claims[range.queue] = {place.major, place.minor};
  }
}

namespace {

std::optional<Instant> due_of(const RowRef& row) {
  const auto key = row ? index_key<Index::due>(*row) : std::nullopt;
  return key ? std::optional(key->major) : std::nullopt;
}

std::optional<Instant> due_of(const ScheduleRef& schedule) {
  const auto key = schedule ? due_key(*schedule) : std::nullopt;
  return key ? std::optional(key->at) : std::nullopt;
}

// Lowers marks to the rows and schedules that a transaction writes.
void lower(ScanMarks& marks, const Changes& changes) {
  for (const RowChange& change : changes.rows) {
    if (const auto due = due_of(change.after)) marks.due = std::min(marks.due, *due);
    const auto key = change.after && !marks.claims.empty() ? index_key<Index::claim>(*change.after) : std::nullopt;
    const auto first = key ? marks.claims.find(*key->queue) : marks.claims.end();
    if (first != marks.claims.end()) first->second = std::min(first->second, {key->major, key->minor});
  }
  for (const ScheduleChange& change : changes.schedules)
    if (const auto due = due_of(change.after)) marks.due = std::min(marks.due, *due);
}

}  // namespace

void KnownState::keep(const Changes& changes) {
  const Instant was = first_due.value_or(marks.due);
  marks.due = was;
  lower(marks, changes);
  keep_first_due(changes, was);
  for (const RowChange& change : changes.rows) {
    if (change.after) {
      rows.put(change.after);
    } else {
      rows.erase(change.before->id());
    }
  }
  for (const QueueChange& change : changes.queues) {
    if (change.after) {
      queues[change.after->name] = change.after;
    } else {
      queues.erase(change.before->name);
    }
  }
  keep_unblocks(changes);
  keep_callbacks(changes);
  counters = changes.counters;
}

ScanMarks KnownState::marks_after(const Changes& changes) const {
  ScanMarks after = marks;
  after.due = first_due.value_or(marks.due);
  lower(after, changes);
  return after;
}

void KnownState::keep_first_due(const Changes& changes, Instant was) {
  const Instant first = marks.due;
  bool first_gone = !first_due;
  const auto see = [&](std::optional<Instant> before, std::optional<Instant> after) {
    if (before == was && after != before) first_gone = true;
  };
  for (const RowChange& change : changes.rows) see(due_of(change.before), due_of(change.after));
  for (const ScheduleChange& change : changes.schedules) see(due_of(change.before), due_of(change.after));
  if (first_gone && first == was) {
    first_due.reset();  // unknown: other rows may be due at that instant, or the next one may be later
  } else {
    first_due = first;
  }
}

void KnownState::renew(std::int64_t committed, const Counters& stored, std::int64_t stored_messages, ScanMarks stored_marks) {
  if (stored.now < counters.now) unsaved_now = kUnset;  // the clock was set back
  forget();
  version = committed;
  counters = stored;
  messages = stored_messages;
  marks = std::move(stored_marks);
  changed_elsewhere = true;
}

void KnownState::forget() {
  rows.clear();
  version = kUnknown;
  counters = {.now = counters.now};  // renew() sees by it whether the clock was set back
  messages = 0;
  first_due.reset();
  marks = {};
  unblocks_.clear();
  all_unblocks_ = false;
  forget_callbacks();
  queues.clear();
}

}  // namespace resonate
