// WorkingSet: one transaction's view of the state: the rows of storage, overlaid by the changes of the transaction.
//
// The machine reads and writes rows only through it. Storage changes when the engine writes the result of finish(); clear()
// discards everything. It is not thread-safe; the engine's lock protects it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "machine/due_work.hpp"
#include "machine/edge_overlay.hpp"
#include "machine/entries.hpp"
#include "machine/text_hash.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class WorkingSet {
 public:
  using Entry = RowEntry;
  using QueueEntry = resonate::QueueEntry;
  using ScheduleEntry = resonate::ScheduleEntry;
  // The step that is due first, of a row or a schedule.
  struct Next {
    Due due;
    Entry* row = nullptr;
    ScheduleEntry* schedule = nullptr;
  };

  WorkingSet() = default;
  explicit WorkingSet(Storage& storage) { begin(storage); }
  WorkingSet(const WorkingSet&) = delete;
  WorkingSet& operator=(const WorkingSet&) = delete;
  // A set is reused, and cleared after each use. Its vectors keep their capacity, so a request allocates only what it stores.
  void begin(Storage& storage);
  void clear();

  // Lets scans read at most this many rows of storage until clear(). If they needed more, reached_row_limit() is true and their
  // results are incomplete.
  void limit_rows_read(std::size_t rows) noexcept {
    rows_left_ = rows;
    reached_row_limit_ = false;
  }
  bool reached_row_limit() const noexcept { return reached_row_limit_; }

  // Loads the records that a batch names with one call of the storage, and remembers which do not exist.
  void prefetch(const Lookups& records);
  // Return whether a row or an edge is known, so that no prefetch needs to have it.
  bool knows(std::string_view id) { return known(id) || (!absent_.empty() && absent_.contains(id)); }
  bool knows_edge(EdgeKind kind, std::string_view owner, std::string_view other) const { return edges_.knows(kind, owner, other); }

  // For tests: until clear() or require_planned({}), a find…() or has_edge() of what the plan of the request does not name throws.
  void require_planned(const std::optional<Lookups>& planned) noexcept { planned_ = planned; }

  // Loads a row that the request names. Returns null if the promise does not exist. Pointers stay valid until clear().
  Entry* find(std::string_view id);
  // Does the same for a row that another record or a search names: the plan of the request does not have it.
  Entry* follow(std::string_view id);
  // Returns the row for writing; copies it first if it is shared. Call touched() afterwards.
  Row& edit(Entry& entry);
  // Call after a change: computes when the row is next due.
  void touched(Entry& entry);
  // The same with a due instant that the caller knows; it must not be earlier than that of next_due(row) (derive.hpp).
  void touched(Entry& entry, Due due);
  Entry& create(Shared<Row> row);
  // Deletes the row.
  void remove(Entry& entry);
  // Returns a free id for a job.
  std::string new_job_id();

  // Returns null if the queue does not exist.
  const Queue* find_queue(std::string_view name);
  const Queue* follow_queue(std::string_view name);
  // Returns the queue for writing; creates it if it does not exist.
  Queue& edit_queue(std::string_view name);
  QueueEntry& edit_queue_entry(std::string_view name);
  // Stores an hour of the queue that has ended, and deletes those before `kept_from`.
  void end_hour(const std::string& queue, const QueueHour& counted, std::int64_t kept_from);
  // If there are more than limit_rows_read() permits, reached_row_limit() is true and none are returned.
  std::vector<QueueRef> queues();
  // The same, but nothing is returned in place of a limit that was reached.
  std::optional<std::vector<QueueRef>> queues_within_limit();
  // Returns the queue's job that holds the unique key at `now`, or null.
  Entry* holder_of_key(std::string_view queue, const std::string& key, Instant now);
  // The rows of a range, and the first of them or null. The set keeps what it reads, for ranges that one transaction reads
  // repeatedly.
  std::vector<Entry*> all_of(RowRange range);
  Entry* first_of(RowRange range);
  // Returns the instant since which the longest-waiting runnable job has been runnable; kUnset if none is runnable.
  Instant oldest_pending(const Queue& queue, Instant now);
  // Returns whether the outbox contains an unblock of the promise.
  bool has_unblock(std::string_view id);

  ScheduleEntry* find_schedule(std::string_view id);
  ScheduleEntry* follow_schedule(std::string_view id);
  void put_schedule(ScheduleRef schedule);
  void remove_schedule(ScheduleEntry& entry);

  // Returns the rows of a range that `wanted` accepts: storage's rows, overlaid by those of the transaction.
  std::vector<RowRef> scan(RowRange range, const std::function<bool(const Row&)>& wanted);
  // The same, up to the first row for which `classify` returns end.
  enum class RowMatch : std::uint8_t { unwanted, wanted, end };
  std::vector<RowRef> scan_until(RowRange range, const std::function<RowMatch(const Row&)>& classify);
  std::vector<ScheduleRef> scan_schedules(std::string_view after, std::size_t limit,
                                          const std::function<bool(const Schedule&)>& wanted);

  // As those of EdgeOverlay.
  bool has_edge(EdgeKind kind, std::string_view owner, std::string_view other);
  // The same for a pair that the plan of the request does not have.
  EdgeRef follow_edge(EdgeKind kind, std::string_view owner, std::string_view other) const {
    return edges_.find(kind, owner, other);
  }
  void add_edge(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect, bool cancels = false,
                bool first = false) {
    edges_.add(kind, owner, other, dialect, cancels, first);
  }
  EdgeRef first_edge(EdgeKind kind, std::string_view owner, std::int64_t after = 0) { return edges_.first(kind, owner, after); }
  void remove_first_edge(const EdgeRef& edge) { edges_.remove_first(edge); }
  bool may_edge_stay(const Edge& edge) const noexcept { return edges_.may_stay(edge); }
  void let_edge_stay(const EdgeRef& edge) { edges_.stay(edge); }
  EdgeRef first_drained_edge(std::string_view owner, std::int64_t through) { return edges_.first_drained(owner, through); }
  void remove_first_drained_edge(const EdgeRef& edge) { edges_.remove_first_drained(edge); }
  EdgeRef first_cancelled_with(std::string_view awaiter) { return edges_.first_cancelled_with(awaiter); }
  void remove_edge(const EdgeRef& edge) { edges_.remove(edge); }
  bool any_edge(EdgeKind kind, std::string_view owner, const EdgeOverlay::Wanted& wanted) {
    return edges_.any(kind, owner, 0, wanted);
  }
  bool any_edge_after(EdgeKind kind, std::string_view owner, std::int64_t after, const EdgeOverlay::Wanted& wanted) {
    return edges_.any(kind, owner, after, wanted);
  }
  bool any_drained_edge(std::string_view owner, std::int64_t through, const EdgeOverlay::Wanted& wanted) {
    return edges_.any_drained(owner, through, wanted);
  }

  // Queues the message and numbers it.
  std::int64_t add_message(Shared<OutboxMessage> message);
  void remove_message(std::int64_t seq);
  // Replaces a stored message by one with another lease.
  void lease_message(MessageRef leased) { changes_.messages_leased.push_back(std::move(leased)); }
  // Deletes the unblocks that were queued at or before `until`, and adds them to the counter of dropped messages.
  void drop_unblocks(Instant until);

  std::optional<Next> next_due(Instant now);

  // Notes how a submitted request ended.
  void end_submission(Submission ended) { changes_.submissions_ended.push_back(std::move(ended)); }

  Counters& counters() noexcept { return changes_.counters; }
  bool changed() const noexcept;
  // Returns the changes to commit. Call clear() afterwards.
  Changes& finish();

  // Marks the beginning of a request or step; since_checkpoint() then returns the changes, for checks of consecutive states.
  void checkpoint();
  struct StepView {
    std::vector<std::pair<RowRef, RowRef>> rows;  // before (null: created), after (null: deleted)
    std::vector<std::pair<ScheduleRef, ScheduleRef>> schedules;
    std::span<const EdgeRef> edges_added;
    std::span<const EdgeRef> edges_removed;
    std::span<const MessageRef> messages_added;
  };
  StepView since_checkpoint();

 private:
  // The rows of a group in storage that have been read so far.
  struct Page {
    std::vector<RowRef> rows;
    std::size_t front = 0;  // the transaction has changed all rows before this one
    bool complete = false;  // storage has no further rows
  };
  // A row that the transaction changed, at a place in a group. A later change may have moved it from there.
  struct OwnRow {
    std::int64_t major;
    std::int64_t minor;
    std::string_view id;
    Entry* entry;
    friend bool operator<(const OwnRow& a, const OwnRow& b) noexcept {
      return std::tie(a.major, a.minor, a.id) < std::tie(b.major, b.minor, b.id);
    }
  };
  using OwnRows = std::set<OwnRow>;
  struct Group {
    Page page;  // kept for ranges that one transaction reads repeatedly
    OwnRows own;
  };
  // One index in this transaction. Most transactions read none.
  struct Overlay {
    std::map<std::string, Group, std::less<>> groups;
    std::size_t touches = 0;  // the groups contain the first `touches` rows of touched_
  };

 public:
  // Iterates over a range of an index as the transaction sees it: storage's rows and its own, merged, filtered by `wanted` if that
  // is set. The caller may change the present row before pop(), but other rows of the group only right after it.
  class Cursor {
   public:
    enum class Reads : std::uint8_t { once, often };  // often: rows read from storage are kept for the next cursor
    Cursor(WorkingSet& set, RowRange range, std::size_t expected, Reads reads, std::function<bool(const Row&)> wanted);
    // Returns the present row; null at the end.
    const RowRef* peek();
    // Returns the present row's entry, for changing it.
    Entry& entry();
    void pop();

   private:
    const RowRef* stored();
    bool read_more();
    const RowRef* own();
    Page& page() noexcept { return kept_ ? *kept_ : page_; }

    WorkingSet& set_;
    RowRange range_;
    std::size_t page_size_;
    std::function<bool(const Row&)> wanted_;
    Page page_;
    Page* kept_ = nullptr;
    std::size_t next_stored_ = 0;  // into the page
    OwnRows* own_ = nullptr;
    OwnRows::iterator next_own_;
    const RowRef* found_ = nullptr;
    bool found_is_own_ = false;
  };
  // The runnable jobs of a queue that `wanted` accepts, in the order of claims.
  Cursor claims(std::string_view queue, std::size_t expected, std::function<bool(const Row&)> wanted) {
    return {*this, jobs_to_claim(queue), expected, Cursor::Reads::often, std::move(wanted)};
  }

 private:
  static std::string name_of_group(std::string_view queue, std::string_view text, std::string_view type);
  Overlay& overlay(Index index);
  OwnRows* own_rows(const RowRange& range);
  bool still_at(const OwnRow& row, const RowRange& range) const;
  QueueEntry* known_queue(std::string_view name);

  Entry* known(std::string_view id);
  Entry& new_entry();
  void enter_in_table(Entry& entry);
  void grow_entry_table();
  Entry& remember(RowRef row);
  bool changed_here(const Row& row);
  bool changed_here(const Schedule& schedule);
  template <class Visit>
  void each_entry(Visit visit);

  static constexpr std::size_t kFewEntries = 4;      // most requests use at most this many, which are searched one by one
  static constexpr std::size_t kKeptEntries = 4096;  // entries whose memory is kept for the next transaction

  Storage* storage_ = nullptr;
  std::optional<Lookups> planned_;
  std::size_t rows_left_ = SIZE_MAX;
  bool reached_row_limit_ = false;
  Changes changes_;
  Counters counters_before_;
  std::array<Entry, kFewEntries> few_;
  std::vector<std::unique_ptr<Entry>> more_;  // more_[i] is entry kFewEntries + i; those beyond entries_ are unused
  std::size_t entries_ = 0;
  std::vector<RowRef> replaced_rows_;  // replaced rows, kept because views of their ids may still be in use
  std::vector<Entry*> entry_table_;    // hash table over more_: open addressing by Entry::hash; its size is a power of two
  bool checking_ = false;              // checkpoint() was called
  std::map<std::string, ScheduleEntry, std::less<>> schedules_;
  std::map<std::string, QueueEntry, std::less<>> queues_of_jobs_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> absent_;  // ids that do not exist in storage

  std::vector<Entry*> touched_;             // changed rows in order of change, with repetitions
  std::array<Overlay, kIndexes> overlays_;  // by index
  bool overlaid_ = false;                   // overlays_ is not empty
  QueueEntry* last_queue_ = nullptr;        // the queue used last: most transactions use only one

  DueWork due_;
  EdgeOverlay edges_;
  std::int64_t last_stored_message_ = 0;  // the transaction's messages have greater numbers
  std::vector<MessageRef> added_messages_;
  std::unordered_set<std::int64_t> removed_messages_;
  std::int64_t last_dropped_ = 0;     // seq of the last unblock that was dropped
  std::size_t next_own_unblock_ = 0;  // into added_messages_: no unblock before it is still queued
  std::size_t messages_added_mark_ = 0;
};

}  // namespace resonate
