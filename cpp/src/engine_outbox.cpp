// The messages that wait in the outbox.
#include <algorithm>

#include "machine/derive.hpp"
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
  const std::size_t page_size = std::clamp<std::size_t>(limit, 64, 1024);
  std::vector<std::pair<MessageRef, RowRef>> found;
  while (found.size() < limit) {
    const std::vector<MessageRef> page = storage_->messages(after, page_size);
    for (const MessageRef& message : page) {
      if (found.size() == limit) break;
      if (!wanted(*message)) continue;
      const bool row = every_row || message->kind == MessageKind::unblock;
      found.emplace_back(message, row ? storage_->load(message->id) : RowRef());
    }
    if (page.size() < page_size) break;
    after = page.back()->seq;
  }
  return found;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_to(std::span<const AddressPattern> addresses, std::int64_t after,
                                                               std::size_t limit) {
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  std::vector<std::pair<MessageRef, RowRef>> found;
  for (MessageRef& message : select_messages_to(addresses, after, limit)) {
    RowRef row = storage_->load(message->id);
    found.emplace_back(std::move(message), std::move(row));
  }
  return found;
}

// The messages of these addresses are read one address after the other, and the outbox is walked in the order of queueing beside
// that, as many messages here as there: the one that is through first is the answer. So neither what waits for others nor the rest
// of what waits for these can make it long.
std::vector<MessageRef> Engine::select_messages_to(std::span<const AddressPattern> addresses, std::int64_t after,
                                                   std::size_t limit) {
  constexpr std::size_t kPage = 256;
  std::vector<MessageRef> found;
  if (limit == 0) return found;
  std::vector<MessageRef> met;
  std::int64_t met_until = after;
  std::size_t walked = 0;
  std::size_t read = 0;
  for (const AddressPattern& address : addresses) {
    std::string place;
    std::int64_t last = address.prefix ? 0 : after;
    for (std::size_t of_it = 0;;) {
      const std::size_t most = address.prefix ? kPage : std::min(kPage, limit - of_it);
      const std::vector<MessageRef> page = storage_->messages_to(address, place, last, most);
      read += page.size();
      of_it += page.size();
      for (const MessageRef& message : page)
        if (message->seq > after) found.push_back(message);
      if (page.size() < most || (!address.prefix && of_it == limit)) break;
      place = page.back()->address;
      last = page.back()->seq;
      for (; walked < read; walked += kPage) {
        const std::vector<MessageRef> next = storage_->messages(met_until, kPage);
        for (const MessageRef& message : next) {
          const auto wanted = [&message](const AddressPattern& one) { return one.matches(message->address); };
          if (std::any_of(addresses.begin(), addresses.end(), wanted)) met.push_back(message);
          if (met.size() == limit) return met;
        }
        if (next.size() < kPage) return met;
        met_until = next.back()->seq;
      }
    }
  }
  const auto number = [](const MessageRef& message) { return message->seq; };
  std::ranges::sort(found, {}, number);
  const auto twice = std::ranges::unique(found, {}, number);  // addresses may overlap
  found.erase(twice.begin(), twice.end());
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages(std::size_t limit) {
  return take_messages_if([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                    std::size_t limit) {
  return take([&](std::size_t most) { return select_messages(wanted, 0, most, false); }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_to(std::span<const AddressPattern> addresses, std::size_t limit) {
  return take(
      [&](std::size_t most) {
        std::vector<std::pair<MessageRef, RowRef>> found;
        for (MessageRef& message : select_messages_to(addresses, 0, most)) {
          RowRef row = message->kind == MessageKind::unblock ? storage_->load(message->id) : RowRef();
          found.emplace_back(std::move(message), std::move(row));
        }
        return found;
      },
      limit);
}

template <class Select>
std::vector<std::pair<MessageRef, RowRef>> Engine::take(Select select, std::size_t limit) {
  std::lock_guard lock(mutex_);
  if (durable_) {  // whoever finds nothing does not wait for the write lock
    const StorageTransaction reading(*storage_, Access::read);
    if (select(std::min<std::size_t>(limit, 1)).empty()) return {};
  }
  const StorageTransaction writing(*storage_, Access::write);
  auto taken = select(limit);
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
  changes.counters.now = present();
  for (const MessageRef& message : messages) {
    changes.messages_removed.push_back(message->seq);
    if (message->kind != MessageKind::execute) continue;
    const RowRef row = storage_->load(message->id);
    if (row && row->execute_waits && row->execute_seq == message->seq)
      changes.rows.push_back({row, with_timer(row, changes.counters.now)});
  }
  storage_->write(changes);
  if (!watches_.empty()) ring(changes);
  if (!trace_) return;
  TraceEvent told;
  told.now = changes.counters.now;
  told.taken = &messages;
  tell(told);
}

// The task whose execute leaves the outbox: from now on its timer runs, from the instant that was shown.
RowRef Engine::with_timer(const RowRef& row, Instant now) const {
  Shared<Row> armed(new Row(*row));
  armed->retry_at = shown_retry_at(*row, now, options_.retry_timeout);
  armed->execute_waits = false;
  armed->due = resonate::next_due(*armed);
  return armed;
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
  const JobCounts counts = job_counts(changes);
  for (const std::weak_ptr<Watch>& one : watches_) {
    const std::shared_ptr<Watch> watch = one.lock();
    if (!watch) continue;
    watch->count(counts);
    if (news || earliest < watch->until()) watch->ring();
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
