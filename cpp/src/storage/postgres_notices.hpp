// CommitNotice: what a commit tells the other processes by NOTIFY, and which of them it wakes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// A queue of a schema as a key of an advisory lock, from 0 to 2^31 - 1. Two queues with the same key wake each other's workers.
std::uint32_t queue_key(std::string_view schema, std::string_view queue) noexcept;

struct CommitNotice {
  struct Jobs {
    std::uint32_t key;  // of their queue
    std::size_t count;  // that became claimable
  };
  std::string schema;
  std::int64_t seed = 0;   // another one for each commit
  bool messages = false;   // queued
  bool everybody = false;  // wakes every watch: of an earlier release, or of jobs in more queues than a payload names
  std::vector<Jobs> jobs;

  // "schema" (everybody), or "schema seed", then " m" for messages and " key:count" for each queue.
  std::string payload() const;
  // None: it is of another schema, or of a later release.
  static std::optional<CommitNotice> parse(std::string_view payload, std::string_view schema);

  // When one of so many workers that claim from a queue looks for the jobs, in ms after the notice; none if it concerns other
  // queues. A few look at once, one more than there are jobs. The others follow one after the other, since the first may be busy:
  // by then the job has mostly been claimed, and their look is a read. The seed and the number of the worker's connection choose.
  // `between` is the time between two of them.
  static Duration turn(std::int64_t seed, int connection, std::size_t workers, std::size_t jobs, Duration between) noexcept;
};

// How long this process has waited for the write lock lately. If claims take longer than the time between two workers that look,
// the next ones find the job unclaimed, and wait for the lock too: each makes the claim before it slower, until hardly a job runs.
// So the workers look at longer intervals then.
class LockWaits {
 public:
  void add(Duration waited, std::chrono::steady_clock::time_point now) noexcept;
  // The time between two workers that look: 20 ms, or three times the last wait, which halves every 2 s.
  Duration between(std::chrono::steady_clock::time_point now) const noexcept;

 private:
  std::atomic<Duration> waited_ = 0;
  std::atomic<std::chrono::steady_clock::rep> at_ = 0;
};
inline LockWaits lock_waits;  // of all stores of this process

// The notice of a commit with these changes; none if it brings no work.
std::optional<CommitNotice> notice_of(const Changes& changes, const std::string& schema, std::int64_t seed);

}  // namespace resonate
