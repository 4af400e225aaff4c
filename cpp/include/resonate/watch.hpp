// Watch: notifies an event loop when a store has work for it, so that the loop need not poll. It also counts events of jobs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/queue_hours.hpp"
#include "resonate/queues.hpp"

namespace resonate {

struct Changes;

inline constexpr std::size_t kOutcomeKinds = static_cast<std::size_t>(Outcome::cancelled) + 1;

// The number of attempts with each outcome, and of entries into each state, over all jobs.
struct JobCounts {
  std::array<std::int64_t, kOutcomeKinds> attempts{};
  std::array<std::int64_t, kJobStates> entered{};
};

// Counts the changes of jobs in a commit. If a commit moves a job through several states, only its attempts and its last state
// count.
JobCounts job_counts(const Changes& changes) noexcept;

// The events of the jobs of each queue. It keeps at most kQueuesApart queues apart, those that counted first, and sums the others.
class QueueTallies {
 public:
  static constexpr std::size_t kQueuesApart = 1000;

  void add(const std::string& queue, const QueueTally& tally);
  // The first queues that counted, by name, and the sum of the others, if there are any.
  struct Counted {
    std::vector<std::pair<std::string, QueueTally>> queues;
    std::optional<QueueTally> others;
  };
  Counted first(std::size_t limit) const;

 private:
  struct Entry {
    std::size_t place;  // in the order of first counts
    QueueTally tally;
  };
  std::map<std::string, Entry, std::less<>> queues_;
  std::optional<QueueTally> others_;
};

// Whether a commit that settles or deletes a pending promise notifies, too: for those that wait for a promise.
enum class Settlements : bool { ignored, notify };

// A CommitSource notifies watches of the commits of other processes. It may stop listening while none of its watches is armed.
class CommitSource {
 public:
  virtual ~CommitSource() = default;
  // Watch::rearm() calls this after it has armed the watch: a source that has stopped listens again.
  virtual void awaited() noexcept = 0;

 protected:
  CommitSource() = default;
};

class Watch;

// The watches of an engine. A watch ends its membership when it is destroyed.
class Watches : public std::enable_shared_from_this<Watches> {
 public:
  std::shared_ptr<Watch> add(int descriptor, Settlements settlements);
  // Whether there are watches. It needs no lock, so that a commit without them costs nothing.
  bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  // Counts a commit, and wakes those for whom it may have created work.
  void notify(const Changes& changes) noexcept;
  void notify_all() noexcept;

 private:
  friend class Watch;

  void remove(const Watch* watch) noexcept;

  std::mutex mutex_;  // also of the counts of all watches: one lock for each commit
  std::vector<Watch*> all_;
  std::atomic<bool> any_{false};
};

// Thread-safe. Writes one byte to a descriptor (a pipe or a non-blocking socket) when a commit queues a message, makes a job
// runnable, or makes a step due earlier than the awaited instant; then nothing until rearm().
class Watch {
 public:
  Watch(std::shared_ptr<Watches> watches, int descriptor, Settlements settlements)
      : watches_(std::move(watches)), descriptor_(descriptor), settlements_(settlements) {}
  ~Watch() { watches_->remove(this); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // From now on, a step that becomes due before `until` notifies. The caller must examine the store once more afterwards.
  void rearm(Instant until) noexcept {
    until_.store(until, std::memory_order_relaxed);
    notified_.store(false);
    if (const std::shared_ptr<CommitSource> source = source_.lock()) source->awaited();
  }
  // Sets the source whose awaited() each rearm() calls. The thread that has made the watch calls this before it shares the watch.
  void comes_from(std::weak_ptr<CommitSource> source) noexcept { source_ = std::move(source); }
  // Whether a commit can wake it: it has a descriptor, and has written nothing since rearm().
  bool armed() const noexcept { return descriptor_.load(std::memory_order_relaxed) >= 0 && !notified_.load(); }
  void notify() noexcept;
  // The counts of all commits since the watch was created.
  JobCounts counts() noexcept;
  QueueTallies::Counted queue_counts(std::size_t limit);
  // Writes to the descriptor no more.
  void close() noexcept;
  bool closed() noexcept;

 private:
  friend class Watches;

  void count(const JobCounts& counts, const Changes& changes);

  const std::shared_ptr<Watches> watches_;
  std::mutex mutex_;             // of a write to the descriptor, so that none follows close()
  std::atomic<int> descriptor_;  // -1: closed
  const Settlements settlements_;
  std::weak_ptr<CommitSource> source_;
  JobCounts counts_;     // with the lock of the watches
  QueueTallies queues_;  // likewise
  std::atomic<Instant> until_{kNever};
  std::atomic<bool> notified_{false};
};

}  // namespace resonate
