// Counts the events of jobs: in the present hour of their queue, and in the tally of the transaction.
#pragma once

#include "machine/working_set.hpp"

namespace resonate {

class JobEvents {
 public:
  // The queue as edit_queue_entry() returns it. `at`: the instant of the events.
  JobEvents(WorkingSet& set, WorkingSet::QueueEntry& queue, Instant at);
  void created();
  void started(const Job& job);
  // `closed`: the attempt that ended.
  void ended(const Attempt& closed);
  // A job without an attempt that ended meanwhile: `attempted` is false.
  enum class Attempted : bool { no, yes };
  void entered(JobState state, Attempted attempted);

 private:
  void count(std::int64_t QueueHour::*which, std::int64_t by = 1);

  WorkingSet& set_;
  WorkingSet::QueueEntry& queue_;
  std::int64_t hour_;
};

}  // namespace resonate
