#include "machine/working_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "machine/derive.hpp"
#include "machine/planned.hpp"
#include "machine/quoted.hpp"

namespace resonate {

namespace {
constexpr std::size_t kPage = 256;
}  // namespace

void refuse_unplanned(std::string_view what, const std::string& name) {
  throw std::logic_error("a request loads the " + std::string(what) + " " + quoted(name) +
                         ", which its descriptors do not name: see Names in resonate/described.hpp");
}

void WorkingSet::begin(Storage& storage) {
  storage_ = &storage;
  changes_.counters = storage.counters();
  counters_before_ = changes_.counters;
  last_stored_message_ = changes_.counters.sequence;
  due_.begin(storage);
  edges_.begin(storage, changes_.counters);
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
  clear_used(replaced_rows_, entry_table_, changes_.rows, changes_.schedules, changes_.queues, changes_.hours, changes_.edges_added,
             changes_.edges_removed, changes_.messages_added, changes_.messages_removed, changes_.messages_leased,
             changes_.submissions_ended);
  changes_.stores_instant = false;
  last_queue_ = nullptr;
  if (overlaid_) overlays_ = {};
  overlaid_ = false;
  due_.clear();
  edges_.clear();
  clear_used(schedules_, queues_of_jobs_, absent_, touched_, added_messages_, removed_messages_);
  last_dropped_ = 0;
  next_own_unblock_ = messages_added_mark_ = 0;
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
  for (std::size_t i = hash & (entry_table_.size() - 1); entry_table_[i]; i = (i + 1) & (entry_table_.size() - 1))
    if (entry_table_[i]->hash == hash && entry_table_[i]->now->id() == id) return entry_table_[i];
  return nullptr;
}

void WorkingSet::grow_entry_table() {
  entry_table_.assign(std::max<std::size_t>(64, entry_table_.size() * 2), nullptr);
  for (std::size_t i = kFewEntries; i < entries_; ++i) {
    Entry& entry = *more_[i - kFewEntries];
    std::size_t at = entry.hash & (entry_table_.size() - 1);
    while (entry_table_[at] && entry_table_[at] != &entry) at = (at + 1) & (entry_table_.size() - 1);
    entry_table_[at] = &entry;
  }
}

// Adds an entry of more_ to the hash table.
void WorkingSet::enter_in_table(Entry& entry) {
  if (entries_ <= kFewEntries) return;
  entry.hash = std::hash<std::string_view>{}(entry.now->id());
  if ((entries_ - kFewEntries) * 2 > entry_table_.size()) return grow_entry_table();
  std::size_t at = entry.hash & (entry_table_.size() - 1);
  while (entry_table_[at]) at = (at + 1) & (entry_table_.size() - 1);
  entry_table_[at] = &entry;
}

WorkingSet::Entry& WorkingSet::remember(RowRef row) {
  Entry& entry = new_entry();
  entry.before = row;
  if (checking_) entry.checkpoint = row;
  entry.now = std::move(row);
  enter_in_table(entry);
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
  edges_.note(records.edges);
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
  if (due.kind != DueKind::none) due_.push({due, entry.now->id(), &entry, nullptr});
  touched_.push_back(&entry);
}

WorkingSet::Entry& WorkingSet::create(Shared<Row> row) {
  Entry* const removed = known(row->id());
  Entry& entry = removed ? *removed : new_entry();
  if (removed) replaced_rows_.push_back(std::move(removed->now));
  entry.now = std::move(row);
  if (!removed) enter_in_table(entry);
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
  if (const auto due = due_key(*entry.now)) due_.push({*due, id, nullptr, &entry});
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
  return static_cast<bool>(edges_.find(kind, owner, other));
}

bool WorkingSet::changed_here(const Row& row) {
  const Entry* const own = known(row.id());
  return own && own->changed;
}

bool WorkingSet::changed_here(const Schedule& schedule) {
  const auto own = schedules_.find(schedule.id);
  return own != schedules_.end() && own->second.changed;
}

std::optional<WorkingSet::Next> WorkingSet::next_due(Instant now) {
  const auto first = due_.first(now, [this](const auto& record) { return changed_here(record); });
  if (!first) return std::nullopt;
  if (first->own) return Next{first->due, first->own->row, first->own->schedule};
  if (first->schedule) return Next{first->due, nullptr, follow_schedule((*first->schedule)->id)};
  Entry* const entry = known((*first->row)->id());
  return Next{first->due, entry ? entry : &remember(*first->row), nullptr};
}

bool WorkingSet::changed() const noexcept {
  for (std::size_t i = 0; i < entries_; ++i)
    if ((i < kFewEntries ? few_[i] : *more_[i - kFewEntries]).changed) return true;
  return std::any_of(schedules_.begin(), schedules_.end(), [](const auto& item) { return item.second.changed; }) ||
         std::any_of(queues_of_jobs_.begin(), queues_of_jobs_.end(), [](const auto& item) { return item.second.changed; }) ||
         edges_.changed() || !added_messages_.empty() || !changes_.messages_removed.empty() || !changes_.messages_leased.empty() ||
         !changes_.submissions_ended.empty() || changes_.counters != counters_before_;
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
  edges_.finish(changes_);
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
  edges_.checkpoint();
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
  view.edges_added = edges_.added_since_checkpoint();
  view.edges_removed = edges_.removed_since_checkpoint();
  view.messages_added = std::span(added_messages_).subspan(messages_added_mark_);
  return view;
}

}  // namespace resonate
