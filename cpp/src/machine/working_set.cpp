#include "machine/working_set.hpp"

#include <algorithm>

#include "machine/derive.hpp"

namespace resonate {

namespace {
constexpr std::size_t kPage = 256;
constexpr std::size_t kEdgePage = 64;

std::string pair_key(EdgeKind kind, std::string_view owner, std::string_view other) {
  std::string key(kind == EdgeKind::callback ? "c" : "l");
  key.append(owner).append(1, '\0').append(other);  // neither holds a NUL
  return key;
}
}  // namespace

void WorkingSet::begin(Storage& storage) {
  storage_ = &storage;
  changes_.counters = storage.counters();
  counters_before_ = changes_.counters;
  first_own_seq_ = changes_.counters.sequence;
}

void WorkingSet::clear() {
  rows_left_ = SIZE_MAX;
  cut_ = false;
  each_entry([](Entry& entry) {
    entry.before = entry.now = entry.checkpoint = nullptr;
    entry.changed = entry.gone = entry.checkpoint_gone = false;
  });
  entries_ = 0;
  removed_.clear();
  if (more_.size() > kKeptEntries) more_.resize(kKeptEntries);
  index_.clear();
  checking_ = false;
  changes_.rows.clear();
  changes_.schedules.clear();
  changes_.queues.clear();
  changes_.edges_added.clear();
  changes_.edges_removed.clear();
  changes_.messages_added.clear();
  changes_.messages_removed.clear();
  if (!schedules_.empty()) schedules_.clear();
  if (!queues_of_jobs_.empty()) queues_of_jobs_.clear();
  last_queue_ = nullptr;
  own_ready_.clear();
  if (!claim_pages_.empty()) claim_pages_.clear();
  if (!own_claims_.empty()) own_claims_.clear();
  if (!own_keys_.empty()) own_keys_.clear();
  if (!batches_.empty()) batches_.clear();
  heap_.clear();
  page_.clear();
  page_at_ = 0;
  page_after_.reset();
  if (!queues_.empty()) queues_.clear();
  if (!edge_states_.empty()) edge_states_.clear();
  added_edges_.clear();
  removed_edges_.clear();
  added_messages_.clear();
  if (!gone_messages_.empty()) gone_messages_.clear();
  last_dropped_ = 0;
  next_own_unblock_ = edges_added_mark_ = edges_removed_mark_ = messages_added_mark_ = 0;
}

template <class Visit>
void WorkingSet::each_entry(Visit visit) {
  for (std::size_t i = 0; i < std::min(entries_, kFewEntries); ++i) visit(few_[i]);
  for (std::size_t i = kFewEntries; i < entries_; ++i) visit(*more_[i - kFewEntries]);
}

WorkingSet::Entry& WorkingSet::new_entry() {
  if (entries_ < kFewEntries) return few_[entries_++];
  if (entries_ - kFewEntries == more_.size()) more_.push_back(std::make_unique<Entry>());
  return *more_[entries_++ - kFewEntries];
}

WorkingSet::Entry* WorkingSet::known(std::string_view id) {
  for (std::size_t i = 0; i < std::min(entries_, kFewEntries); ++i)
    if (few_[i].now && few_[i].now->id() == id) return &few_[i];
  if (entries_ <= kFewEntries) return nullptr;
  const std::size_t hash = std::hash<std::string_view>{}(id);
  for (std::size_t i = hash & (index_.size() - 1); index_[i]; i = (i + 1) & (index_.size() - 1))
    if (index_[i]->hash == hash && index_[i]->now->id() == id) return index_[i];
  return nullptr;
}

void WorkingSet::grow_index() {
  index_.assign(std::max<std::size_t>(64, index_.size() * 2), nullptr);
  for (std::size_t i = kFewEntries; i < entries_; ++i) {
    Entry& entry = *more_[i - kFewEntries];
    std::size_t at = entry.hash & (index_.size() - 1);
    while (index_[at] && index_[at] != &entry) at = (at + 1) & (index_.size() - 1);
    index_[at] = &entry;
  }
}

// Makes an entry beyond the few findable by its id.
void WorkingSet::index(Entry& entry) {
  if (entries_ <= kFewEntries) return;
  entry.hash = std::hash<std::string_view>{}(entry.now->id());
  if ((entries_ - kFewEntries) * 2 > index_.size()) return grow_index();
  std::size_t at = entry.hash & (index_.size() - 1);
  while (index_[at]) at = (at + 1) & (index_.size() - 1);
  index_[at] = &entry;
}

WorkingSet::Entry& WorkingSet::remember(RowRef row) {
  Entry& entry = new_entry();
  entry.before = row;
  if (checking_) entry.checkpoint = row;
  entry.now = std::move(row);
  index(entry);
  return entry;
}

void WorkingSet::prefetch(std::span<const std::string_view> ids) {
  std::vector<RowRef> rows = storage_->load_many(ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (rows[i] && !known(ids[i])) remember(std::move(rows[i]));
}

WorkingSet::Entry* WorkingSet::find(std::string_view id) {
  if (Entry* entry = known(id)) return entry->gone ? nullptr : entry;
  RowRef row = storage_->load(id);
  return row ? &remember(std::move(row)) : nullptr;
}

Row& WorkingSet::edit(Entry& entry) {
  entry.changed = true;
  // Held once means held by this entry alone: by no reply, no storage, no checkpoint. Then nobody sees the write.
  if (!entry.now->held_once()) entry.now = RowRef(new Row(*entry.now));
  return const_cast<Row&>(*entry.now);
}

void WorkingSet::touched(Entry& entry) { touched(entry, resonate::next_due(*entry.now)); }

void WorkingSet::touched(Entry& entry, Due due) {
  const_cast<Row&>(*entry.now).due = due;
  if (due.kind != DueKind::none) push_due({due, entry.now->id(), &entry, nullptr});
  const Job* const job = entry.now->job.get();
  if (!job || entry.now->state != PromiseState::pending) return;
  if (job->state == JobState::pending) own_ready_.push_back(&entry);
  if (job->batch) note_batch(entry);
}

WorkingSet::Entry& WorkingSet::create(Shared<Row> row) {
  Entry* const removed = known(row->id());
  Entry& entry = removed ? *removed : new_entry();
  if (removed) removed_.push_back(std::move(removed->now));
  entry.now = std::move(row);
  if (!removed) index(entry);
  entry.gone = false;
  entry.changed = true;
  touched(entry);
  return entry;
}

WorkingSet::ScheduleEntry* WorkingSet::find_schedule(std::string_view id) {
  if (auto found = schedules_.find(id); found != schedules_.end()) return found->second.now ? &found->second : nullptr;
  ScheduleRef stored = storage_->load_schedule(id);
  if (!stored) return nullptr;
  return &schedules_.emplace(std::string(id), ScheduleEntry{stored, stored, stored, false}).first->second;
}

void WorkingSet::put_schedule(ScheduleRef schedule) {
  auto& [id, entry] = *schedules_.try_emplace(schedule->id).first;
  entry.now = std::move(schedule);
  entry.changed = true;
  // The map's own id: the schedule goes when the next one takes its place, the item in the heap stays.
  if (const Instant at = entry.now->due_at(); at != kNever) push_due({{at, DueKind::schedule}, id, nullptr, &entry});
}

void WorkingSet::remove_schedule(ScheduleEntry& entry) {
  entry.now = nullptr;
  entry.changed = true;
}

std::vector<RowRef> WorkingSet::scan(RowScan scan, const std::function<bool(const Row&)>& wanted) {
  return scan_until(std::move(scan), [&wanted](const Row& row) { return wanted(row) ? Seen::wanted : Seen::unwanted; });
}

std::vector<RowRef> WorkingSet::scan_until(RowScan scan, const std::function<Seen(const Row&)>& judge) {
  // Rows that this transaction changed may belong to the result without being in storage's, or the other way round.
  std::vector<RowRef> own;
  each_entry([&](Entry& entry) {
    if (!entry.changed || !entry.now || entry.gone || (!scan.after.empty() && entry.now->id() <= scan.after)) return;
    const Row& row = *entry.now;
    if (scan.by == RowScan::By::branch && !(row.birth->branch && *row.birth->branch == scan.key)) return;
    if (scan.by == RowScan::By::pid && !(!row.job && row.task == TaskState::acquired && row.pid && row.pid->text == scan.key))
      return;
    if (scan.by == RowScan::By::job_state && !(row.job && row.job->state == scan.state)) return;
    own.push_back(entry.now);
  });
  std::sort(own.begin(), own.end(), [](const RowRef& a, const RowRef& b) { return a->id() < b->id(); });

  std::vector<RowRef> found;
  const std::size_t limit = scan.limit;
  auto next_own = own.begin();
  bool ended = limit == 0;
  auto add = [&](const RowRef& row) {
    const Seen seen = judge(*row);
    if (seen == Seen::wanted) found.push_back(row);
    ended = seen == Seen::end || found.size() == limit;
    return !ended;
  };
  // Rows may be large: what ends soon does not read many of them.
  std::size_t page_size = limit == SIZE_MAX ? kPage / 16 : std::clamp<std::size_t>(limit, kPage / 16, kPage);
  for (bool more = !ended; more; page_size = std::min(2 * page_size, 4 * kPage)) {
    scan.limit = std::min(page_size, rows_left_);
    if (rows_left_ == 0) {
      cut_ = true;
      return found;
    }
    const std::vector<RowRef> page = storage_->scan(scan);
    if (rows_left_ != SIZE_MAX) rows_left_ -= page.size();
    for (const RowRef& stored : page) {
      while (more && next_own != own.end() && (*next_own)->id() < stored->id()) more = add(*next_own++);
      if (!more) break;
      const Entry* mine = entries_ ? known(stored->id()) : nullptr;
      if (mine && mine->changed) continue;  // comes, or not, with `own`
      if (!(more = add(stored))) break;
    }
    if (page.size() < scan.limit) break;
    scan.after = page.back()->id();
  }
  while (!ended && next_own != own.end()) add(*next_own++);
  return found;
}

std::vector<ScheduleRef> WorkingSet::scan_schedules(std::string_view after, std::size_t limit,
                                                    const std::function<bool(const Schedule&)>& wanted) {
  std::vector<ScheduleRef> found;
  std::string from(after);
  auto own = schedules_.upper_bound(from);
  auto add = [&](const ScheduleRef& schedule) {
    if (schedule && wanted(*schedule)) found.push_back(schedule);
    return found.size() < limit;
  };
  for (bool more = limit > 0; more;) {
    const std::vector<ScheduleRef> page = storage_->scan_schedules(from, kPage);
    for (const ScheduleRef& stored : page) {
      while (more && own != schedules_.end() && own->first <= stored->id) more = add((own++)->second.now);
      if (!more) break;
      if (schedules_.contains(stored->id)) continue;
      if (!(more = add(stored))) break;
    }
    if (page.size() < kPage) break;
    from = page.back()->id;
  }
  while (found.size() < limit && own != schedules_.end()) add((own++)->second.now);
  return found;
}

bool WorkingSet::has_edge(EdgeKind kind, std::string_view owner, std::string_view other) {
  if (!edge_states_.empty())
    if (const auto own = edge_states_.find(pair_key(kind, owner, other)); own != edge_states_.end()) return own->second;
  return storage_->has_edge(kind, owner, other);
}

void WorkingSet::add_edge(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect) {
  auto* edge = new Edge;
  EdgeRef held(edge);
  edge->kind = kind;
  edge->owner = owner;
  edge->other = other;
  edge->seq = ++changes_.counters.sequence;
  edge->dialect = dialect;
  edge_states_[pair_key(kind, owner, other)] = true;
  queues_[{kind, edge->owner}].added.push_back(held);
  added_edges_.push_back(std::move(held));
}

EdgeRef WorkingSet::first_edge(EdgeKind kind, std::string_view owner) {
  EdgeQueue& queue = queues_[{kind, std::string(owner)}];
  if (queue.next_stored == queue.stored.size() && !queue.whole) {
    queue.stored = storage_->edges(kind, owner, queue.consumed, kEdgePage);
    queue.next_stored = 0;
    queue.whole = queue.stored.size() < kEdgePage;
  }
  if (queue.next_stored < queue.stored.size()) return queue.stored[queue.next_stored];
  return queue.next < queue.added.size() ? queue.added[queue.next] : nullptr;
}

void WorkingSet::remove_first_edge(const EdgeRef& edge) {
  EdgeQueue& queue = queues_[{edge->kind, edge->owner}];
  queue.consumed = edge->seq;
  ++(edge->seq > first_own_seq_ ? queue.next : queue.next_stored);
  edge_states_[pair_key(edge->kind, edge->owner, edge->other)] = false;
  removed_edges_.push_back(edge);
}

std::int64_t WorkingSet::add_message(Shared<OutboxMessage> message) {
  message->seq = ++changes_.counters.sequence;
  added_messages_.push_back(message);
  return message->seq;
}

void WorkingSet::remove_message(std::int64_t seq) {
  if (seq > first_own_seq_) {
    gone_messages_.insert(seq);
  } else {
    changes_.messages_removed.push_back(seq);
  }
}

void WorkingSet::drop_unblocks(Instant until) {
  // Queued in order of time: the first that is young enough ends the search.
  for (;;) {
    const MessageRef oldest = storage_->oldest_unblock(last_dropped_);
    if (!oldest) break;
    if (oldest->queued_at > until) return;
    changes_.messages_removed.push_back(last_dropped_ = oldest->seq);
    ++changes_.counters.dropped;
  }
  for (; next_own_unblock_ < added_messages_.size(); ++next_own_unblock_) {
    const OutboxMessage& message = *added_messages_[next_own_unblock_];
    if (message.kind != MessageKind::unblock) continue;
    if (message.queued_at > until) return;
    gone_messages_.insert(message.seq);
    ++changes_.counters.dropped;
  }
}

void WorkingSet::push_due(HeapItem item) {
  heap_.push_back(item);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

bool WorkingSet::holds(const HeapItem& item) {
  if (item.row) return item.row->now && !item.row->gone && item.row->now->due == item.due;
  return item.schedule->now && item.due.at == item.schedule->now->due_at();
}

bool WorkingSet::changed_here(const DueEntry& entry) {
  if (entry.schedule) {
    const auto own = schedules_.find(entry.schedule->id);
    return own != schedules_.end() && own->second.changed;
  }
  const Entry* own = known(entry.row->id());
  return own && own->changed;
}

// The first of storage's due entries that this transaction has not changed. Storage stands still meanwhile, so a page stays true.
const DueEntry* WorkingSet::storage_due(Instant now) {
  for (;;) {
    while (page_at_ < page_.size()) {
      const DueEntry& entry = page_[page_at_];
      if (entry.due.at > now) return nullptr;
      if (!changed_here(entry)) return &entry;
      ++page_at_;
    }
    if (!page_.empty()) page_after_ = page_.back();
    page_ = storage_->due(now, kPage, page_after_ ? &*page_after_ : nullptr);
    page_at_ = 0;
    if (page_.empty()) return nullptr;
  }
}

std::optional<WorkingSet::Next> WorkingSet::next_due(Instant now) {
  while (!heap_.empty() && !holds(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }
  const HeapItem* own = heap_.empty() || heap_.front().due.at > now ? nullptr : &heap_.front();
  const DueEntry* stored = storage_->first_due() <= now ? storage_due(now) : nullptr;
  if (!own && !stored) return std::nullopt;
  if (own && (!stored || own->due < stored->due || (own->due == stored->due && own->id < stored->id())))
    return Next{own->due, own->row, own->schedule};
  if (stored->schedule) return Next{stored->due, nullptr, find_schedule(stored->schedule->id)};
  Entry* entry = known(stored->row->id());
  return Next{stored->due, entry ? entry : &remember(stored->row), nullptr};
}

bool WorkingSet::changed() const noexcept {
  for (std::size_t i = 0; i < entries_; ++i)
    if ((i < kFewEntries ? few_[i] : *more_[i - kFewEntries]).changed) return true;
  return std::any_of(schedules_.begin(), schedules_.end(), [](const auto& item) { return item.second.changed; }) ||
         std::any_of(queues_of_jobs_.begin(), queues_of_jobs_.end(), [](const auto& item) { return item.second.changed; }) ||
         !added_edges_.empty() || !removed_edges_.empty() || !added_messages_.empty() || !changes_.messages_removed.empty() ||
         changes_.counters != counters_before_;
}

const Changes& WorkingSet::finish() {
  each_entry([&](Entry& entry) {
    if (!entry.changed) return;
    if (entry.gone) entry.now = nullptr;
    if (entry.before || entry.now) changes_.rows.push_back({std::move(entry.before), std::move(entry.now)});
  });
  for (auto& [name, entry] : queues_of_jobs_)
    if (entry.changed) changes_.queues.push_back({std::move(entry.before), std::move(entry.now)});
  for (auto& [id, entry] : schedules_)
    if (entry.changed) changes_.schedules.push_back({std::move(entry.before), std::move(entry.now)});
  if (!removed_edges_.empty())
    std::erase_if(added_edges_, [this](const EdgeRef& edge) {
      return edge->seq <= queues_.at({edge->kind, edge->owner}).consumed;
    });
  std::swap(changes_.edges_added, added_edges_);
  std::erase_if(removed_edges_, [this](const EdgeRef& edge) { return edge->seq > first_own_seq_; });
  std::swap(changes_.edges_removed, removed_edges_);
  if (!gone_messages_.empty())
    std::erase_if(added_messages_, [this](const MessageRef& m) { return gone_messages_.contains(m->seq); });
  std::swap(changes_.messages_added, added_messages_);
  return changes_;
}

void WorkingSet::checkpoint() {
  checking_ = true;
  each_entry([](Entry& entry) {
    entry.checkpoint = entry.now;
    entry.checkpoint_gone = entry.gone;
  });
  for (auto& [id, entry] : schedules_) entry.checkpoint = entry.now;
  edges_added_mark_ = added_edges_.size();
  edges_removed_mark_ = removed_edges_.size();
  messages_added_mark_ = added_messages_.size();
}

WorkingSet::StepView WorkingSet::since_checkpoint() {
  StepView view;
  each_entry([&](Entry& entry) {
    const RowRef before = entry.checkpoint_gone ? RowRef() : entry.checkpoint;
    const RowRef after = entry.gone ? RowRef() : entry.now;
    if (before != after) view.rows.emplace_back(before, after);
  });
  for (auto& [id, entry] : schedules_)
    if (entry.now != entry.checkpoint) view.schedules.emplace_back(entry.checkpoint, entry.now);
  view.edges_added = std::span(added_edges_).subspan(edges_added_mark_);
  view.edges_removed = std::span(removed_edges_).subspan(edges_removed_mark_);
  view.messages_added = std::span(added_messages_).subspan(messages_added_mark_);
  return view;
}

}  // namespace resonate
