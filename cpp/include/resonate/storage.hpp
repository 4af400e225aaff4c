// Storage: rows in, rows out. No rule of the protocol is in it, and none of its implementations knows one.
//
// An engine calls it from one thread at a time, each read and write inside a transaction (StorageTransaction below). Reads see what
// the last commit left; the engine lays its uncommitted changes over them (see machine/working_set.hpp), so a back end needs no
// read-your-writes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/index_keys.hpp"
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
struct QueueChange {
  QueueRef before;
  QueueRef after;
};

// Counters that belong to the state, not to a row.
struct Counters {
  std::int64_t sequence = 0;  // last number given to an edge or a message
  Instant now = 0;            // the last instant the store has seen
  std::int64_t dropped = 0;   // unblocks dropped by retention
  std::int64_t jobs = 0;      // last number of a job that came without an id
  friend bool operator==(const Counters&, const Counters&) = default;
};

// What one transaction changes. Applied whole or not at all.
struct Changes {
  bool replaces_all = false;  // everything that was there is deleted first
  // The instant is stored even if nothing else changes. Else a storage may keep it in memory for a while: a clock that moves is not
  // worth a commit, and nothing that was replied depends on it.
  bool stores_instant = false;
  std::vector<RowChange> rows;
  std::vector<ScheduleChange> schedules;
  std::vector<QueueChange> queues;
  std::vector<EdgeRef> edges_added;
  std::vector<EdgeRef> edges_removed;
  std::vector<MessageRef> messages_added;
  std::vector<std::int64_t> messages_removed;  // by seq
  Counters counters;
};

// Schedules by id, those after `after`; by due, those after (after_at, after) that are due until then; at most `limit`.
struct ScheduleRange {
  enum class By : std::uint8_t { id, due, set_aside };  // set_aside: those that cannot be fired, by id
  By by = By::id;
  std::string after = {};
  Instant after_at = kAtOnce;
  Instant until = kNever;
  std::size_t limit = SIZE_MAX;
};

// The addresses that are equal to `text`, or that begin with it.
struct AddressPattern {
  std::string text;
  bool prefix = false;
  bool matches(std::string_view address) const noexcept { return prefix ? address.starts_with(text) : address == text; }
};

// Messages in order of queueing, those with seq > after; to addresses that begin with `text` in order of (address, seq), those
// after both; at most `limit`.
struct MessageRange {
  enum class By : std::uint8_t { seq, address, prefix, unblock, unblock_of };
  By by = By::seq;
  std::string_view text = {};  // the address, its beginning, or the id of the promise
  std::string_view after_address = {};
  std::int64_t after = 0;
  std::size_t limit = SIZE_MAX;
};

enum class Access : std::uint8_t { read, write };

// A read of so many records or more is a page of a long one, at which a call can be interrupted (interruption.hpp).
inline constexpr std::size_t kLongPage = 500;

class Storage {
 public:
  virtual ~Storage() = default;

  // A transaction: what is read until end() is one state. Where others may write to the same rows (another process), Access::write
  // lets one in at a time; Error (busy) when its turn has not come within the storage's patience.
  virtual void begin(Access) {}
  virtual void end() noexcept {}

  virtual Counters counters() = 0;

  // Null where the id is absent.
  virtual RowRef load(std::string_view id) = 0;
  // The same for many, in order of `ids`; a remote back end answers in one round trip.
  virtual std::vector<RowRef> load_many(std::span<const std::string_view> ids) = 0;
  virtual ScheduleRef load_schedule(std::string_view id) = 0;

  // The earliest instant at which anything is due; kNever when nothing is.
  virtual Instant first_due() = 0;
  virtual std::vector<RowRef> rows(const RowRange& range) = 0;
  virtual std::vector<ScheduleRef> schedules(const ScheduleRange& range) = 0;

  virtual QueueRef load_queue(std::string_view name) = 0;
  // All of them, by name.
  virtual std::vector<QueueRef> queues() = 0;

  // Edges of one promise in order of registration, those with seq > after_seq, at most `limit`.
  virtual std::vector<EdgeRef> edges(EdgeKind kind, std::string_view owner, std::int64_t after_seq, std::size_t limit) = 0;
  virtual bool has_edge(EdgeKind kind, std::string_view owner, std::string_view other) = 0;

  virtual std::vector<MessageRef> messages(const MessageRange& range) = 0;

  // Commits. On an exception nothing has changed.
  virtual void write(const Changes& changes) = 0;

  // Gives the room of what was deleted back, where the back end holds on to it. Outside a transaction.
  virtual void vacuum() {}
  // Where the rows are: a path; empty: in memory.
  virtual std::string location() const { return {}; }
  // Whether commits outlive the process. Then they cost, and callers share them.
  bool durable() const { return !location().empty(); }
  // Sizes, for reports.
  virtual std::size_t row_count() = 0;
  virtual std::size_t message_count() = 0;

  // An independent copy in memory; of a storage in memory it shares everything, copy on write.
  virtual std::unique_ptr<Storage> fork() = 0;

  // What is stored now, for another thread to read while this storage goes on: begun, for the reader to end. Called inside a
  // transaction. `used`: a snapshot of this storage that was ended and may begin again, or null.
  virtual std::unique_ptr<Storage> snapshot([[maybe_unused]] std::unique_ptr<Storage> used) { return fork(); }
  // Prepares scans and snapshots for at most so many new rows; whether none is left. Work that was put off, to be done in slices.
  virtual bool index_some([[maybe_unused]] std::size_t most) { return true; }
};

// begin() and end() as a scope.
class StorageTransaction {
 public:
  StorageTransaction(Storage& storage, Access access) : storage_(storage) { storage_.begin(access); }
  ~StorageTransaction() { storage_.end(); }
  StorageTransaction(const StorageTransaction&) = delete;
  StorageTransaction& operator=(const StorageTransaction&) = delete;

 private:
  Storage& storage_;
};

std::unique_ptr<Storage> make_memory_storage();

// Makes `to` hold what `from` holds and nothing else; its messages and edges get numbers after `numbers_after`.
void copy_state(Storage& from, Storage& to, std::int64_t numbers_after = 0);

}  // namespace resonate
