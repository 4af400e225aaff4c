// The records that a transaction has read or written: `before` is the record in storage, `now` the transaction's version.
#pragma once

#include <cstddef>

#include "resonate/records.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// If before and now are both null, the row does not exist.
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
struct ScheduleEntry {
  ScheduleRef before;
  ScheduleRef now;
  ScheduleRef checkpoint;
  bool changed = false;
};

}  // namespace resonate
