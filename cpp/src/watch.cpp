#include "resonate/watch.hpp"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <functional>

#include "machine/news.hpp"
#include "resonate/engine.hpp"

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

void Watch::count(const JobCounts& counts, const Changes& changes) {
  std::lock_guard lock(mutex_);
  for (const QueueChange& change : changes.queues)
    if (change.after && change.tally.any) queues_.add(change.after->name, change.tally);
  std::transform(counts.attempts.begin(), counts.attempts.end(), counts_.attempts.begin(), counts_.attempts.begin(), std::plus<>());
  std::transform(counts.entered.begin(), counts.entered.end(), counts_.entered.begin(), counts_.entered.begin(), std::plus<>());
}

JobCounts Watch::counts() noexcept {
  std::lock_guard lock(mutex_);
  return counts_;
}

QueueTallies::Counted Watch::queue_counts(std::size_t limit) {
  std::lock_guard lock(mutex_);
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

bool Watch::closed() noexcept {
  std::lock_guard lock(mutex_);
  return descriptor_ < 0;
}

std::shared_ptr<Watch> Engine::watch(int descriptor, Settlements settlements) {
  auto made = std::make_shared<Watch>(descriptor, settlements);
  std::lock_guard lock(watches_mutex_);
  std::erase_if(watches_, [](const std::weak_ptr<Watch>& one) { return one.expired(); });
  watches_.push_back(made);
  watched_ = true;
  return made;
}

void Engine::notify(const Changes& changes) noexcept {
  Instant earliest = kNever;
  const bool news = brings_work(changes);
  for (const RowChange& change : changes.rows)
    if (change.after) earliest = std::min(earliest, change.after->due.at);
  for (const ScheduleChange& change : changes.schedules)
    if (change.after) earliest = std::min(earliest, change.after->due_at());
  const JobCounts counts = job_counts(changes);
  std::lock_guard lock(watches_mutex_);
  for (const std::weak_ptr<Watch>& one : watches_) {
    const std::shared_ptr<Watch> watch = one.lock();
    if (!watch) continue;
    watch->count(counts, changes);
    const bool settled = watch->notifies_settlements() && settles(changes);
    if (news || settled || earliest < watch->until()) watch->notify();
  }
}

void Engine::notify_all() noexcept {
  std::lock_guard lock(watches_mutex_);
  for (const std::weak_ptr<Watch>& one : watches_)
    if (const std::shared_ptr<Watch> watch = one.lock()) watch->notify();
}

}  // namespace resonate
