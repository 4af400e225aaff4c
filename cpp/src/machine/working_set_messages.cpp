// The messages in a transaction.
#include <algorithm>

#include "machine/working_set.hpp"

namespace resonate {

std::int64_t WorkingSet::add_message(Shared<OutboxMessage> message) {
  message->seq = ++changes_.counters.sequence;
  added_messages_.push_back(message);
  return message->seq;
}

void WorkingSet::remove_message(std::int64_t seq) {
  if (seq > last_stored_message_) {
    removed_messages_.insert(seq);
  } else {
    changes_.messages_removed.push_back(seq);
  }
}

void WorkingSet::drop_unblocks(Instant until) {
  // Unblocks are ordered by time, so the first one after `until` ends the search.
  for (;;) {
    const auto oldest = storage_->messages({.by = MessageRange::By::unblock, .after = last_dropped_, .limit = 1});
    if (oldest.empty()) break;
    if (oldest.front()->queued_at > until) return;
    changes_.messages_removed.push_back(last_dropped_ = oldest.front()->seq);
    ++changes_.counters.dropped;
  }
  for (; next_own_unblock_ < added_messages_.size(); ++next_own_unblock_) {
    const OutboxMessage& message = *added_messages_[next_own_unblock_];
    if (!unblock_key(message)) continue;
    if (message.queued_at > until) return;
    removed_messages_.insert(message.seq);
    ++changes_.counters.dropped;
  }
}

bool WorkingSet::has_unblock(std::string_view id) {
  const auto& removed = changes_.messages_removed;
  for (const MessageRef& stored : storage_->messages({.by = MessageRange::By::unblock_of, .text = id}))
    if (std::find(removed.begin(), removed.end(), stored->seq) == removed.end()) return true;
  return std::any_of(added_messages_.begin(), added_messages_.end(), [&](const MessageRef& message) {
    const std::string* const key = unblock_key(*message);
    return key && *key == id && !removed_messages_.contains(message->seq);
  });
}

}  // namespace resonate
