// The messages that wait in the outbox.
#include <algorithm>

#include "resonate/engine.hpp"

namespace resonate {

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_with_records(std::size_t limit) {
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  return select_messages([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::select_messages(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                   std::size_t limit) {
  constexpr std::size_t kPage = 1024;
  std::vector<std::pair<MessageRef, RowRef>> found;
  for (std::int64_t after = 0; found.size() < limit;) {
    const std::vector<MessageRef> page = storage_->messages(after, kPage);
    for (const MessageRef& message : page) {
      if (found.size() == limit) break;
      if (wanted(*message))
        found.emplace_back(message, message->kind == MessageKind::unblock ? storage_->load(message->id) : RowRef());
    }
    if (page.size() < kPage) break;
    after = page.back()->seq;
  }
  return found;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages(std::size_t limit) {
  return take_messages_if([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                    std::size_t limit) {
  std::lock_guard lock(mutex_);
  if (durable_) {  // whoever finds nothing does not wait for the write lock
    const StorageTransaction reading(*storage_, Access::read);
    if (select_messages(wanted, std::min<std::size_t>(limit, 1)).empty()) return {};
  }
  const StorageTransaction writing(*storage_, Access::write);
  auto taken = select_messages(wanted, limit);
  if (taken.empty()) return taken;
  Changes changes;
  changes.counters = storage_->counters();
  std::vector<MessageRef> messages;
  for (const auto& [message, row] : taken) {
    changes.messages_removed.push_back(message->seq);
    messages.push_back(message);
  }
  storage_->write(changes);
  if (trace_) {
    TraceEvent told;
    told.now = changes.counters.now;
    told.taken = &messages;
    tell(told);
  }
  return taken;
}

}  // namespace resonate
