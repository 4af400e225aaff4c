// Storage: reads and writes rows. It contains no rule of the protocol.
//
// An engine calls it from one thread at a time, and inside a transaction (StorageTransaction below). A read returns committed data;
// the engine overlays its uncommitted changes (machine/working_set.hpp), so a back end need not read its own writes.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/index_keys.hpp"
#include "resonate/records.hpp"

namespace resonate {

struct RowChange {
  RowRef before;  // null: the row is created
  RowRef after;   // null: the row is deleted
};
struct ScheduleChange {
  ScheduleRef before;
  ScheduleRef after;
};
struct QueueChange {
  QueueRef before;
  QueueRef after;
  QueueTally tally = {};  // the events of its jobs in this transaction; no storage keeps it
};
// An hour of a queue that has ended. The hours of the queue before `kept_from` are deleted.
struct HourChange {
  HourRef ended;
  std::int64_t kept_from = 0;
};

// Counters of the whole state.
struct Counters {
  std::int64_t sequence = 0;  // the number of the last edge or message
  Instant now = 0;            // the last instant that the store has seen
  std::int64_t dropped = 0;   // the number of unblocks that retention has deleted
  std::int64_t jobs = 0;      // the number of the last job that was created without an id
  friend bool operator==(const Counters&, const Counters&) = default;
};

// A request that a program has written into the database in a transaction of its own, as the text of an envelope.
struct Submission {
  std::int64_t number = 0;  // rises in the order in which they run
  std::string text;         // empty if it is longer than the reader takes
  std::size_t bytes = 0;    // of its text
  int status = 0;           // the status of its refusal; 0: it waits, or has run
  std::string error;        // the reason of its refusal
};

// The changes of one transaction; all of them are applied, or none.
struct Changes {
  bool replaces_all = false;  // deletes everything else first
  // Stores the instant even if nothing else changes. Otherwise a storage may keep it in memory: a clock that moves is not worth a
  // commit, and no reply depends on it.
  bool stores_instant = false;
  std::vector<RowChange> rows;
  std::vector<ScheduleChange> schedules;
  std::vector<QueueChange> queues;
  std::vector<HourChange> hours;
  std::vector<EdgeRef> edges_added;
  std::vector<EdgeRef> edges_removed;
  std::vector<MessageRef> messages_added;
  std::vector<std::int64_t> messages_removed;  // their seq
  std::vector<MessageRef> messages_leased;     // stored messages with another lease
  std::vector<Submission> submissions_ended;   // deleted if they have run (status 0), kept with their status otherwise; no text
  Counters counters;
};

// At most `limit` submissions, by number. Any program may have written them, so a reader says how much it takes: a text of more
// than `longest` bytes is left out, and after texts of `together` bytes no further submission is read.
enum class SubmissionState : std::uint8_t { waiting, refused };
struct SubmissionRange {
  SubmissionState state = SubmissionState::waiting;
  std::size_t limit = SIZE_MAX;
  std::size_t longest = 0;
  std::size_t together = INT64_MAX;
};

// At most `limit` schedules: by id, those after `after`; by due, those after (after_at, after) that are due at `until` or earlier.
struct ScheduleRange {
  enum class By : std::uint8_t { id, due, set_aside };  // set_aside: schedules that cannot be fired, by id
  By by = By::id;
  std::string after = {};
  Instant after_at = kAtOnce;
  Instant until = kNever;
  std::size_t limit = SIZE_MAX;
};

// At most `limit` edges. By owner: those of a kind that the promise `of` owns, in order of registration, with seq > after. By
// canceller: the callbacks whose jobs are cancelled with the awaiter `of` (cancel_key), in order of their owners, those after
// `after_owner`.
struct EdgeRange {
  enum class By : std::uint8_t { owner, canceller };
  EdgeKind kind = EdgeKind::callback;
  std::string_view of = {};
  std::int64_t after = 0;
  std::size_t limit = SIZE_MAX;
  By by = By::owner;
  std::string_view after_owner = {};
};

// Matches the addresses equal to `text`, or with prefix those that begin with it.
struct AddressPattern {
  std::string text;
  bool prefix = false;
  bool matches(std::string_view address) const noexcept { return prefix ? address.starts_with(text) : address == text; }
};

// At most `limit` messages. By address or prefix: in order of (address, seq), those after (after_address, after). Otherwise in
// order of queueing, those with seq > after.
struct MessageRange {
  enum class By : std::uint8_t { seq, address, prefix, unblock, unblock_of };
  By by = By::seq;
  std::string_view text = {};  // the address, its prefix, or the promise's id
  std::string_view after_address = {};
  std::int64_t after = 0;
  std::size_t limit = SIZE_MAX;
};

// Records to load by key; `found` receives the record, or null if it does not exist.
template <class Ref>
struct Lookup {
  std::string_view key;
  Ref found = {};
};
struct EdgeLookup {
  EdgeKind kind = EdgeKind::callback;
  std::string_view owner;
  std::string_view other;
  EdgeRef found = {};
};
struct MessageLookup {
  std::int64_t number = 0;
  MessageRef found = {};
};
struct Lookups {
  std::span<Lookup<RowRef>> rows = {};
  std::span<Lookup<ScheduleRef>> schedules = {};
  std::span<Lookup<QueueRef>> queues = {};
  std::span<EdgeLookup> edges = {};
  std::span<MessageLookup> messages = {};
};

// The jobs of one queue that the claims of a batch take.
struct ClaimLookup {
  std::string_view queue;
  std::size_t most = 0;  // their number, at most
};
// A unique key that a new job of the queue is to hold.
struct KeyLookup {
  std::string_view queue;
  std::string_view key;
};
// Requests on jobs load these besides the records that they name: jobs to claim, numbers of new jobs, and whether keys are free.
struct JobLookups {
  bool any = false;                          // whether there is such a request
  bool completes_all = false;                // whether each record that they name is a job that is completed
  std::size_t without_id = 0;                // new jobs that get an id
  std::span<const ClaimLookup> claims = {};  // each queue once
  std::span<const KeyLookup> keys = {};
};

// shared: a transaction that writes beside those of other processes. It may change the rows that it expects, and use nothing else.
// optimistic: a transaction that keeps out all other writers, as Access::write does, and that begins without asking the database.
// It assumes that the state is what the storage knows, and that expected rows which the storage does not know are absent. write()
// checks both assumptions.
// creating: a transaction that writes beside others, as Access::shared does, and that begins without asking the database, as
// Access::optimistic does. It may do nothing else than create the rows that it expects.
enum class Access : std::uint8_t { read, write, shared, optimistic, creating };

constexpr bool is_beside_others(Access access) noexcept { return access == Access::shared || access == Access::creating; }

// Ends a transaction of Access::shared, optimistic or creating that has changed nothing, and that must run again: in another way,
// since it needs more than it may use or what it has used is outdated, or in the same way, since another one has created a row that
// did not exist when it began.
class RunAgain : public std::exception {
 public:
  explicit RunAgain(bool alone) noexcept : alone_(alone) {}
  const char* what() const noexcept override { return "a transaction must run again"; }
  bool alone() const noexcept { return alone_; }

 private:
  bool alone_;
};

enum class Table : std::uint8_t { rows, messages };

// A read of at least this many records belongs to a long read, which can be interrupted (interruption.hpp).
inline constexpr std::size_t kLongPage = 500;

class Storage {
 public:
  virtual ~Storage() = default;

  // The next transaction will load these records, some of which may not exist. A remote back end fetches them while it begins, in
  // the same round trip. The keys must outlive the call of begin().
  virtual void expect(const Lookups& /*records*/, const JobLookups& /*jobs*/ = {}) {}
  // Returns whether requests on few rows should now run with Access::shared: other processes write to it.
  virtual bool shares_writes() const noexcept { return false; }
  // Returns whether a request should first run with Access::optimistic: a look costs a round trip, and no other process writes.
  virtual bool knows_state() const noexcept { return false; }
  // Returns whether requests that only create rows should first run with Access::creating, if shares_writes().
  virtual bool creates_at_once() const noexcept { return false; }
  // Begins a transaction: until end(), all reads see one state. If other processes can write the same rows, Access::write admits
  // one writer at a time; Error (busy): another writer held the lock for the storage's whole busy timeout. Access::shared locks the
  // rows that are expected; every other read, and write() if it changes more than these rows, then throws RunAgain. So does
  // Access::optimistic if it needs what the storage does not know, and its write() if another process has committed since. So does
  // Access::creating at each read, and its write() if a row exists or another process that was alone has committed since.
  virtual void begin(Access) {}
  virtual void end() noexcept {}

  // Outside a transaction: those of the last one.
  virtual Counters counters() = 0;

  // Returns the number of a new job if the transaction shares: no other one gets it, and the commit throws RunAgain if the id that
  // it makes exists. Otherwise none: the counters say which number is the next.
  virtual std::optional<std::int64_t> take_job_number() { return std::nullopt; }

  // Loads records by key; a remote back end needs one round trip. A key may occur several times.
  virtual void load_many(const Lookups& records) = 0;
  // Load one record; they return null if it does not exist. Most requests load one row, so a back end may have a shorter way.
  virtual RowRef load(std::string_view id) { return load_one<RowRef, &Lookups::rows>(id); }
  ScheduleRef load_schedule(std::string_view id) { return load_one<ScheduleRef, &Lookups::schedules>(id); }
  QueueRef load_queue(std::string_view name) { return load_one<QueueRef, &Lookups::queues>(name); }
  EdgeRef load_edge(EdgeKind kind, std::string_view owner, std::string_view other) {
    EdgeLookup one{kind, owner, other};
    load_many({.edges = {&one, 1}});
    return std::move(one.found);
  }

  // Returns the earliest instant at which a step is due; kAtOnce if a submission waits; kNever if there is neither. In an
  // optimistic transaction, and in one beside others, it may be an earlier instant.
  virtual Instant first_due() = 0;
  virtual std::vector<RowRef> rows(const RowRange& range) = 0;
  virtual std::vector<ScheduleRef> schedules(const ScheduleRange& range) = 0;
  // Returns the queues by name, the first `most` of them.
  virtual std::vector<QueueRef> queues(std::size_t most = SIZE_MAX) = 0;
  // Returns the ended hours of a queue from `since` on, in order.
  virtual std::vector<HourRef> hours(std::string_view queue, std::int64_t since) = 0;
  // Returns the first pids in order, at most `limit`, that hold tasks without jobs, those after `after`.
  virtual std::vector<std::string> holders(std::string_view after, std::size_t limit) = 0;
  virtual std::vector<EdgeRef> edges(const EdgeRange& range) = 0;
  virtual std::vector<MessageRef> messages(const MessageRange& range) = 0;
  // Returns what opening it has changed and a person must know; empty: nothing.
  virtual std::string opening_note() const { return {}; }

  // Returns the first submissions that wait, or the first that were refused. Back ends without other writers have none.
  virtual std::vector<Submission> submissions(const SubmissionRange&) { return {}; }

  // Commits. If it throws, nothing has changed.
  virtual void write(const Changes& changes) = 0;

  // Frees the space of deleted rows, if the back end keeps it. Call it outside a transaction.
  virtual void vacuum() {}
  // Makes the indexes of the newest jobs and roots, which only views read, unless they exist. A durable back end begins without
  // them, since they cost every write (decision 34); a range over one of them then sorts all rows. Call it outside a transaction.
  virtual void index_newest() {}
  // Work that the back end has postponed, and that may take seconds. Ticks and looks at the next due step ask for it; reads do not,
  // since their callers expect them to be short. Call it after a transaction.
  virtual void catch_up() noexcept {}

  // Between two long transactions, without the engine's lock: waits for a moment if other processes could not write otherwise.
  virtual void let_others_write() const noexcept {}
  // Returns the path of the file; empty for a store in memory.
  const std::string& location() const noexcept { return location_; }
  // Returns whether another process has committed since this was last asked, as the last transaction saw it.
  virtual bool changed_elsewhere() { return false; }
  // Returns whether it is a server that several machines use. Then every read costs a round trip, and the machines' manual clocks
  // are one: each move is stored, and read by the others.
  virtual bool remote() const noexcept { return false; }
  // Returns how many bytes of texts a key of its indexes takes. Requests that need more are refused one by one before they run:
  // they would fail the commit of all that share it.
  virtual std::size_t key_bytes() const noexcept { return SIZE_MAX; }
  // Returns whether commits survive the process. Such commits are expensive, so callers share them.
  bool durable() const noexcept { return !location_.empty(); }
  // Returns the number of records, for reports.
  virtual std::size_t count(Table table) = 0;

  // Returns an independent copy in memory; a storage in memory shares its structure with it, copy on write.
  virtual std::unique_ptr<Storage> fork();

  // Returns the present state for reading by another thread while this storage continues. Its transaction has begun; the reader
  // ends it. Call it inside a transaction. `used`: an ended snapshot of this storage to reuse, or null.
  virtual std::unique_ptr<Storage> snapshot([[maybe_unused]] std::unique_ptr<Storage> used) { return fork(); }
  // Indexes at most `most` new rows for scans and snapshots, and returns whether none is left. Callers divide this deferred work
  // into slices.
  virtual bool index_some([[maybe_unused]] std::size_t most) { return true; }

 protected:
  explicit Storage(std::string location = {}) : location_(std::move(location)) {}
  Storage(const Storage&) = default;

 private:
  template <class Ref, std::span<Lookup<Ref>> Lookups::*of>
  Ref load_one(std::string_view key) {
    Lookup<Ref> one{key};
    Lookups records;
    records.*of = {&one, 1};
    load_many(records);
    return std::move(one.found);
  }

  std::string location_;
};

// A transaction as a scope: begin() and end().
class StorageTransaction {
 public:
  StorageTransaction(Storage& storage, Access access) : storage_(storage) { storage_.begin(access); }
  ~StorageTransaction() { storage_.end(); }
  StorageTransaction(const StorageTransaction&) = delete;
  StorageTransaction& operator=(const StorageTransaction&) = delete;

 private:
  Storage& storage_;
};

// The version of a store's tables (none: there are no tables) and that of this release.
struct SchemaVersions {
  std::string location;  // the path of the file, or the URL without passwords
  std::optional<std::int64_t> found;
  std::int64_t newest = 0;
};

std::unique_ptr<Storage> make_memory_storage();

// Closes every open file and every connection to a database; each is opened again at its next use. Call it before fork(2), with no
// transaction active: locks of files and sockets belong to one process, so no connection may be open across a fork.
void close_connections_for_fork() noexcept;

// Replaces the content of `to` by that of `from`; messages and edges get numbers after `numbers_after`.
void copy_state(Storage& from, Storage& to, std::int64_t numbers_after = 0);

}  // namespace resonate
