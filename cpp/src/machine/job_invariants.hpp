// The invariants of jobs (JOBS 1 to 3), each with its name.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "resonate/errors.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// An instant in the text of a violation.
inline std::string instant_text(Instant instant) { return instant == kUnset ? "none" : std::to_string(instant); }

// Checks one stored row with a job.
void check_job(const Row& row, std::vector<Violation>& found);
// Compares a row before and after a request or an internal step at `now`; at least one of them has a job.
void check_job_step(const Row& before, const Row& after, Instant now, std::vector<Violation>& found);

// Checks across all jobs of a state: the counts of queues, holders of unique keys, and members of groups.
class JobSetCheck {
 public:
  void add(const RowRef& row, Instant now);
  // Call it after see() for all jobs.
  void check(const std::vector<QueueRef>& queues, std::vector<Violation>& found);

 private:
  using Counts = std::array<std::int64_t, kJobStates>;
  struct Gathered {
    std::int64_t jobs = 0;
    std::int64_t leaders = 0;
    std::int64_t counted = 0;  // the leader's count
    std::set<std::string> batches;
  };

  static void check_queue(const Queue& queue, const Counts& found_jobs, std::vector<Violation>& found);

  std::map<std::string, Counts> by_queue_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> keys_;    // by queue and unique key; the values are ids
  std::map<std::tuple<std::string, std::string, std::string>, Gathered> gathered_;  // by queue, type and group
};

}  // namespace resonate
