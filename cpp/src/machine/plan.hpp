// The records that the requests of a batch name, so that one call of the storage loads all of them before the batch runs. The
// working set loads the others on demand: those that a request finds by a search, and those that a record leads to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "machine/working_set.hpp"
#include "resonate/requests.hpp"

namespace resonate {

template <class Asked, class... Kinds>
inline constexpr bool is_any_of = (std::is_same_v<Asked, Kinds> || ...);
// Requests of the worker that holds a job, which change its row and the counts of its queue, and the look at a job.
template <class Asked>
inline constexpr bool is_of_holder = is_any_of<Asked, JobGet, JobStart, JobStartMany, JobHeartbeat, JobComplete, JobCompleteMany,
                                               JobFail, JobRelease, JobSnooze, JobReport>;

class Plan {
 public:
  // The operation must outlive the plan: its keys are views into it.
  void add(const Operation& operation);
  // Makes the storage fetch the records while it begins the next transaction, which has this access.
  void expect(Storage& storage, Access access = Access::write);
  // Loads the records. A single record is loaded on demand.
  void load(WorkingSet& set, Access access = Access::write);

  // Adds a record; some of those that are named may not exist.
  void row(std::string_view id) { rows_.push_back({id}); }
  void schedule(std::string_view id) { schedules_.push_back({id}); }
  void queue(std::string_view name);
  void job_without_id() { ++jobs_without_id_; }
  void name(Names names, const std::string* text);
  void edge(EdgeKind kind, std::string_view owner, std::string_view other) { edges_.push_back({kind, owner, other}); }

  Lookups lookups() noexcept { return {.rows = rows_, .schedules = schedules_, .queues = queues_, .edges = edges_}; }

 private:
  void claim(const JobClaim& claim);
  void key(const JobOrder& order);
  void generate_ids(std::int64_t after);
  void forget_generated();

  std::vector<Lookup<RowRef>> rows_;
  std::vector<Lookup<ScheduleRef>> schedules_;
  std::vector<Lookup<QueueRef>> queues_;
  std::vector<EdgeLookup> edges_;
  std::vector<ClaimLookup> claims_;
  std::vector<KeyLookup> keys_;
  bool any_job_ = false;
  bool completes_all_ = true;
  std::size_t jobs_without_id_ = 0;
  std::vector<std::string> generated_;  // their ids; they are the last of rows_
  std::int64_t generated_after_ = -1;   // the number before the first of them
};

}  // namespace resonate
