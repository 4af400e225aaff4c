// Reading and removing the messages of the outbox.
#include <algorithm>
#include <iterator>
#include <set>

#include "engine_transaction.hpp"
#include "machine/machine.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {
// Messages removed in one transaction, which takes a few ms in a file.
constexpr std::size_t kTakenAtOnce = 256;

// Each number once, in order.
std::vector<MessageLookup> lookups_of(std::span<const std::int64_t> numbers) {
  const std::set<std::int64_t> distinct(numbers.begin(), numbers.end());
  std::vector<MessageLookup> named;
  named.reserve(distinct.size());
  for (const std::int64_t number : distinct)
    if (number > 0) named.push_back({number});
  return named;
}
}  // namespace

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
  std::vector<MessageRef> found;
  while (found.size() < limit) {
    const std::vector<MessageRef> page = storage_->messages({.after = after, .limit = page_size});
    for (const MessageRef& message : page) {
      if (found.size() == limit) break;
      if (wanted(*message)) found.push_back(message);
    }
    if (page.size() < page_size) break;
    after = page.back()->seq;
  }
  return with_rows(found, every_row);
}

// Pairs each message with its row; without `every_row`, only unblocks.
std::vector<std::pair<MessageRef, RowRef>> Engine::with_rows(const std::vector<MessageRef>& messages, bool every_row) {
  std::vector<Lookup<RowRef>> rows;
  for (const MessageRef& message : messages)
    if (every_row || message->kind == MessageKind::unblock) rows.push_back({message->id});
  storage_->load_many({.rows = rows});
  std::vector<std::pair<MessageRef, RowRef>> pairs;
  pairs.reserve(messages.size());
  auto row = rows.begin();
  for (const MessageRef& message : messages) {
    const bool loaded = every_row || message->kind == MessageKind::unblock;
    pairs.emplace_back(message, loaded ? std::move((row++)->found) : RowRef());
  }
  return pairs;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_to(std::span<const AddressPattern> addresses, std::int64_t after,
                                                               std::size_t limit) {
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  return with_rows(select_messages_to(addresses, after, limit), true);
}

// Two searches run side by side, each reading as many messages as the other: one reads the given addresses one after the other, one
// reads the outbox in order of queueing. The first to finish gives the result. So neither a long queue of other addresses nor a
// long queue of these makes the call slow.
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
    MessageRange range{.by = MessageRange::By::address, .text = address.text, .after = after};
    if (address.prefix) {
      range.by = MessageRange::By::prefix;
      range.after = 0;
    }
    for (std::size_t of_it = 0;;) {
      range.limit = address.prefix ? kPage : std::min(kPage, limit - of_it);
      const std::vector<MessageRef> page = storage_->messages(range);
      read += page.size();
      of_it += page.size();
      for (const MessageRef& message : page)
        if (message->seq > after) found.push_back(message);
      if (page.size() < range.limit || (!address.prefix && of_it == limit)) break;
      range.after_address = place = page.back()->address;
      range.after = page.back()->seq;
      for (; walked < read; walked += kPage) {
        const std::vector<MessageRef> next = storage_->messages({.after = met_until, .limit = kPage});
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
  const auto twice = std::ranges::unique(found, {}, number);  // address patterns may overlap
  found.erase(twice.begin(), twice.end());
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages(std::size_t limit) {
  return take_messages_if([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                    std::size_t limit) {
  return take([&](std::int64_t after, std::size_t most) { return select_messages(wanted, after, most, false); }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_to(std::span<const AddressPattern> addresses, std::size_t limit) {
  return take([&](std::int64_t after, std::size_t most) { return with_rows(select_messages_to(addresses, after, most), false); },
              limit);
}

// Messages queued during the call are left for the next one, so that this one ends. After its first transaction the call throws
// nothing: its messages are removed and no other caller can get them. The next call meets the error again.
template <class Select>
std::vector<std::pair<MessageRef, RowRef>> Engine::take(Select select, std::size_t limit) {
  std::int64_t last = 0;
  std::vector<std::pair<MessageRef, RowRef>> taken = take_some(select, 0, std::min(kTakenAtOnce, limit), last);
  const Uninterrupted uninterrupted;
  for (std::size_t got = taken.size(); got == kTakenAtOnce && taken.size() < limit && taken.back().first->seq < last;) {
    try {
      auto some = take_some(select, taken.back().first->seq, std::min(kTakenAtOnce, limit - taken.size()), last);
      got = some.size();
      taken.insert(taken.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    } catch (const Error&) {
      break;
    }
  }
  return taken;
}

// Sets `last` to the number of the newest message if it is 0.
template <class Select>
std::vector<std::pair<MessageRef, RowRef>> Engine::take_some(Select select, std::int64_t after, std::size_t limit,
                                                             std::int64_t& last) {
  std::lock_guard lock(mutex_);
  if (durable_) {  // a caller that finds nothing does not wait for the write lock
    const StorageTransaction reading(*storage_, Access::read);
    if (select(after, 1).empty()) return {};
  }
  Scope transaction(*this, Access::write);
  if (last == 0) last = storage_->counters().sequence;
  auto taken = select(after, limit);
  std::vector<MessageRef> messages;
  messages.reserve(taken.size());
  for (const auto& [message, row] : taken) messages.push_back(message);
  remove_messages(*transaction, messages);
  return taken;
}

std::vector<std::int64_t> Engine::acknowledge(std::span<const std::int64_t> numbers) {
  std::lock_guard lock(mutex_);
  std::vector<MessageLookup> named = lookups_of(numbers);
  storage_->expect({.messages = named});
  Scope transaction(*this, Access::write);
  storage_->load_many({.messages = named});
  std::vector<MessageRef> messages;
  std::vector<std::int64_t> removed;
  for (MessageLookup& one : named) {
    if (!one.found) continue;
    removed.push_back(one.number);
    messages.push_back(std::move(one.found));
  }
  remove_messages(*transaction, messages);
  return removed;
}

std::vector<std::int64_t> Engine::lease_messages(std::span<const std::int64_t> numbers, const std::string& holder, Duration lease) {
  if (holder.empty()) throw Error(ErrorCode::invalid, "holder must not be empty");
  if (lease < 0) throw Error(ErrorCode::invalid, "lease must be at least 0 ms, got " + std::to_string(lease));
  std::lock_guard lock(mutex_);
  std::vector<MessageLookup> named = lookups_of(numbers);
  storage_->expect({.messages = named});
  Scope transaction(*this, Access::write);
  storage_->load_many({.messages = named});
  const Instant now = present();
  const Instant until = lease == 0 ? 0 : saturating_add(now, lease);
  std::vector<std::int64_t> leased;
  for (const MessageLookup& one : named) {
    if (!one.found || (one.found->holder != holder && one.found->leased_until > now)) continue;
    leased.push_back(one.number);
    Shared<OutboxMessage> changed(new OutboxMessage(*one.found));
    changed->holder = lease == 0 ? std::string() : holder;
    changed->leased_until = until;
    transaction->set.lease_message(std::move(changed));
  }
  commit(*transaction);
  return leased;
}

void Engine::remove_messages(Transaction& transaction, const std::vector<MessageRef>& messages) {
  if (messages.empty()) return;
  std::vector<Lookup<RowRef>> tasks;
  for (const MessageRef& message : messages)
    if (message->kind == MessageKind::execute) tasks.push_back({message->id});
  transaction.set.prefetch({.rows = tasks});
  const Instant now = transaction.set.counters().now = present();
  for (const MessageRef& message : messages) remove_delivered(transaction.set, *message, now, options_);
  commit(transaction);
  if (!trace_) return;
  TraceEvent trace_event;
  trace_event.now = now;
  trace_event.taken = &messages;
  emit(trace_event);
}

}  // namespace resonate
