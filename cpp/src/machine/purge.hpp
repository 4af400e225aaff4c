// Purge: decides which settled promises can be deleted.
#pragma once

#include <string>
#include <unordered_set>

#include "machine/working_set.hpp"

namespace resonate {

// The ids that an undelivered message, a callback, a pending task or a job that is not final refers to.
class References {
 public:
  void add(const OutboxMessage& message) { ids_.insert(message.id); }
  void add(const Edge& callback) { ids_.insert(callback.other); }
  void add(const Row& row);
  bool contains(const std::string& id) const { return ids_.contains(id); }

 private:
  std::unordered_set<std::string> ids_;
};

// Deletes the row, given as replies show it, if it was settled before that instant and nothing needs it, and returns whether it
// did. Needed rows: those with a reference to them, with callbacks or listeners, of a workflow whose root is pending (its next run
// reads them), and jobs whose result an unfinished task or job can still read.
bool purge_row(WorkingSet& set, const Row& row, const References& references, Instant settled_before, Instant now);

}  // namespace resonate
