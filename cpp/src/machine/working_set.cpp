#include "machine/working_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "machine/derive.hpp"
#include "machine/planned.hpp"
#include "machine/quoted.hpp"

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

void refuse_unplanned(std::string_view what, const std::string& name) {
  throw std::logic_error("a request loads the " + std::string(what) + " " + quoted(name) +
                         ", which its descriptors do not name: see Names in resonate/described.hpp");
}

void WorkingSet::begin(Storage& storage) {
  storage_ = &storage;
  changes_.counters = storage.counters();
  counters_before_ = changes_.counters;
  first_own_seq_ = changes_.counters.sequence;
}

void WorkingSet::clear() {
  // Most requests use few of these containers, and to ask whether one is empty costs less than to clear it.
  const auto clear_used = [](auto&... containers) { ((containers.empty() ? void() : containers.clear()), ...); };
  planned_.reset();
  rows_left_ = SIZE_MAX;
  reached_row_limit_ = false;
  each_entry([](Entry& entry) {
    entry.before = nullptr;
    entry.now = nullptr;
    entry.checkpoint = nullptr;
    entry.changed = entry.removed = entry.checkpoint_removed = false;
  });
  entries_ = 0;
  if (more_.size() > kKeptEntries) more_.resize(kKeptEntries);
  checking_ = false;
  clear_used(removed_, index_, changes_.rows, changes_.schedules, changes_.queues, changes_.hours, changes_.edges_added,
             changes_.edges_removed, changes_.messages_added, changes_.messages_removed, changes_.messages_leased,
             changes_.submissions_ended);
  changes_.stores_instant = false;
  last_queue_ = nullptr;
  if (overlaid_) overlays_ = {};
  overlaid_ = false;
  if (due_rows_.read_until != kUnset || !due_rows_.items.empty()) due_rows_ = {.range = rows_by_due()};
  if (due_schedules_.read_until != kUnset || !due_schedules_.items.empty())
    due_schedules_ = {.range = {.by = ScheduleRange::By::due}};
  clear_used(schedules_, queues_of_jobs_, absent_, touched_, heap_, queues_, cancelled_with_, removed_apart_, edge_states_,
             added_edges_, removed_edges_, added_messages_, removed_messages_);
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

// Adds an entry of more_ to the hash table.
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

void WorkingSet::prefetch(const Lookups& records) {
  storage_->load_many(records);
  for (Lookup<RowRef>& row : records.rows) {
    if (!row.found) {
      absent_.emplace(row.key);
    } else if (!known(row.key)) {
      remember(std::move(row.found));
    }
  }
  for (const auto& [id, found] : records.schedules)
    schedules_.try_emplace(std::string(id), ScheduleEntry{found, found, found, false});
  for (const auto& [name, found] : records.queues)
    if (found) queues_of_jobs_.try_emplace(std::string(name), QueueEntry{found, found, false});
  for (const EdgeLookup& edge : records.edges) edge_states_.try_emplace(pair_key(edge.kind, edge.owner, edge.other), edge.found);
}

WorkingSet::Entry* WorkingSet::find(std::string_view id) {
  if (planned_) require_named(planned_->rows, "row", id);
  return follow(id);
}

WorkingSet::Entry* WorkingSet::follow(std::string_view id) {
  if (Entry* entry = known(id)) return entry->removed ? nullptr : entry;
  if (!absent_.empty() && absent_.contains(id)) return nullptr;
  RowRef row = storage_->load(id);
  return row ? &remember(std::move(row)) : nullptr;
}

Row& WorkingSet::edit(Entry& entry) {
  entry.changed = true;
  // Copies the row if a reply, storage or the checkpoint also refers to it: none of them may see the write.
  if (!entry.now->is_unshared()) entry.now = RowRef(new Row(*entry.now));
  return const_cast<Row&>(*entry.now);
}

void WorkingSet::touched(Entry& entry) { touched(entry, resonate::next_due(*entry.now)); }

void WorkingSet::touched(Entry& entry, Due due) {
  const_cast<Row&>(*entry.now).due = due;
  if (due.kind != DueKind::none) push_due({due, entry.now->id(), &entry, nullptr});
  touched_.push_back(&entry);
}

WorkingSet::Entry& WorkingSet::create(Shared<Row> row) {
  Entry* const removed = known(row->id());
  Entry& entry = removed ? *removed : new_entry();
  if (removed) removed_.push_back(std::move(removed->now));
  entry.now = std::move(row);
  if (!removed) index(entry);
  entry.removed = false;
  entry.changed = true;
  touched(entry);
  return entry;
}

void WorkingSet::remove(Entry& entry) {
  entry.changed = true;
  entry.removed = true;
}

WorkingSet::ScheduleEntry* WorkingSet::find_schedule(std::string_view id) {
  if (planned_) require_named(planned_->schedules, "schedule", id);
  return follow_schedule(id);
}

WorkingSet::ScheduleEntry* WorkingSet::follow_schedule(std::string_view id) {
  if (auto found = schedules_.find(id); found != schedules_.end()) return found->second.now ? &found->second : nullptr;
  ScheduleRef stored = storage_->load_schedule(id);
  if (!stored) return nullptr;
  return &schedules_.emplace(std::string(id), ScheduleEntry{stored, stored, stored, false}).first->second;
}

void WorkingSet::put_schedule(ScheduleRef schedule) {
  auto& [id, entry] = *schedules_.try_emplace(schedule->id).first;
  entry.now = std::move(schedule);
  entry.changed = true;
  // Uses the id in the map's key: a later put_schedule() frees this Schedule, but the item stays in the heap.
  if (const auto due = due_key(*entry.now)) push_due({*due, id, nullptr, &entry});
}

void WorkingSet::remove_schedule(ScheduleEntry& entry) {
  entry.now = nullptr;
  entry.changed = true;
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
    const std::vector<ScheduleRef> page = storage_->schedules({.after = from, .limit = kPage});
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
  if (planned_ && std::ranges::none_of(planned_->edges, [&](const EdgeLookup& edge) {
        return edge.kind == kind && edge.owner == owner && edge.other == other;
      }))
    refuse_unplanned("edge", std::string(owner) + " to " + std::string(other));
  if (!edge_states_.empty())
    if (const auto own = edge_states_.find(pair_key(kind, owner, other)); own != edge_states_.end()) return own->second;
  return storage_->has_edge(kind, owner, other);
}

void WorkingSet::add_edge(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect, bool cancels) {
  auto* edge = new Edge;
  EdgeRef held(edge);
  edge->kind = kind;
  edge->owner = owner;
  edge->other = other;
  edge->seq = ++changes_.counters.sequence;
  edge->dialect = dialect;
  edge->cancels = cancels;
  edge_states_[pair_key(kind, owner, other)] = true;
  queues_[{kind, edge->owner}].added.push_back(held);
  added_edges_.push_back(std::move(held));
}

// Moves to the next stored edge that remove_edge() has not removed; returns whether there is one.
bool WorkingSet::read_edges(EdgeQueue& queue, EdgeRange range) {
  for (;; ++queue.next_stored) {
    if (queue.next_stored == queue.stored.size()) {
      if (queue.complete) return false;
      if (const EdgeRef last = queue.stored.empty() ? nullptr : std::move(queue.stored.back())) {
        range.after = std::max(range.after, last->seq);
        range.after_owner = last->owner;
        queue.stored = storage_->edges(range);
      } else {
        queue.stored = storage_->edges(range);
      }
      queue.next_stored = 0;
      queue.complete = queue.stored.size() < range.limit;
      if (queue.stored.empty()) return false;
    }
    if (!removed_apart_.contains(queue.stored[queue.next_stored]->seq)) return true;
  }
}

EdgeRef WorkingSet::first_edge(EdgeKind kind, std::string_view owner) {
  EdgeQueue& queue = queues_[{kind, std::string(owner)}];
  if (read_edges(queue, {.kind = kind, .of = owner, .after = queue.consumed, .limit = kEdgePage}))
    return queue.stored[queue.next_stored];
  while (queue.next < queue.added.size() && removed_apart_.contains(queue.added[queue.next]->seq)) ++queue.next;
  return queue.next < queue.added.size() ? queue.added[queue.next] : nullptr;
}

void WorkingSet::remove_first_edge(const EdgeRef& edge) {
  EdgeQueue& queue = queues_[{edge->kind, edge->owner}];
  queue.consumed = edge->seq;
  ++(edge->seq > first_own_seq_ ? queue.next : queue.next_stored);
  edge_states_[pair_key(edge->kind, edge->owner, edge->other)] = false;
  removed_edges_.push_back(edge);
}

EdgeRef WorkingSet::first_cancelled_with(std::string_view awaiter) {
  EdgeQueue& queue = cancelled_with_[std::string(awaiter)];
  const auto present = [this](const Edge& edge) {
    const auto of_owner = queues_.find({edge.kind, edge.owner});
    return !removed_apart_.contains(edge.seq) && (of_owner == queues_.end() || edge.seq > of_owner->second.consumed);
  };
  EdgeRef first;
  for (; read_edges(queue, {.of = awaiter, .limit = kEdgePage, .by = EdgeRange::By::canceller}); ++queue.next_stored) {
    first = queue.stored[queue.next_stored];
    if (present(*first)) break;
    first = nullptr;
  }
  for (const EdgeRef& edge : added_edges_) {
    const std::string* const key = cancel_key(*edge);
    if (key && *key == awaiter && present(*edge) && (!first || edge->owner < first->owner)) first = edge;
  }
  return first;
}

void WorkingSet::remove_edge(const EdgeRef& edge) {
  removed_apart_.insert(edge->seq);
  edge_states_[pair_key(edge->kind, edge->owner, edge->other)] = false;
  removed_edges_.push_back(edge);
}

bool WorkingSet::any_edge(EdgeKind kind, std::string_view owner, const std::function<bool(const Edge&)>& wanted) {
  const EdgeQueue& queue = queues_[{kind, std::string(owner)}];
  const auto accepted = [&](const EdgeRef& edge) { return !removed_apart_.contains(edge->seq) && wanted(*edge); };
  for (std::int64_t after = queue.consumed;;) {
    const std::vector<EdgeRef> page = storage_->edges({.kind = kind, .of = owner, .after = after, .limit = kEdgePage});
    if (std::ranges::any_of(page, accepted)) return true;
    if (page.size() < kEdgePage) break;
    after = page.back()->seq;
  }
  return std::any_of(queue.added.begin() + static_cast<std::ptrdiff_t>(queue.next), queue.added.end(), accepted);
}

void WorkingSet::push_due(HeapItem item) {
  heap_.push_back(item);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

bool WorkingSet::holds(const HeapItem& item) {
  if (item.row) return item.row->now && !item.row->removed && item.row->now->due == item.due;
  return item.schedule->now && due_key(*item.schedule->now) == item.due;
}

bool WorkingSet::changed_here(const Row& row) {
  const Entry* const own = known(row.id());
  return own && own->changed;
}

bool WorkingSet::changed_here(const Schedule& schedule) {
  const auto own = schedules_.find(schedule.id);
  return own != schedules_.end() && own->second.changed;
}

namespace {

Due due_of(const Row& row) { return row.due; }
Due due_of(const Schedule& schedule) { return {schedule.due_at(), DueKind::schedule}; }

void continue_after(RowRange& range, const Row& row) { range.after = place_in(range, row); }
void continue_after(ScheduleRange& range, const Schedule& schedule) {
  range.after = schedule.id;
  range.after_at = schedule.due_at();
}

}  // namespace

// Returns the first due item that this transaction has not changed; null if none is due.
template <class Pages, class Read>
auto WorkingSet::first_due_of(Pages& pages, Instant now, Read read) -> decltype(pages.items.data()) {
  for (;;) {
    for (; pages.at < pages.items.size(); ++pages.at) {
      auto& item = pages.items[pages.at];
      if (due_of(*item).at > now) return nullptr;
      if (!changed_here(*item)) return &item;
    }
    if (now <= pages.read_until) return nullptr;
    pages.range.until = now;
    pages.range.limit = kPage;
    pages.items = read(pages.range);
    pages.at = 0;
    if (pages.items.size() < kPage) pages.read_until = now;
    if (!pages.items.empty()) continue_after(pages.range, *pages.items.back());
  }
}

const RowRef* WorkingSet::stored_due_row(Instant now) {
  return first_due_of(due_rows_, now, [this](const RowRange& range) { return storage_->rows(range); });
}

const ScheduleRef* WorkingSet::stored_due_schedule(Instant now) {
  return first_due_of(due_schedules_, now, [this](const ScheduleRange& range) { return storage_->schedules(range); });
}

std::optional<WorkingSet::Next> WorkingSet::next_due(Instant now) {
  while (!heap_.empty() && !holds(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }
  const HeapItem* own = heap_.empty() || heap_.front().due.at > now ? nullptr : &heap_.front();
  const bool any_stored = storage_->first_due() <= now;
  const RowRef* const row = any_stored ? stored_due_row(now) : nullptr;
  const ScheduleRef* const schedule = any_stored ? stored_due_schedule(now) : nullptr;
  const auto is_first = [](Due due, std::string_view id, Due other, std::string_view its) {
    return due < other || (due == other && id < its);
  };
  const bool by_schedule = schedule && (!row || due_of(**schedule) < due_of(**row));  // at the same instant rows precede schedules
  if (!own && !row && !schedule) return std::nullopt;
  if (own && (!row || is_first(own->due, own->id, (*row)->due, (*row)->id())) &&
      (!schedule || is_first(own->due, own->id, due_of(**schedule), (*schedule)->id)))
    return Next{own->due, own->row, own->schedule};
  if (by_schedule) return Next{due_of(**schedule), nullptr, follow_schedule((*schedule)->id)};
  Entry* const entry = known((*row)->id());
  return Next{(*row)->due, entry ? entry : &remember(*row), nullptr};
}

bool WorkingSet::changed() const noexcept {
  for (std::size_t i = 0; i < entries_; ++i)
    if ((i < kFewEntries ? few_[i] : *more_[i - kFewEntries]).changed) return true;
  return std::any_of(schedules_.begin(), schedules_.end(), [](const auto& item) { return item.second.changed; }) ||
         std::any_of(queues_of_jobs_.begin(), queues_of_jobs_.end(), [](const auto& item) { return item.second.changed; }) ||
         !added_edges_.empty() || !removed_edges_.empty() || !added_messages_.empty() || !changes_.messages_removed.empty() ||
         !changes_.messages_leased.empty() || !changes_.submissions_ended.empty() || changes_.counters != counters_before_;
}

Changes& WorkingSet::finish() {
  each_entry([&](Entry& entry) {
    if (!entry.changed) return;
    if (entry.removed) entry.now = nullptr;
    if (entry.before || entry.now) changes_.rows.push_back({std::move(entry.before), std::move(entry.now)});
  });
  for (auto& [name, entry] : queues_of_jobs_)
    if (entry.changed) changes_.queues.push_back({std::move(entry.before), std::move(entry.now), entry.tally});
  for (auto& [id, entry] : schedules_)
    if (entry.changed) changes_.schedules.push_back({std::move(entry.before), std::move(entry.now)});
  if (!removed_edges_.empty()) {
    std::erase_if(added_edges_, [this](const EdgeRef& edge) {
      return edge->seq <= queues_.at({edge->kind, edge->owner}).consumed || removed_apart_.contains(edge->seq);
    });
    std::erase_if(removed_edges_, [this](const EdgeRef& edge) { return edge->seq > first_own_seq_; });
    std::swap(changes_.edges_removed, removed_edges_);
  }
  if (!added_edges_.empty()) std::swap(changes_.edges_added, added_edges_);
  if (!removed_messages_.empty())
    std::erase_if(added_messages_, [this](const MessageRef& m) { return removed_messages_.contains(m->seq); });
  if (!added_messages_.empty()) std::swap(changes_.messages_added, added_messages_);
  return changes_;
}

void WorkingSet::checkpoint() {
  checking_ = true;
  each_entry([](Entry& entry) {
    entry.checkpoint = entry.now;
    entry.checkpoint_removed = entry.removed;
  });
  for (auto& [id, entry] : schedules_) entry.checkpoint = entry.now;
  edges_added_mark_ = added_edges_.size();
  edges_removed_mark_ = removed_edges_.size();
  messages_added_mark_ = added_messages_.size();
}

WorkingSet::StepView WorkingSet::since_checkpoint() {
  StepView view;
  each_entry([&](Entry& entry) {
    const RowRef before = entry.checkpoint_removed ? RowRef() : entry.checkpoint;
    const RowRef after = entry.removed ? RowRef() : entry.now;
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
