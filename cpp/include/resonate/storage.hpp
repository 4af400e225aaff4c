// Storage: rows in, rows out. No rule of the protocol is in it, and none of its implementations knows one.
//
// An engine calls it from one thread at a time. Reads see what the last commit left; the engine lays its uncommitted changes over
// them (see machine/working_set.hpp), so a back end needs no read-your-writes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/records.hpp"

namespace resonate {

struct RowChange {
  RowRef before;  // null: the row is new
  RowRef after;   // null: the row goes
};
struct ScheduleChange {
  ScheduleRef before;
  ScheduleRef after;
};

// Counters that belong to the state, not to a row.
struct Counters {
  std::int64_t sequence = 0;  // last number given to an edge or a message
  Instant now = 0;            // the last instant the store has seen
  std::int64_t dropped = 0;   // unblocks dropped by retention
  friend bool operator==(const Counters&, const Counters&) = default;
};

// What one transaction changes. Applied whole or not at all.
struct Changes {
  std::vector<RowChange> rows;
  std::vector<ScheduleChange> schedules;
  std::vector<EdgeRef> edges_added;
  std::vector<EdgeRef> edges_removed;
  std::vector<MessageRef> messages_added;
  std::vector<std::int64_t> messages_removed;  // by seq
  Counters counters;
};

struct DueEntry {
  Due due;
  RowRef row;  // one of the two
  ScheduleRef schedule;
  std::string_view id() const noexcept { return row ? std::string_view(row->id()) : std::string_view(schedule->id); }
};

// Rows ordered by id bytewise, those after `after` (empty: all), at most `limit`.
struct RowScan {
  enum class By { id, branch, pid };
  By by = By::id;
  std::string key;  // branch or pid
  std::string after;
  std::size_t limit = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  virtual Counters counters() = 0;

  // Null where the id is absent.
  virtual RowRef load(std::string_view id) = 0;
  // The same for many, in order of `ids`; a remote back end answers in one round trip.
  virtual std::vector<RowRef> load_many(std::span<const std::string_view> ids) = 0;
  virtual ScheduleRef load_schedule(std::string_view id) = 0;

  // The earliest instant at which anything is due; kNever when nothing is.
  virtual Instant first_due() = 0;
  // Entries with due.at <= until in order of (at, kind, id), after the entry `after` where one is given, at most `limit`.
  virtual std::vector<DueEntry> due(Instant until, std::size_t limit, const DueEntry* after) = 0;

  virtual std::vector<RowRef> scan(const RowScan& scan) = 0;
  virtual std::vector<ScheduleRef> scan_schedules(std::string_view after, std::size_t limit) = 0;

  // Edges of one promise in order of registration, those with seq > after_seq, at most `limit`.
  virtual std::vector<EdgeRef> edges(EdgeKind kind, std::string_view owner, std::int64_t after_seq, std::size_t limit) = 0;
  virtual bool has_edge(EdgeKind kind, std::string_view owner, std::string_view other) = 0;

  // Messages in order of queueing, those with seq > after_seq, at most `limit`.
  virtual std::vector<MessageRef> messages(std::int64_t after_seq, std::size_t limit) = 0;
  // The oldest queued unblock with seq > after_seq, or null.
  virtual MessageRef oldest_unblock(std::int64_t after_seq) = 0;

  // Commits. On an exception nothing has changed.
  virtual void write(const Changes& changes) = 0;
  // Deletes everything, counters included.
  virtual void clear() = 0;

  // Sizes, for reports.
  virtual std::size_t row_count() = 0;

  // An independent copy, copy on write. Error (unsupported) where the back end cannot.
  virtual std::unique_ptr<Storage> fork() = 0;
};

std::unique_ptr<Storage> make_memory_storage();

}  // namespace resonate
