#include "resonate/watch.hpp"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <functional>

#include "machine/news.hpp"
#include "resonate/storage.hpp"

namespace resonate {

namespace {

template <class Enum>
std::size_t place(Enum value) {
  return static_cast<std::size_t>(value);
}

// Whether this commit settles or deletes a promise that was pending.
bool settles(const Changes& changes) {
  return std::ranges::any_of(changes.rows, [](const RowChange& change) {
    const bool was_pending = change.before && change.before->settled_at == kUnset;
    return was_pending && (!change.after || change.after->settled_at != kUnset);
  });
}

// Why a commit may wake a watch.
struct Reasons {
  bool work;
  Instant earliest = kNever;  // of the steps of the rows and schedules that it wrote
};

Reasons reasons_of(const Changes& changes) {
  Reasons reasons{.work = brings_work(changes)};
  for (const RowChange& change : changes.rows)
    if (change.after) reasons.earliest = std::min(reasons.earliest, change.after->due.at);
  for (const ScheduleChange& change : changes.schedules)
    if (change.after) reasons.earliest = std::min(reasons.earliest, change.after->due_at());
  return reasons;
}

const Job* job_of(const RowRef& row) { return row ? row->job.get() : nullptr; }

// Counts the attempts that this commit ended, identified by their numbers.
void count_attempts(JobCounts& counts, const Job* before, const Job& after) {
  for (auto attempt = after.attempts.rbegin(); attempt != after.attempts.rend(); ++attempt) {
    if (attempt->outcome == Outcome::open) continue;
    const bool known = before && attempt->number <= before->attempt_count;
    const bool was_open = known && !before->attempts.empty() && before->attempts.back().number == attempt->number &&
                          before->attempts.back().outcome == Outcome::open;
    if (known && !was_open) return;
    ++counts.attempts[place(attempt->outcome)];
  }
}

}  // namespace

JobCounts job_counts(const Changes& changes) noexcept {
  JobCounts counts;
  for (const RowChange& change : changes.rows) {
    const Job* before = job_of(change.before);
    const Job* after = job_of(change.after);
    if (after) {
      count_attempts(counts, before, *after);
      if (!before || before->state != after->state) ++counts.entered[place(after->state)];
    } else if (before && before->state == JobState::running) {  // with a retention of 0 a job is deleted when it completes
      ++counts.attempts[place(Outcome::completed)];
      ++counts.entered[place(JobState::completed)];
    }
  }
  return counts;
}

void QueueTallies::add(const std::string& queue, const QueueTally& tally) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) {
    if (queues_.size() == kQueuesApart) return (others_ ? *others_ : others_.emplace()).add(tally);
    found = queues_.emplace(queue, Entry{queues_.size(), {}}).first;
  }
  found->second.tally.add(tally);
}

QueueTallies::Counted QueueTallies::first(std::size_t limit) const {
  Counted counted{.queues = {}, .others = others_};
  for (const auto& [name, entry] : queues_) {
    if (entry.place < limit) {
      counted.queues.emplace_back(name, entry.tally);
    } else {
      (counted.others ? *counted.others : counted.others.emplace()).add(entry.tally);
    }
  }
  return counted;
}

std::shared_ptr<Watch> Watches::add(int descriptor, Settlements settlements) {
  auto made = std::make_shared<Watch>(shared_from_this(), descriptor, settlements);
  std::lock_guard lock(mutex_);
  all_.push_back(made.get());
  any_ = true;
  return made;
}

void Watches::remove(const Watch* watch) noexcept {
  std::lock_guard lock(mutex_);
  std::erase(all_, watch);
  any_ = !all_.empty();
}

void Watches::notify(const Changes& changes) noexcept {
  const JobCounts counts = job_counts(changes);
  std::optional<Reasons> reasons;
  std::lock_guard lock(mutex_);
  for (Watch* const watch : all_) {
    watch->count(counts, changes);
    if (!watch->armed()) continue;
    if (!reasons) reasons = reasons_of(changes);
    const bool settled = watch->settlements_ == Settlements::notify && settles(changes);
    if (reasons->work || settled || reasons->earliest < watch->until_.load(std::memory_order_relaxed)) watch->notify();
  }
}

void Watches::notify_all() noexcept {
  std::lock_guard lock(mutex_);
  for (Watch* const watch : all_) watch->notify();
}

void Watch::count(const JobCounts& counts, const Changes& changes) {
  for (const QueueChange& change : changes.queues)
    if (change.after && change.tally.any) queues_.add(change.after->name, change.tally);
  std::transform(counts.attempts.begin(), counts.attempts.end(), counts_.attempts.begin(), counts_.attempts.begin(), std::plus<>());
  std::transform(counts.entered.begin(), counts.entered.end(), counts_.entered.begin(), counts_.entered.begin(), std::plus<>());
}

JobCounts Watch::counts() noexcept {
  std::lock_guard lock(watches_->mutex_);
  return counts_;
}

QueueTallies::Counted Watch::queue_counts(std::size_t limit) {
  std::lock_guard lock(watches_->mutex_);
  return queues_.first(limit);
}

void Watch::notify() noexcept {
  if (notified_.exchange(true)) return;
  std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return;
  // A full pipe already contains a byte. If the reader has closed its end, there is nothing to notify.
  while (::write(descriptor_, "!", 1) < 0 && errno == EINTR) {
  }
}

void Watch::close() noexcept {
  std::lock_guard lock(mutex_);
  descriptor_ = -1;
}

bool Watch::closed() noexcept { return descriptor_ < 0; }

}  // namespace resonate
