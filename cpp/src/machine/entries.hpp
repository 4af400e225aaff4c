// The records that a transaction has read or written: `before` is the record in storage, `now` the transaction's version.
#pragma once

#include <cstddef>

#include "resonate/records.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// There is no entry for a row that does not exist. A row that the transaction removes keeps its entry.
struct RowEntry {
  std::size_t hash = 0;  // of the id
  RowRef before;
  RowRef now;
  RowRef checkpoint;  // `now` as of the last checkpoint()
  bool changed = false;
  bool removed = false;             // the row was removed; `now` keeps its id
  bool checkpoint_removed = false;  // as of the last checkpoint()
};
struct QueueEntry {
  QueueRef before;
  QueueRef now;
  bool changed = false;
  QueueTally tally = {};
};
// If `now` is null, the schedule does not exist, or was removed.
struct ScheduleEntry {
  ScheduleRef before;
  ScheduleRef now;
  ScheduleRef checkpoint;
  bool changed = false;
};

}  // namespace resonate
