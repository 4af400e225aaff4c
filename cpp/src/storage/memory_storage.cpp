#include "storage/memory_storage.hpp"

#include <algorithm>
#include <limits>

#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

std::unique_ptr<Storage> make_memory_storage() { return std::make_unique<MemoryStorage>(); }

void MemoryStorage::require_consistent() const {
  if (inconsistent_) throw Error(ErrorCode::storage, "the store ran out of memory during a commit and can no longer be used");
}

RowRef MemoryStorage::load(std::string_view id) {
  require_consistent();
  const RowRef* const found = rows_.find(id);
  return found ? *found : nullptr;
}

void MemoryStorage::load_many(const Lookups& records) {
  require_consistent();
  const auto look_up = [](const auto& container, auto& named) {
    if (const auto* const found = container.find(named.key)) named.found = *found;
  };
  for (Lookup<RowRef>& row : records.rows) look_up(rows_, row);
  for (Lookup<ScheduleRef>& schedule : records.schedules) look_up(schedules_, schedule);
  for (Lookup<QueueRef>& queue : records.queues) look_up(queues_, queue);
  for (EdgeLookup& edge : records.edges)
    if (const EdgeRef* const found = edge_pairs_.find(EdgePairProbe{edge.kind, edge.owner, edge.other})) edge.found = *found;
  for (MessageLookup& message : records.messages)
    if (const MessageRef* const found = messages_.find(message.number)) message.found = *found;
}

Instant MemoryStorage::first_due() {
  const TimerKey* const row = keys<Index::due>().first();
  const TimerKey* const schedule = schedules_due_.first();
  return std::min(row ? row->at : kNever, schedule ? schedule->at : kNever);
}

// The row that still has this specification, or null.
const Row* MemoryStorage::current(const PromiseSpec& promise_spec) const {
  const RowRef* row = rows_.find(promise_spec.id);
  return row && (*row)->promise_spec.get() == &promise_spec ? row->get() : nullptr;
}

bool MemoryStorage::index_some(std::size_t most) {
  for (; most > 0 && indexed_ < unindexed_.size(); --most, ++indexed_) {
    const Row* const row = current(*unindexed_[indexed_]);
    if (!row) continue;
    each_index([&]<Index index>() {
      if constexpr (is_entered_late(index))
        if (const std::optional<IndexKey> key = index_key<index>(*row)) keys<index>().insert({*key, row->id()});
    });
  }
  if (indexed_ < unindexed_.size()) return false;
  unindexed_.clear();
  indexed_ = 0;
  return true;
}

std::vector<RowRef> MemoryStorage::rows(const RowRange& range) {
  require_consistent();
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  std::vector<RowRef> found;
  if (range.limit == 0) return found;
  if (is_entered_late(range.index)) index_some(SIZE_MAX);
  each_index([&]<Index index>() {
    if (index != range.index) return;
    const IndexKey place{&range.queue, &range.text, &range.type, range.after.major, range.after.minor};
    const MemoryKey<index> after(place, range.after.id);
    keys<index>().visit_from(after, [&](const MemoryKey<index>& key) {
      if (!range.reaches(key.major()) || !key.is_in_group_of(after)) return false;
      if (after < key) found.push_back(*rows_.find(key.id()));
      return found.size() < range.limit;
    });
  });
  return found;
}

std::vector<ScheduleRef> MemoryStorage::schedules(const ScheduleRange& range) {
  require_consistent();
  std::vector<ScheduleRef> found;
  if (range.limit == 0) return found;
  const auto take = [&](const ScheduleRef& schedule) {
    found.push_back(schedule);
    return found.size() < range.limit;
  };
  if (range.by == ScheduleRange::By::due) {
    schedules_due_.visit_from(TimerKey({range.after_at, DueKind::schedule}, range.after), [&](const TimerKey& key) {
      if (key.at > range.until) return false;
      return (key.at == range.after_at && key.id() == range.after) || take(*schedules_.find(std::string_view(key.id())));
    });
  } else {
    schedules_.visit_from(std::string_view(range.after), [&](const ScheduleRef& schedule) {
      if (range.by == ScheduleRange::By::set_aside && !schedule->set_aside) return true;
      return schedule->id == range.after || take(schedule);
    });
  }
  return found;
}

std::vector<EdgeRef> MemoryStorage::edges(const EdgeRange& range) {
  require_consistent();
  std::vector<EdgeRef> found;
  if (range.limit == 0) return found;
  const auto take = [&](const EdgeRef& edge) {
    found.push_back(edge);
    return found.size() < range.limit;
  };
  if (range.by == EdgeRange::By::canceller) {
    edges_by_canceller_.visit_from(CancellerProbe{range.of, range.after_owner}, [&](const EdgeRef& edge) {
      return edge->other == range.of && (edge->owner == range.after_owner || take(edge));
    });
  } else {
    edges_.visit_from(EdgeOrderProbe{range.kind, range.of, range.after + 1},
                      [&](const EdgeRef& edge) { return edge->kind == range.kind && edge->owner == range.of && take(edge); });
  }
  return found;
}

std::vector<MessageRef> MemoryStorage::messages(const MessageRange& range) {
  require_consistent();
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  std::vector<MessageRef> found;
  if (range.limit == 0) return found;
  const auto take = [&](const MessageRef& message) {
    found.push_back(message);
    return found.size() < range.limit;
  };
  const std::int64_t from = range.after + 1;
  switch (range.by) {
    case MessageRange::By::seq: messages_.visit_from(from, take); break;
    case MessageRange::By::unblock: unblocks_.visit_from(from, take); break;
    case MessageRange::By::unblock_of:
      unblocks_by_id_.visit_from(UnblockProbe{range.text, from},
                                 [&](const MessageRef& message) { return message->id == range.text && take(message); });
      break;
    case MessageRange::By::address:
      messages_by_address_.visit_from(AddressProbe{range.text, from},
                                      [&](const MessageRef& message) { return message->address == range.text && take(message); });
      break;
    case MessageRange::By::prefix: {
      const bool within = range.after_address >= range.text;
      messages_by_address_.visit_from(
          within ? AddressProbe{range.after_address, from} : AddressProbe{range.text, 0},
          [&](const MessageRef& message) { return message->address.starts_with(range.text) && take(message); });
    }
  }
  return found;
}

std::vector<QueueRef> MemoryStorage::queues(std::size_t most) {
  require_consistent();
  std::vector<QueueRef> found;
  queues_.visit_all([&](const QueueRef& queue) {
    if (found.size() < most) found.push_back(queue);
    return found.size() < most;
  });
  return found;
}

std::vector<HourRef> MemoryStorage::hours(std::string_view queue, std::int64_t since) {
  require_consistent();
  std::vector<HourRef> found;
  hours_.visit_from(HourProbe{queue, since}, [&](const HourRef& hour) {
    if (hour->queue == queue) found.push_back(hour);
    return hour->queue == queue;
  });
  return found;
}

std::vector<std::string> MemoryStorage::holders(std::string_view after, std::size_t limit) {
  require_consistent();
  std::vector<std::string> found;
  for (std::string from(after); found.size() < limit;) {
    const std::size_t before = found.size();
    from.push_back('\0');  // the least text after it
    const std::string none;
    keys<Index::holder>().visit_from(MemoryKey<Index::holder>(IndexKey{.text = &from}, none), [&](const auto& key) {
      found.push_back(*key.texts[0]);
      return false;
    });
    if (found.size() == before) break;
    from = found.back();
  }
  return found;
}

template <Index index>
void MemoryStorage::move_key(const Row* before, const Row* after) {
  if constexpr (index == Index::branch)
    if (before && after) return;  // both have the same promise spec
  const std::optional<IndexKey> was = before ? index_key<index>(*before) : std::nullopt;
  const std::optional<IndexKey> is = after ? index_key<index>(*after) : std::nullopt;
  if (was && is ? was->is(*is) : !was && !is) return;
  if (was) keys<index>().erase({*was, before->id()});
  if (is) keys<index>().insert({*is, after->id()});
}

void MemoryStorage::apply_row(const RowChange& change) {
  const Row* before = change.before.get();
  const Row* after = change.after.get();
  if (before && after && before->promise_spec != after->promise_spec) {  // the transaction deleted the id and created it again
    apply_row({change.before, RowRef()});
    return apply_row({RowRef(), change.after});
  }
  const bool is_job = (before && before->job) || (after && after->job);
  const bool becomes_job = before && after && !before->job && after->job;
  each_index([&]<Index index>() {
    if constexpr (is_entered_late(index)) {  // index_some() enters new rows
      if (!after || becomes_job) move_key<index>(before, after);
    } else if (index < kFirstIndexOfJobs || is_job) {
      move_key<index>(before, after);
    }
  });
  if (after) {
    rows_.put(change.after);
    if (!before) unindexed_.push_back(after->promise_spec);
  } else {
    rows_.erase(before->id());
    // Drops the deleted rows from the list when it has grown to twice the number of rows, which happens if nothing searches by id.
    if (constexpr std::size_t kFew = 4096; unindexed_.size() > kFew && unindexed_.size() > 2 * rows_.size()) {
      unindexed_.erase(unindexed_.begin(), unindexed_.begin() + static_cast<std::ptrdiff_t>(indexed_));
      indexed_ = 0;
      std::erase_if(unindexed_, [this](const Shared<const PromiseSpec>& promise_spec) { return !current(*promise_spec); });
    }
  }
}

void MemoryStorage::apply_schedule(const ScheduleChange& change) {
  if (change.before) {
    if (const auto due = due_key(*change.before)) schedules_due_.erase(TimerKey(*due, change.before->id));
    schedules_.erase(change.before);
  }
  if (change.after) {
    schedules_.insert(change.after);
    if (const auto due = due_key(*change.after)) schedules_due_.insert(TimerKey(*due, change.after->id));
  }
}

void MemoryStorage::apply_hour(const HourChange& change) {
  hours_.erase(change.ended);
  hours_.insert(change.ended);
  std::vector<HourRef> old;
  hours_.visit_from(HourProbe{change.ended->queue, std::numeric_limits<std::int64_t>::min()}, [&](const HourRef& hour) {
    if (hour->queue != change.ended->queue || hour->counted.hour >= change.kept_from) return false;
    old.push_back(hour);
    return true;
  });
  for (const HourRef& hour : old) hours_.erase(hour);
}

void MemoryStorage::write(const Changes& changes) {
  require_consistent();
  inconsistent_ = true;
  if (changes.replaces_all) clear();
  for (const RowChange& change : changes.rows) apply_row(change);
  for (const ScheduleChange& change : changes.schedules) apply_schedule(change);
  for (const QueueChange& change : changes.queues) {
    if (change.before) queues_.erase(change.before);
    if (change.after) queues_.insert(change.after);
  }
  for (const HourChange& change : changes.hours) apply_hour(change);
  for (const EdgeRef& edge : changes.edges_removed) {
    edges_.erase(edge);
    edge_pairs_.erase(edge);
    if (cancel_key(*edge)) edges_by_canceller_.erase(edge);
  }
  for (const EdgeRef& edge : changes.edges_added) {
    edges_.insert(edge);
    edge_pairs_.insert(edge);
    if (cancel_key(*edge)) edges_by_canceller_.insert(edge);
  }
  for (const std::int64_t seq : changes.messages_removed) erase_message(seq);
  for (const MessageRef& message : changes.messages_leased) {
    erase_message(message->seq);
    insert_message(message);
  }
  for (const MessageRef& message : changes.messages_added) insert_message(message);
  counters_ = changes.counters;
  inconsistent_ = false;
}

void MemoryStorage::erase_message(std::int64_t seq) {
  const MessageRef* const found = messages_.find(seq);
  if (!found) return;
  const MessageRef message = *found;
  if (unblock_key(*message)) {
    unblocks_.erase(message);
    unblocks_by_id_.erase(message);
  }
  messages_by_address_.erase(message);
  messages_.erase(message);
}

void MemoryStorage::insert_message(const MessageRef& message) {
  messages_.insert(message);
  messages_by_address_.insert(message);
  if (!unblock_key(*message)) return;
  unblocks_.insert(message);
  unblocks_by_id_.insert(message);
}

void MemoryStorage::clear() {
  each_index([this]<Index index>() { keys<index>().clear(); });
  schedules_due_.clear();
  unindexed_.clear();
  indexed_ = 0;
  schedules_.clear();
  edges_.clear();
  edge_pairs_.clear();
  edges_by_canceller_.clear();
  messages_.clear();
  messages_by_address_.clear();
  unblocks_.clear();
  unblocks_by_id_.clear();
  queues_.clear();
  hours_.clear();
  rows_.clear();
}

std::unique_ptr<Storage> MemoryStorage::fork() {
  require_consistent();
  return std::unique_ptr<Storage>(new MemoryStorage(*this));
}

}  // namespace resonate
