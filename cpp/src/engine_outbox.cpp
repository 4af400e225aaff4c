// The messages that wait in the outbox.
#include <algorithm>

#include "resonate/engine.hpp"

namespace resonate {

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_with_records(std::size_t limit) {
  return messages_with_records_if([](const OutboxMessage&) { return true; }, 0, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_with_records_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                            std::int64_t after, std::size_t limit) {
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  return select_messages(wanted, after, limit, true);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::select_messages(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                   std::int64_t after, std::size_t limit, bool every_row) {
  constexpr std::size_t kPage = 1024;
  std::vector<std::pair<MessageRef, RowRef>> found;
  while (found.size() < limit) {
    const std::vector<MessageRef> page = storage_->messages(after, kPage);
    for (const MessageRef& message : page) {
      if (found.size() == limit) break;
      if (!wanted(*message)) continue;
      const bool row = every_row || message->kind == MessageKind::unblock;
      found.emplace_back(message, row ? storage_->load(message->id) : RowRef());
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
    if (select_messages(wanted, 0, std::min<std::size_t>(limit, 1), false).empty()) return {};
  }
  const StorageTransaction writing(*storage_, Access::write);
  auto taken = select_messages(wanted, 0, limit, false);
  std::vector<MessageRef> messages;
  messages.reserve(taken.size());
  for (const auto& [message, row] : taken) messages.push_back(message);
  remove_messages(std::move(messages));
  return taken;
}

std::vector<std::int64_t> Engine::acknowledge(std::span<const std::int64_t> numbers) {
  std::lock_guard lock(mutex_);
  const StorageTransaction writing(*storage_, Access::write);
  std::vector<MessageRef> messages;
  std::vector<std::int64_t> wanted(numbers.begin(), numbers.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::erase_if(wanted, [&](std::int64_t number) {
    if (number <= 0) return true;
    std::vector<MessageRef> found = storage_->messages(number - 1, 1);
    if (found.empty() || found.front()->seq != number) return true;
    messages.push_back(std::move(found.front()));
    return false;
  });
  remove_messages(std::move(messages));
  return wanted;
}

void Engine::remove_messages(std::vector<MessageRef> messages) {
  if (messages.empty()) return;
  Changes changes;
  changes.counters = storage_->counters();
  for (const MessageRef& message : messages) changes.messages_removed.push_back(message->seq);
  storage_->write(changes);
  if (!trace_) return;
  TraceEvent told;
  told.now = changes.counters.now;
  told.taken = &messages;
  tell(told);
}

std::shared_ptr<Watch> Engine::watch(int descriptor) {
  auto made = std::make_shared<Watch>(descriptor);
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [](const std::weak_ptr<Watch>& one) { return one.expired(); });
  watches_.push_back(made);
  return made;
}

void Engine::ring(const Changes& changes) noexcept {
  Instant earliest = kNever;
  const auto claimable = [](const RowRef& row) { return row && row->job && row->job->state == JobState::pending; };
  bool news = !changes.messages_added.empty();
  for (const RowChange& change : changes.rows) {
    if (change.after) earliest = std::min(earliest, change.after->due.at);
    if (claimable(change.after) && !claimable(change.before)) news = true;
  }
  for (const ScheduleChange& change : changes.schedules)
    if (change.after) earliest = std::min(earliest, change.after->next_run_at);
  for (const std::weak_ptr<Watch>& one : watches_) {
    const std::shared_ptr<Watch> watch = one.lock();
    if (watch && (news || earliest < watch->until())) watch->ring();
  }
}

void Engine::ring_all() noexcept {
  for (const std::weak_ptr<Watch>& one : watches_)
    if (const std::shared_ptr<Watch> watch = one.lock()) watch->ring();
}

void Engine::set_paused(bool paused) noexcept {
  paused_ = paused;
  std::lock_guard lock(mutex_);
  ring_all();
}

}  // namespace resonate
