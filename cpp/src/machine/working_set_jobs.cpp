// The queues in a transaction, and its searches for jobs.
#include <algorithm>
#include <utility>

#include "machine/job_groups.hpp"
#include "machine/planned.hpp"
#include "machine/working_set.hpp"

namespace resonate {

WorkingSet::QueueEntry* WorkingSet::known_queue(std::string_view name) {
  if (last_queue_ && last_queue_->now->name == name) return last_queue_;
  auto found = queues_of_jobs_.find(name);
  if (found == queues_of_jobs_.end()) {
    QueueRef stored = storage_->load_queue(name);
    if (!stored) return nullptr;
    found = queues_of_jobs_.emplace(std::string(name), QueueEntry{.before = stored, .now = stored}).first;
  }
  return last_queue_ = &found->second;
}

std::string WorkingSet::new_job_id() {
  std::string id;
  while (const std::optional<std::int64_t> number = storage_->take_job_number())
    if (id = generated_name("job", *number); !knows(id)) return id;
  do id = generated_name("job", ++changes_.counters.jobs);
  while (follow(id));
  return id;
}

const Queue* WorkingSet::find_queue(std::string_view name) {
  if (planned_) require_named(planned_->queues, "queue", name);
  return follow_queue(name);
}

const Queue* WorkingSet::follow_queue(std::string_view name) {
  QueueEntry* entry = known_queue(name);
  return entry ? entry->now.get() : nullptr;
}

Queue& WorkingSet::edit_queue(std::string_view name) { return const_cast<Queue&>(*edit_queue_entry(name).now); }

WorkingSet::QueueEntry& WorkingSet::edit_queue_entry(std::string_view name) {
  QueueEntry* entry = known_queue(name);
  if (!entry) {
    Shared<Queue> created(new Queue);
    created->name = name;
    entry = &queues_of_jobs_.emplace(std::string(name), QueueEntry{.before = nullptr, .now = std::move(created), .changed = true})
                 .first->second;
  }
  entry->changed = true;
  if (!entry->now->is_unshared()) entry->now = QueueRef(new Queue(*entry->now));
  return *entry;
}

void WorkingSet::end_hour(const std::string& queue, const QueueHour& counted, std::int64_t kept_from) {
  Shared<EndedHour> ended(new EndedHour);
  ended->queue = queue;
  ended->counted = counted;
  changes_.hours.push_back({std::move(ended), kept_from});
}

std::vector<QueueRef> WorkingSet::queues() {
  std::optional<std::vector<QueueRef>> all = queues_within_limit();
  if (!all) reached_row_limit_ = true;
  return std::move(all).value_or(std::vector<QueueRef>());
}

std::optional<std::vector<QueueRef>> WorkingSet::queues_within_limit() {
  const bool limited = rows_left_ != SIZE_MAX;
  std::vector<QueueRef> all = storage_->queues(limited ? rows_left_ + 1 : SIZE_MAX);
  if (limited && all.size() > rows_left_) return std::nullopt;
  if (limited) rows_left_ -= all.size();
  std::erase_if(all, [this](const QueueRef& stored) { return queues_of_jobs_.contains(stored->name); });
  for (const auto& [name, entry] : queues_of_jobs_) all.push_back(entry.now);
  std::sort(all.begin(), all.end(), [](const QueueRef& a, const QueueRef& b) { return a->name < b->name; });
  return all;
}

WorkingSet::Entry* WorkingSet::holder_of_key(std::string_view queue, const std::string& key, Instant now) {
  constexpr std::size_t kFewRows = 2;
  RowRange range{.index = Index::unique_key, .queue = std::string(queue), .text = key};
  Cursor cursor(*this, std::move(range), kFewRows, Cursor::Reads::once,
                [now](const Row& row) { return !row.dead_at(now) && row.job->holds_unique_key(now); });
  return cursor.peek() ? &cursor.entry() : nullptr;
}

// Within one priority, claims take the job that has been runnable longest first, so reading the first of each priority is enough.
// Woken jobs of one priority that are read: more of them wait in one queue only while no worker is there.
constexpr std::size_t kWokenAtMost = 100;

Instant WorkingSet::oldest_pending(const Queue& queue, Instant now) {
  if (queue.counts[static_cast<std::size_t>(JobState::pending)] == 0) return kUnset;
  Instant oldest = kNever;
  for (RowRange range = jobs_to_claim(queue.name);;) {
    Cursor cursor(*this, range, 1, Cursor::Reads::once, [now](const Row& row) { return !row.dead_at(now); });
    const RowRef* first = cursor.peek();
    if (!first) return oldest == kNever ? kUnset : oldest;
    const IndexPlace place = place_in(range, **first);
    // Woken jobs stand at their first turn, which is no later than since when they are pending: so they come before the job that
    // has been pending for longest, or one of them is it.
    for (std::size_t woken = 0; first; ++woken) {
      const Job& job = *(*first)->job;
      if (place_in(range, **first).major != place.major) break;
      oldest = std::min(oldest, job.enqueued_at);
      if (job.first_enqueued_at == kUnset || woken == kWokenAtMost) break;
      cursor.pop();
      first = cursor.peek();
    }
    range.after = {place.major + 1, kFirstPlace, {}};
  }
}

}  // namespace resonate
