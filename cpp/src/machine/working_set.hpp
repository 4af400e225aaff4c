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
#include <tuple>
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

  // Loads the rows that a batch names in one go, and remembers which do not exist.
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

  // Null where the queue does not exist.
  const Queue* find_queue(std::string_view name);
  // A queue to write to; made where it does not exist.
  Queue& edit_queue(std::string_view name);
  std::vector<QueueRef> queues();
  // The job of a queue that holds the key at `now`, or null.
  Entry* holder_of_key(std::string_view queue, const std::string& key, Instant now);
  // The rows of a range that one transaction may read many times, and the first of them or null.
  std::vector<Entry*> all_of(RowRange range);
  Entry* first_of(RowRange range);
  // Since when the job waits that has waited longest of those that may be claimed; kUnset: none waits.
  Instant oldest_pending(std::string_view queue, Instant now);
  // Whether an unblock of the promise waits to be delivered.
  bool has_unblock(std::string_view id);

  ScheduleEntry* find_schedule(std::string_view id);
  void put_schedule(ScheduleRef schedule);
  void remove_schedule(ScheduleEntry& entry);

  // A range of an index: storage's rows, with this transaction's in their place, those that `wanted` accepts.
  std::vector<RowRef> scan(RowRange range, const std::function<bool(const Row&)>& wanted);
  // The same, before the first at which `judge` says that it is enough.
  enum class Seen : std::uint8_t { unwanted, wanted, end };
  std::vector<RowRef> scan_until(RowRange range, const std::function<Seen(const Row&)>& judge);
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
  // Rows of a group that storage holds, as far as they were read.
  struct Page {
    std::vector<RowRef> rows;
    std::size_t front = 0;  // this transaction has changed those before it
    bool whole = false;     // storage has none after them
  };
  // A row that this transaction changed, at a place in a group. It may have left the place since.
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
    Page page;  // kept for a group that one transaction may read many times
    OwnRows own;
  };
  // The state of one index in this transaction. Most transactions read none.
  struct Overlay {
    std::map<std::string, Group, std::less<>> groups;
    std::size_t touches = 0;  // so many of touched_ are in the groups
  };

 public:
  // Goes through a range of an index as the transaction sees it: storage's rows and its own, merged, those that `wanted` accepts
  // (all without one). A row that the cursor stands at may change before pop(), others of its group right after it.
  class Cursor {
   public:
    enum class Reads : std::uint8_t { once, often };  // often: what was read of storage is kept for the next cursor
    Cursor(WorkingSet& set, RowRange range, std::size_t expected, Reads reads, std::function<bool(const Row&)> wanted);
    // The first of them; null at the end.
    const RowRef* peek();
    // That row, to be changed.
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
  // The jobs of a queue that may be claimed and that `wanted` accepts, in the order of claims.
  Cursor claims(std::string_view queue, std::size_t expected, std::function<bool(const Row&)> wanted) {
    return {*this, jobs_to_claim(queue), expected, Cursor::Reads::often, std::move(wanted)};
  }

 private:
  static std::string name_of_group(std::string_view queue, std::string_view text, std::string_view type);
  Overlay& overlay(Index index);
  OwnRows* own_rows(const RowRange& range);
  bool still_at(const OwnRow& row, const RowRange& range) const;
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
  // Storage's that are due, a page at a time; it stands still meanwhile, so a page stays true.
  template <class Range, class Ref>
  struct DuePages {
    Range range;
    std::vector<Ref> items = {};
    std::size_t at = 0;
    Instant read_until = kUnset;  // storage has none after them up to that instant
  };
  template <class Pages, class Read>
  auto first_due_of(Pages& pages, Instant now, Read read) -> decltype(pages.items.data());
  const RowRef* stored_due_row(Instant now);
  const ScheduleRef* stored_due_schedule(Instant now);
  bool changed_here(const Row& row);
  bool changed_here(const Schedule& schedule);
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
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_set<std::string, TextHash, std::equal_to<>> absent_;  // ids that storage does not have

  std::vector<Entry*> touched_;             // rows that changed, in order; some several times
  std::array<Overlay, kIndexes> overlays_;  // by index
  bool overlaid_ = false;                   // something is in them
  QueueEntry* last_queue_ = nullptr;        // most transactions are about one queue

  std::vector<HeapItem> heap_;  // due rows and schedules of this transaction; stale items are skipped
  DuePages<RowRange, RowRef> due_rows_{.range = rows_by_due()};
  DuePages<ScheduleRange, ScheduleRef> due_schedules_{.range = {.by = ScheduleRange::By::due}};

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
