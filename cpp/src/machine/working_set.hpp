// WorkingSet: one transaction's view of the state: what storage holds, under what this transaction has changed so far.
//
// The machine reads and writes rows here and nowhere else. Nothing reaches storage before changes() is written; throwing the set
// away undoes everything. Not thread-safe: it lives under the engine's lock.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "resonate/storage.hpp"

namespace resonate {

class WorkingSet {
 public:
  // One row in the set. `before` is what storage holds, `now` what the transaction sees; both null: known to be absent.
  struct Entry {
    std::size_t hash = 0;  // of the id
    RowRef before;
    RowRef now;
    RowRef checkpoint;  // `now` as of the last checkpoint()
    bool changed = false;
    bool gone = false;             // the row was removed; `now` keeps its id
    bool checkpoint_gone = false;  // as of the last checkpoint()
  };
  struct QueueEntry {
    QueueRef before;
    QueueRef now;
    bool changed = false;
  };
  struct ScheduleEntry {
    ScheduleRef before;
    ScheduleRef now;
    ScheduleRef checkpoint;
    bool changed = false;
  };
  // The step that is due first: a row or a schedule.
  struct Next {
    Due due;
    Entry* row = nullptr;
    ScheduleEntry* schedule = nullptr;
  };

  WorkingSet() = default;
  explicit WorkingSet(Storage& storage) { begin(storage); }
  // A set is used again and again, cleared after each use: its vectors keep their room, so that a request allocates only what it
  // stores.
  void begin(Storage& storage);
  void clear();

  // Makes scans end after so many of storage's rows, until clear(); then has_more_to_look_at() and what they gave is no result.
  void look_at_most(std::size_t rows) noexcept {
    rows_left_ = rows;
    cut_ = false;
  }
  bool has_more_to_look_at() const noexcept { return cut_; }

  // Loads the rows that a batch names in one go.
  void prefetch(std::span<const std::string_view> ids);

  // Null where the promise does not exist. Pointers stay valid as long as the set.
  Entry* find(std::string_view id);
  // A row to write to: a copy of its own unless nobody else holds it. Call touched() when done.
  Row& edit(Entry& entry);
  // After a change: recomputes when the row is due.
  void touched(Entry& entry);
  // The same with a due that the caller knows (a later one than next_due's, never an earlier).
  void touched(Entry& entry, Due due);
  Entry& create(Shared<Row> row);
  // The row goes.
  void remove(Entry& entry);
  // A job was put on the row: its unique key, if any, is found from now on.
  void note_job(Entry& entry);

  // Null where the queue does not exist.
  const Queue* find_queue(std::string_view name);
  // A queue to write to; made where it does not exist.
  Queue& edit_queue(std::string_view name);
  std::vector<QueueRef> queues();
  // The job of a queue that holds the key at `now`, or null.
  Entry* holder_of_key(std::string_view queue, const std::string& key, Instant now);
  // The jobs of a queue whose batch_key() it is, and the first of them or null, by id.
  std::vector<Entry*> batch(const std::string& queue, const std::string& key);
  Entry* first_of_batch(const std::string& queue, const std::string& key);
  // Since when the job waits that has waited longest of those that may be claimed; kUnset: none waits.
  Instant oldest_pending(std::string_view queue, Instant now);
  // Whether an unblock of the promise waits to be delivered.
  bool has_unblock(std::string_view id);

  ScheduleEntry* find_schedule(std::string_view id);
  void put_schedule(ScheduleRef schedule);
  void remove_schedule(ScheduleEntry& entry);

  // Rows ordered by id: storage's, with this transaction's in their place, those that `wanted` accepts.
  std::vector<RowRef> scan(RowScan scan, const std::function<bool(const Row&)>& wanted);
  // The same, before the first at which `judge` says that it is enough.
  enum class Seen : std::uint8_t { unwanted, wanted, end };
  std::vector<RowRef> scan_until(RowScan scan, const std::function<Seen(const Row&)>& judge);
  std::vector<ScheduleRef> scan_schedules(std::string_view after, std::size_t limit,
                                          const std::function<bool(const Schedule&)>& wanted);

  bool has_edge(EdgeKind kind, std::string_view owner, std::string_view other);
  void add_edge(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect);
  // Edges are consumed in order of registration.
  EdgeRef first_edge(EdgeKind kind, std::string_view owner);
  void remove_first_edge(const EdgeRef& edge);

  // Queues the message and numbers it.
  std::int64_t add_message(Shared<OutboxMessage> message);
  void remove_message(std::int64_t seq);
  // Drops and counts the unblocks that were queued at or before `until`.
  void drop_unblocks(Instant until);

  std::optional<Next> next_due(Instant now);

  Counters& counters() noexcept { return changes_.counters; }
  bool changed() const noexcept;
  // What to commit. The set is spent afterwards.
  const Changes& finish();

  // Marks the beginning of a request or step, for the properties that compare two consecutive states.
  void checkpoint();
  struct StepView {
    std::vector<std::pair<RowRef, RowRef>> rows;  // before (null: new), after (null: gone)
    std::vector<std::pair<ScheduleRef, ScheduleRef>> schedules;
    std::span<const EdgeRef> edges_added;
    std::span<const EdgeRef> edges_removed;
    std::span<const MessageRef> messages_added;
  };
  StepView since_checkpoint();

 private:
  // What a transaction has read of the jobs that storage holds as claimable; those at its front that this transaction changed are
  // dropped for good.
  struct ClaimPage {
    std::vector<RowRef> rows;
    std::size_t front = 0;
    bool whole = false;
  };
  struct OwnClaim {
    int priority;
    Instant enqueued_at;
    std::string_view id;
    Entry* entry;
    friend bool operator<(const OwnClaim& a, const OwnClaim& b) noexcept {
      if (a.priority != b.priority) return a.priority < b.priority;
      return a.enqueued_at != b.enqueued_at ? a.enqueued_at < b.enqueued_at : a.id < b.id;
    }
  };
  using OwnClaims = std::set<OwnClaim>;

 public:
  // Jobs of one queue that wait to be claimed and that `wanted` accepts, in the order of claims. Claim what it gives, and others of
  // that queue only right after pop().
  class ClaimScan {
   public:
    ClaimScan(WorkingSet& set, std::string_view queue, std::size_t expected, std::function<bool(const Row&)> wanted);
    // The first of them; null at the end.
    Entry* peek();
    void pop();

   private:
    const Row* stored();

    WorkingSet& set_;
    std::string queue_;
    std::size_t page_size_;
    std::function<bool(const Row&)> wanted_;
    ClaimPage* page_;
    OwnClaims* own_;
    OwnClaims::iterator next_own_;
    std::size_t next_stored_ = 0;  // into the page
    Entry* found_ = nullptr;
    bool found_is_own_ = false;
  };

 private:
  // Jobs with one batch_key(): what storage holds, as it was read once, and what came to it here. Either may have lost the key
  // since.
  struct Batch {
    std::vector<RowRef> stored;
    std::vector<Entry*> own;
    std::size_t front = 0;  // stored ones before it are changed for good
    bool read = false;
  };
  Batch& batch_of(const std::string& queue, const std::string& key);
  template <class Visit>
  void each_of_batch(const std::string& queue, const std::string& key, Visit visit);
  void note_batch(Entry& entry);
  bool still_claimable(const OwnClaim& claim, std::string_view queue) const;
  OwnClaims& own_claims(std::string_view queue);
  QueueEntry* known_queue(std::string_view name);

  struct HeapItem {
    Due due;
    std::string_view id;
    Entry* row = nullptr;
    ScheduleEntry* schedule = nullptr;
  };
  struct Later {
    bool operator()(const HeapItem& a, const HeapItem& b) const noexcept {
      if (a.due != b.due) return b.due < a.due;
      return b.id < a.id;
    }
  };

  Entry* known(std::string_view id);
  Entry& new_entry();
  void index(Entry& entry);
  void grow_index();
  Entry& remember(RowRef row);
  void push_due(HeapItem item);
  static bool holds(const HeapItem& item);
  const DueEntry* storage_due(Instant now);
  bool changed_here(const DueEntry& entry);
  template <class Visit>
  void each_entry(Visit visit);

  static constexpr std::size_t kFewEntries = 4;      // most requests touch no more: those are searched one by one
  static constexpr std::size_t kKeptEntries = 4096;  // room that is kept from one transaction to the next

  Storage* storage_ = nullptr;
  std::size_t rows_left_ = SIZE_MAX;
  bool cut_ = false;
  Changes changes_;
  Counters counters_before_;
  std::array<Entry, kFewEntries> few_;
  std::vector<std::unique_ptr<Entry>> more_;  // more_[i] is entry kFewEntries + i; those beyond entries_ are spare
  std::size_t entries_ = 0;
  std::vector<RowRef> removed_;  // rows in whose place others came: views of their ids may still be about
  std::vector<Entry*> index_;    // of more_: open addressing by Entry::hash, a power of two long
  bool checking_ = false;        // checkpoint() was called
  std::map<std::string, ScheduleEntry, std::less<>> schedules_;
  std::map<std::string, QueueEntry, std::less<>> queues_of_jobs_;
  std::map<std::string, ClaimPage, std::less<>> claim_pages_;  // by queue
  std::vector<Entry*> own_ready_;                              // became claimable here, since the last look at own_claims_
  std::map<std::string, OwnClaims, std::less<>> own_claims_;   // by queue; stale ones are skipped
  QueueEntry* last_queue_ = nullptr;                           // most transactions are about one queue
  std::unordered_multimap<std::string, Entry*> own_keys_;      // by unique key
  std::unordered_map<std::string, Batch> batches_;             // by queue and batch_key()

  std::vector<HeapItem> heap_;  // due rows and schedules of this transaction; stale items are skipped
  std::vector<DueEntry> page_;  // a page of storage's due entries
  std::size_t page_at_ = 0;
  std::optional<DueEntry> page_after_;  // the last entry of the page before

  struct EdgeQueue {
    std::int64_t consumed = 0;    // seq of the last edge that was consumed here
    std::vector<EdgeRef> stored;  // a page of storage's
    std::size_t next_stored = 0;
    bool whole = false;  // storage has none after the page
    std::vector<EdgeRef> added;
    std::size_t next = 0;  // of added
  };
  std::map<std::pair<EdgeKind, std::string>, EdgeQueue> queues_;
  std::unordered_map<std::string, bool> edge_states_;  // pairs that this transaction added (true) or consumed (false)
  std::vector<EdgeRef> added_edges_;
  std::vector<EdgeRef> removed_edges_;
  std::int64_t first_own_seq_ = 0;  // edges and messages with a greater seq are this transaction's
  std::vector<MessageRef> added_messages_;
  std::unordered_set<std::int64_t> gone_messages_;
  std::int64_t last_dropped_ = 0;     // seq of the newest unblock that was dropped
  std::size_t next_own_unblock_ = 0;  // into added_messages_: none before it is an unblock that still waits
  std::size_t edges_added_mark_ = 0;
  std::size_t edges_removed_mark_ = 0;
  std::size_t messages_added_mark_ = 0;
};

}  // namespace resonate
