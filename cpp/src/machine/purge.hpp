// Purge: which of the promises that were settled long ago may be deleted, and what goes with them.
#pragma once

#include <string>
#include <unordered_set>

#include "machine/working_set.hpp"

namespace resonate {

// The ids that an undelivered message, a callback or a pending task refers to.
class References {
 public:
  void add(const OutboxMessage& message) { ids_.insert(message.id); }
  void add(const Edge& callback) { ids_.insert(callback.other); }
  void add(const Row& row);
  bool contains(const std::string& id) const { return ids_.contains(id); }

 private:
  std::unordered_set<std::string> ids_;
};

// Deletes the row if it was settled before that instant and nothing needs it: no reference, no callback or listener of its own, no
// workflow whose root is pending (its next run reads what it has settled), no task that may read the job again. Whether it did.
bool purge_row(WorkingSet& set, const Row& row, const References& references, Instant settled_before, Instant now);

}  // namespace resonate
