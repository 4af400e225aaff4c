#include "storage/known_state.hpp"

#include <algorithm>

namespace resonate {

namespace {

bool asks_for_oldest_unblock(const MessageRange& range) { return range.by == MessageRange::By::unblock && range.limit == 1; }

}  // namespace

bool changes_only_instant(const Changes& changes, const Counters& before) noexcept {
  return !changes.replaces_all && !changes.stores_instant && changes.rows.empty() && changes.schedules.empty() &&
         changes.queues.empty() && changes.edges_added.empty() && changes.edges_removed.empty() && changes.messages_added.empty() &&
         changes.messages_removed.empty() && changes.submissions_ended.empty() && changes.counters.sequence == before.sequence &&
         changes.counters.dropped == before.dropped && changes.counters.jobs == before.jobs;
}

std::optional<std::vector<MessageRef>> KnownState::messages_of(const MessageRange& range) const {
  if (!asks_for_oldest_unblock(range) || !oldest_unblock_known) return std::nullopt;
  if (oldest_unblock && oldest_unblock->seq <= range.after) return std::nullopt;
  return oldest_unblock ? std::vector{oldest_unblock} : std::vector<MessageRef>();
}

void KnownState::read(const MessageRange& range, const std::vector<MessageRef>& found) {
  if (!asks_for_oldest_unblock(range) || range.after != 0) return;
  oldest_unblock_known = true;
  oldest_unblock = found.empty() ? nullptr : found.front();
}

void KnownState::keep(const Changes& changes) {
  keep_first_due(changes);
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
  if (oldest_unblock_known) {
    const auto& removed = changes.messages_removed;
    if (!oldest_unblock) {
      const auto first = std::find_if(changes.messages_added.begin(), changes.messages_added.end(),
                                      [](const MessageRef& message) { return unblock_key(*message) != nullptr; });
      if (first != changes.messages_added.end()) oldest_unblock = *first;
    } else if (std::find(removed.begin(), removed.end(), oldest_unblock->seq) != removed.end()) {
      oldest_unblock_known = false;
    }
  }
  counters = changes.counters;
}

void KnownState::keep_first_due(const Changes& changes) {
  if (!first_due) return;
  Instant first = *first_due;
  bool first_gone = false;
  const auto see = [&](std::optional<Instant> before, std::optional<Instant> after) {
    if (before == first && after != before) first_gone = true;
    if (after) first = std::min(first, *after);
  };
  const auto of_row = [](const RowRef& row) {
    const auto key = row ? index_key<Index::due>(*row) : std::nullopt;
    return key ? std::optional(key->major) : std::nullopt;
  };
  const auto of_schedule = [](const ScheduleRef& schedule) {
    const auto key = schedule ? due_key(*schedule) : std::nullopt;
    return key ? std::optional(key->at) : std::nullopt;
  };
  for (const RowChange& change : changes.rows) see(of_row(change.before), of_row(change.after));
  for (const ScheduleChange& change : changes.schedules) see(of_schedule(change.before), of_schedule(change.after));
  if (first_gone && first == *first_due) {
    first_due.reset();  // unknown: other rows may be due at that instant, or the next one may be later
  } else {
    first_due = first;
  }
}

void KnownState::forget() {
  rows.clear();
  version = -1;
  counters = {};
  messages = 0;
  first_due.reset();
  oldest_unblock_known = false;
  oldest_unblock = nullptr;
  queues.clear();
}

}  // namespace resonate
