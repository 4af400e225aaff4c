// The records that the requests of a batch name, so that one call of the storage loads all of them before the batch runs. The
// working set loads the others on demand: those that a request finds by a search, and those that a record leads to.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "machine/working_set.hpp"
#include "resonate/requests.hpp"

namespace resonate {

class Plan {
 public:
  // The operation must outlive the plan: its keys are views into it.
  void add(const Operation& operation);
  // A single record is loaded on demand.
  void load(WorkingSet& set);

  // Adds a record; some of those that are named may not exist.
  void row(std::string_view id) { rows_.push_back({id}); }
  void schedule(std::string_view id) { schedules_.push_back({id}); }
  void queue(std::string_view name);
  void edge(EdgeKind kind, std::string_view owner, std::string_view other) { edges_.push_back({kind, owner, other}); }

  std::span<const Lookup<RowRef>> rows() const noexcept { return rows_; }
  std::span<const Lookup<ScheduleRef>> schedules() const noexcept { return schedules_; }

 private:
  std::vector<Lookup<RowRef>> rows_;
  std::vector<Lookup<ScheduleRef>> schedules_;
  std::vector<Lookup<QueueRef>> queues_;
  std::vector<EdgeLookup> edges_;
};

}  // namespace resonate
