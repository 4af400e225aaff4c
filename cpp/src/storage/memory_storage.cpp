#include "storage/memory_storage.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/derive.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

std::unique_ptr<Storage> make_memory_storage() { return std::make_unique<MemoryStorage>(); }

namespace {

// Bytes as numbers whose order is theirs.
template <std::size_t N>
std::array<std::uint64_t, N> ordered_words(const std::array<char, 8 * N>& bytes) noexcept {
  std::array<std::uint64_t, N> words{};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if constexpr (std::endian::native == std::endian::little)
    for (std::uint64_t& word : words) word = __builtin_bswap64(word);
  return words;
}

template <std::size_t N>
std::array<std::uint64_t, N> head_of(std::string_view text) noexcept {
  std::array<char, 8 * N> bytes{};
  std::copy_n(text.data(), std::min(text.size(), bytes.size()), bytes.data());  // unlike memcpy it takes the null of no text
  return ordered_words<N>(bytes);
}

}  // namespace

MemoryStorage::DueKey::DueKey(Due due, const std::string& of) noexcept : at(due.at), id(&of) {
  std::array<char, sizeof(head)> bytes{static_cast<char>(due.kind)};
  std::memcpy(bytes.data() + 1, of.data(), std::min(of.size(), bytes.size() - 1));
  head = ordered_words<2>(bytes);
}

MemoryStorage::ClaimKeyOfRow::ClaimKeyOfRow(std::string_view of_queue, int of_priority, Instant since, std::string_view of) noexcept
    : queue_head(head_of<1>(of_queue)[0]),
      priority(of_priority),
      enqueued_at(since),
      id_head(head_of<3>(of)),
      queue(of_queue),
      id(of) {}

MemoryStorage::ClaimKeyOfRow::ClaimKeyOfRow(const Row& row) noexcept
    : ClaimKeyOfRow(row.job->spec->queue, row.job->spec->priority, row.job->enqueued_at, row.id()) {
  spec = row.job->spec;
}

void MemoryStorage::require_whole() const {
  if (torn_) throw Error(ErrorCode::storage, "the store ran out of memory inside a commit and cannot be used any more");
}

RowRef MemoryStorage::load(std::string_view id) {
  require_whole();
  const RowRef* row = rows_.find(id);
  return row ? *row : RowRef();
}

std::vector<RowRef> MemoryStorage::load_many(std::span<const std::string_view> ids) {
  std::vector<RowRef> found;
  found.reserve(ids.size());
  for (std::string_view id : ids) found.push_back(load(id));
  return found;
}

ScheduleRef MemoryStorage::load_schedule(std::string_view id) {
  require_whole();
  const ScheduleRef* schedule = schedules_.find(id);
  return schedule ? *schedule : ScheduleRef();
}

Instant MemoryStorage::first_due() {
  const DueKey* first = due_.first();
  return first ? first->at : kNever;
}

DueEntry MemoryStorage::entry_of(const DueKey& key) const {
  DueEntry entry;
  entry.due = {key.at, key.kind()};
  if (key.kind() == DueKind::schedule) {
    entry.schedule = *schedules_.find(std::string_view(*key.id));
  } else {
    entry.row = *rows_.find(*key.id);
  }
  return entry;
}

std::vector<DueEntry> MemoryStorage::due(Instant until, std::size_t limit, const DueEntry* after) {
  require_whole();
  std::vector<DueEntry> found;
  auto collect = [&](const DueKey& key) {
    if (key.at > until || found.size() >= limit) return false;
    if (after && key.at == after->due.at && key.kind() == after->due.kind && *key.id == after->id()) return true;
    found.push_back(entry_of(key));
    return found.size() < limit;
  };
  if (after) {
    const std::string& id = after->row ? after->row->id() : after->schedule->id;
    due_.visit_from(DueKey(after->due, id), collect);
  } else {
    due_.visit_all(collect);
  }
  return found;
}

bool MemoryStorage::is_there(const Birth& birth) const {
  const RowRef* row = rows_.find(birth.id);
  return row && (*row)->birth.get() == &birth;
}

bool MemoryStorage::index_some(std::size_t most) {
  for (; most > 0 && indexed_ < not_yet_by_id_.size(); --most, ++indexed_) {
    const Birth& birth = *not_yet_by_id_[indexed_];
    if (is_there(birth)) by_id_.insert(&birth);
  }
  if (indexed_ < not_yet_by_id_.size()) return false;
  not_yet_by_id_.clear();
  indexed_ = 0;
  return true;
}

std::vector<RowRef> MemoryStorage::scan(const RowScan& scan) {
  require_whole();
  if (scan.limit >= kLongPage) allow_interrupt(Pause::working);
  std::vector<RowRef> found;
  auto take = [&](const Birth* birth) {
    if (birth->id == scan.after && !scan.after.empty()) return true;
    found.push_back(*rows_.find(birth->id));
    return found.size() < scan.limit;
  };
  if (scan.limit == 0) return found;
  switch (scan.by) {
    case RowScan::By::id:
      index_some(SIZE_MAX);
      by_id_.visit_from(std::string_view(scan.after), take);
      break;
    case RowScan::By::branch:
      by_branch_.visit_from(GroupProbe{scan.key, scan.after},
                            [&](const Birth* birth) { return *birth->branch == scan.key && take(birth); });
      break;
    case RowScan::By::pid:
      by_pid_.visit_from(GroupProbe{scan.key, scan.after},
                         [&](const PidKey& key) { return key.pid->text == scan.key && take(key.birth); });
      break;
    case RowScan::By::job_state:
      by_job_state_.visit_from(StateProbe{scan.state, scan.after},
                               [&](const StateKey& key) { return key.state == scan.state && take(key.birth); });
      break;
  }
  return found;
}

std::vector<ScheduleRef> MemoryStorage::scan_schedules(std::string_view after, std::size_t limit) {
  require_whole();
  std::vector<ScheduleRef> found;
  if (limit == 0) return found;
  schedules_.visit_from(after, [&](const ScheduleRef& schedule) {
    if (!after.empty() && schedule->id == after) return true;
    found.push_back(schedule);
    return found.size() < limit;
  });
  return found;
}

std::vector<EdgeRef> MemoryStorage::edges(EdgeKind kind, std::string_view owner, std::int64_t after_seq, std::size_t limit) {
  require_whole();
  std::vector<EdgeRef> found;
  if (limit == 0) return found;
  edges_.visit_from(EdgeOrderProbe{kind, owner, after_seq + 1}, [&](const EdgeRef& edge) {
    if (edge->kind != kind || edge->owner != owner) return false;
    found.push_back(edge);
    return found.size() < limit;
  });
  return found;
}

bool MemoryStorage::has_edge(EdgeKind kind, std::string_view owner, std::string_view other) {
  require_whole();
  return edge_pairs_.find(EdgePairProbe{kind, owner, other}) != nullptr;
}

std::vector<MessageRef> MemoryStorage::messages(std::int64_t after_seq, std::size_t limit) {
  require_whole();
  if (limit >= kLongPage) allow_interrupt(Pause::working);
  std::vector<MessageRef> found;
  if (limit == 0) return found;
  messages_.visit_from(after_seq + 1, [&](const MessageRef& message) {
    found.push_back(message);
    return found.size() < limit;
  });
  return found;
}

std::vector<MessageRef> MemoryStorage::messages_to(const AddressPattern& to, std::string_view after_address, std::int64_t after_seq,
                                                   std::size_t limit) {
  require_whole();
  std::vector<MessageRef> found;
  if (limit == 0) return found;
  const AddressProbe from = to.prefix && after_address >= to.text ? AddressProbe{after_address, after_seq + 1}
                                                                  : AddressProbe{to.text, to.prefix ? 0 : after_seq + 1};
  messages_by_address_.visit_from(from, [&](const MessageRef& message) {
    if (!to.matches(message->address)) return false;
    found.push_back(message);
    return found.size() < limit;
  });
  return found;
}

MessageRef MemoryStorage::oldest_unblock(std::int64_t after_seq) {
  MessageRef oldest;
  unblocks_.visit_from(after_seq + 1, [&](const MessageRef& message) {
    oldest = message;
    return false;
  });
  return oldest;
}

std::vector<std::int64_t> MemoryStorage::unblocks_of(std::string_view id) {
  std::vector<std::int64_t> found;
  unblocks_by_id_.visit_from(UnblockProbe{id, 0}, [&](const MessageRef& message) {
    if (message->id != id) return false;
    found.push_back(message->seq);
    return true;
  });
  return found;
}

std::vector<RowRef> MemoryStorage::claimable(std::string_view queue, std::size_t limit, const ClaimKey* after) {
  require_whole();
  std::vector<RowRef> found;
  if (limit == 0) return found;
  const ClaimKeyOfRow from =
      after ? ClaimKeyOfRow(queue, after->priority, after->enqueued_at, after->id) : ClaimKeyOfRow(queue, 0, kAtOnce, {});
  by_claim_.visit_from(from, [&](const ClaimKeyOfRow& key) {
    if (key.queue != queue) return false;
    if (after && key.priority == after->priority && key.enqueued_at == after->enqueued_at && key.id == after->id) return true;
    found.push_back(*rows_.find(key.id));
    return found.size() < limit;
  });
  return found;
}

std::vector<RowRef> MemoryStorage::unique_jobs(std::string_view queue, std::string_view key) {
  require_whole();
  std::vector<RowRef> found;
  by_unique_key_.visit_from(UniqueProbe{queue, key, {}}, [&](const UniqueKeyOfRow& one) {
    if (*one.spec->unique_key != key || one.spec->queue != queue) return false;
    found.push_back(*rows_.find(one.birth->id));
    return true;
  });
  return found;
}

std::vector<RowRef> MemoryStorage::batch_jobs(std::string_view queue, std::string_view key) {
  require_whole();
  std::vector<RowRef> found;
  by_batch_.visit_from(UniqueProbe{queue, key, {}}, [&](const BatchKeyOfRow& one) {
    if (one.key->text != key || one.spec->queue != queue) return false;
    found.push_back(*rows_.find(one.birth->id));
    return true;
  });
  return found;
}

QueueRef MemoryStorage::load_queue(std::string_view name) {
  require_whole();
  const QueueRef* queue = queues_.find(name);
  return queue ? *queue : QueueRef();
}

std::vector<QueueRef> MemoryStorage::queues() {
  require_whole();
  std::vector<QueueRef> all;
  queues_.visit_all([&](const QueueRef& queue) {
    all.push_back(queue);
    return true;
  });
  return all;
}

void MemoryStorage::index_job(const Row* before, const Row* after) {
  const auto job_of = [](const Row* row) { return row ? row->job.get() : nullptr; };
  const Job* const was = job_of(before);
  const Job* const is = job_of(after);
  if (!was && !is) return;
  const auto waits = [](const Job* job) { return job && job->state == JobState::pending; };
  const auto keyed = [](const Job* job) { return job && job->spec->unique_key && !is_terminal(job->state); };
  if (waits(was) != waits(is) || (waits(was) && was->enqueued_at != is->enqueued_at)) {
    if (waits(was)) by_claim_.erase(ClaimKeyOfRow(*before));
    if (waits(is)) by_claim_.insert(ClaimKeyOfRow(*after));
  }
  const auto batched = [](const Job* job) { return job && job->batch; };
  if (batched(was) || batched(is)) index_batch(before, after);
  const auto aside = [](const Job* job) { return job && is_set_aside(job->state); };
  if (aside(was) && !(is && is->state == was->state)) by_job_state_.erase(StateKey{was->state, before->birth.get()});
  if (aside(is) && !(was && was->state == is->state)) by_job_state_.insert(StateKey{is->state, after->birth.get()});
  if (keyed(was) != keyed(is)) {
    if (keyed(was)) by_unique_key_.erase(UniqueKeyOfRow{was->spec, before->birth.get()});
    if (keyed(is)) by_unique_key_.insert(UniqueKeyOfRow{is->spec, after->birth.get()});
  }
}

void MemoryStorage::index_batch(const Row* before, const Row* after) {
  const std::string was = before ? batch_key(*before) : std::string();
  const std::string is = after ? batch_key(*after) : std::string();
  if (was == is) return;
  const auto key_of = [](const Row& row, const std::string& key) {
    return BatchKeyOfRow{row.job->spec, Shared<const SharedString>(new SharedString(key)), row.birth.get()};
  };
  if (!was.empty()) by_batch_.erase(key_of(*before, was));
  if (!is.empty()) by_batch_.insert(key_of(*after, is));
}

void MemoryStorage::apply_row(const RowChange& change) {
  const Row* before = change.before.get();
  const Row* after = change.after.get();
  if (before && after && before->birth != after->birth) {  // the id was deleted and taken again in one transaction
    apply_row({change.before, RowRef()});
    return apply_row({RowRef(), change.after});
  }
  index_job(before, after);
  const bool due_moved = !before || !after || before->due != after->due;
  if (before && due_moved && before->due.kind != DueKind::none) due_.erase(DueKey(before->due, before->id()));
  const auto held = [](const Row* row) { return row && !row->job && row->task == TaskState::acquired && row->pid; };
  const bool held_before = held(before);
  const bool held_after = held(after);
  const bool holder_moved = held_before != held_after || (held_before && before->pid->text != after->pid->text);
  if (held_before && holder_moved) by_pid_.erase(PidKey{before->pid, before->birth.get()});
  if (!after) {
    by_id_.erase(before->birth.get());
    if (before->birth->branch) by_branch_.erase(before->birth.get());
    rows_.erase(before->id());
    // Where rows come and go and nobody searches, those that went are dropped now and then.
    if (constexpr std::size_t kFew = 4096; not_yet_by_id_.size() > kFew && not_yet_by_id_.size() > 2 * rows_.size()) {
      not_yet_by_id_.erase(not_yet_by_id_.begin(), not_yet_by_id_.begin() + static_cast<std::ptrdiff_t>(indexed_));
      indexed_ = 0;
      std::erase_if(not_yet_by_id_, [this](const Shared<const Birth>& birth) { return !is_there(*birth); });
    }
    return;
  }
  rows_.put(change.after);
  if (!before) {
    not_yet_by_id_.push_back(after->birth);
    if (after->birth->branch) by_branch_.insert(after->birth.get());
  }
  if (due_moved && after->due.kind != DueKind::none) due_.insert(DueKey(after->due, after->id()));
  if (held_after && holder_moved) by_pid_.insert(PidKey{after->pid, after->birth.get()});
}

void MemoryStorage::apply_schedule(const ScheduleChange& change) {
  if (change.before) {
    due_.erase(DueKey({change.before->due_at(), DueKind::schedule}, change.before->id));
    schedules_.erase(change.before);
  }
  if (change.after) {
    schedules_.insert(change.after);
    if (const Instant at = change.after->due_at(); at != kNever) due_.insert(DueKey({at, DueKind::schedule}, change.after->id));
  }
}

void MemoryStorage::write(const Changes& changes) {
  require_whole();
  torn_ = true;
  for (const RowChange& change : changes.rows) apply_row(change);
  for (const ScheduleChange& change : changes.schedules) apply_schedule(change);
  for (const QueueChange& change : changes.queues) {
    if (change.before) queues_.erase(change.before);
    if (change.after) queues_.insert(change.after);
  }
  for (const EdgeRef& edge : changes.edges_removed) {
    edges_.erase(edge);
    edge_pairs_.erase(edge);
  }
  for (const EdgeRef& edge : changes.edges_added) {
    edges_.insert(edge);
    edge_pairs_.insert(edge);
  }
  for (std::int64_t seq : changes.messages_removed) {
    const MessageRef* found = messages_.find(seq);
    if (!found) continue;
    const MessageRef message = *found;
    if (message->kind == MessageKind::unblock) {
      unblocks_.erase(message);
      unblocks_by_id_.erase(message);
    }
    messages_by_address_.erase(message);
    messages_.erase(message);
  }
  for (const MessageRef& message : changes.messages_added) {
    messages_.insert(message);
    messages_by_address_.insert(message);
    if (message->kind == MessageKind::unblock) {
      unblocks_.insert(message);
      unblocks_by_id_.insert(message);
    }
  }
  counters_ = changes.counters;
  torn_ = false;
}

void MemoryStorage::clear() {
  due_.clear();
  by_id_.clear();
  not_yet_by_id_.clear();
  indexed_ = 0;
  by_branch_.clear();
  by_pid_.clear();
  schedules_.clear();
  edges_.clear();
  edge_pairs_.clear();
  messages_.clear();
  messages_by_address_.clear();
  unblocks_.clear();
  unblocks_by_id_.clear();
  by_claim_.clear();
  by_unique_key_.clear();
  by_batch_.clear();
  by_job_state_.clear();
  queues_.clear();
  rows_.clear();
  counters_ = {};
  torn_ = false;
}

std::unique_ptr<Storage> MemoryStorage::fork() {
  require_whole();
  return std::unique_ptr<Storage>(new MemoryStorage(*this));
}

}  // namespace resonate
