// Storage in memory: a hash table for look-ups by id, ordered sets for ranges. Forks share their structure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "resonate/storage.hpp"
#include "storage/cow_tree.hpp"
#include "storage/memory_keys.hpp"
#include "storage/row_table.hpp"

namespace resonate {

class MemoryStorage final : public Storage {
 public:
  MemoryStorage() = default;

  Counters counters() override { return counters_; }
  RowRef load(std::string_view id) override;
  void load_many(const Lookups& records) override;
  Instant first_due() override;
  std::vector<RowRef> rows(const RowRange& range) override;
  std::vector<ScheduleRef> schedules(const ScheduleRange& range) override;
  std::vector<QueueRef> queues(std::size_t most = SIZE_MAX) override;
  std::vector<HourRef> hours(std::string_view queue, std::int64_t since) override;
  std::vector<std::string> holders(std::string_view after, std::size_t limit) override;
  std::vector<EdgeRef> edges(const EdgeRange& range) override;
  std::vector<MessageRef> messages(const MessageRange& range) override;
  void write(const Changes& changes) override;
  std::size_t count(Table table) override { return table == Table::rows ? rows_.size() : messages_.size(); }
  std::unique_ptr<Storage> fork() override;
  bool index_some(std::size_t most) override;

 private:
  MemoryStorage(const MemoryStorage&) = default;

  struct ScheduleLess {
    static std::string_view probe(const ScheduleRef& s) noexcept { return s->id; }
    static std::string_view probe(std::string_view id) noexcept { return id; }
    bool operator()(const auto& a, const auto& b) const noexcept { return probe(a) < probe(b); }
  };
  struct EdgeOrderProbe {
    EdgeKind kind;
    std::string_view owner;
    std::int64_t seq;
  };
  struct EdgeOrder {
    static EdgeOrderProbe probe(const EdgeRef& e) noexcept { return {e->kind, e->owner, e->seq}; }
    static EdgeOrderProbe probe(const EdgeOrderProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const EdgeOrderProbe x = probe(a);
      const EdgeOrderProbe y = probe(b);
      if (x.kind != y.kind) return x.kind < y.kind;
      return x.owner != y.owner ? x.owner < y.owner : x.seq < y.seq;
    }
  };
  struct EdgePairProbe {
    EdgeKind kind;
    std::string_view owner;
    std::string_view other;
  };
  struct EdgePair {
    static EdgePairProbe probe(const EdgeRef& e) noexcept { return {e->kind, e->owner, e->other}; }
    static EdgePairProbe probe(const EdgePairProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const EdgePairProbe x = probe(a);
      const EdgePairProbe y = probe(b);
      if (x.kind != y.kind) return x.kind < y.kind;
      return x.owner != y.owner ? x.owner < y.owner : x.other < y.other;
    }
  };
  struct CancellerProbe {
    std::string_view awaiter;
    std::string_view owner;
  };
  struct CancellerOrder {
    static CancellerProbe probe(const EdgeRef& e) noexcept { return {e->other, e->owner}; }
    static CancellerProbe probe(const CancellerProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const CancellerProbe x = probe(a);
      const CancellerProbe y = probe(b);
      return x.awaiter != y.awaiter ? x.awaiter < y.awaiter : x.owner < y.owner;
    }
  };
  struct MessageOrder {
    static std::int64_t probe(const MessageRef& m) noexcept { return m->seq; }
    static std::int64_t probe(std::int64_t seq) noexcept { return seq; }
    bool operator()(const auto& a, const auto& b) const noexcept { return probe(a) < probe(b); }
  };

  struct AddressProbe {
    std::string_view address;
    std::int64_t seq;
  };
  struct AddressOrder {
    static AddressProbe probe(const MessageRef& m) noexcept { return {m->address, m->seq}; }
    static AddressProbe probe(const AddressProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const AddressProbe x = probe(a);
      const AddressProbe y = probe(b);
      if (const int order = x.address.compare(y.address)) return order < 0;
      return x.seq < y.seq;
    }
  };

  struct QueueLess {
    static std::string_view probe(const QueueRef& q) noexcept { return q->name; }
    static std::string_view probe(std::string_view name) noexcept { return name; }
    bool operator()(const auto& a, const auto& b) const noexcept { return probe(a) < probe(b); }
  };
  struct HourProbe {
    std::string_view queue;
    std::int64_t hour;
  };
  struct HourOrder {
    static HourProbe probe(const HourRef& h) noexcept { return {h->queue, h->counted.hour}; }
    static HourProbe probe(const HourProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const HourProbe x = probe(a);
      const HourProbe y = probe(b);
      return x.queue != y.queue ? x.queue < y.queue : x.hour < y.hour;
    }
  };
  struct UnblockProbe {
    std::string_view id;
    std::int64_t seq;
  };
  struct UnblockLess {
    static UnblockProbe probe(const MessageRef& m) noexcept { return {m->id, m->seq}; }
    static UnblockProbe probe(const UnblockProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const UnblockProbe x = probe(a);
      const UnblockProbe y = probe(b);
      return x.id != y.id ? x.id < y.id : x.seq < y.seq;
    }
  };

  void require_consistent() const;
  void clear();
  void insert_message(const MessageRef& message);
  void erase_message(std::int64_t seq);
  void apply_row(const RowChange& change);
  template <Index index>
  auto& keys() noexcept {
    return std::get<place_of(index)>(indexes_);
  }
  template <Index index>
  void move_key(const Row* before, const Row* after);
  void apply_schedule(const ScheduleChange& change);
  void apply_hour(const HourChange& change);
  const Row* current(const PromiseSpec& promise_spec) const;

  RowTable rows_;
  MemoryIndexes indexes_;
  CowTree<TimerKey, std::less<>> schedules_due_;
  // Rows created since the last search of an index for which is_entered_late() is true; some may have been deleted.
  std::vector<Shared<const PromiseSpec>> unindexed_;
  std::size_t indexed_ = 0;  // the first indexed_ of unindexed_ are in those indexes
  CowTree<ScheduleRef, ScheduleLess> schedules_;
  CowTree<EdgeRef, EdgeOrder> edges_;
  CowTree<EdgeRef, EdgePair> edge_pairs_;
  CowTree<EdgeRef, CancellerOrder> edges_by_canceller_;
  CowTree<MessageRef, MessageOrder> messages_;
  CowTree<MessageRef, AddressOrder> messages_by_address_;
  CowTree<MessageRef, MessageOrder> unblocks_;
  CowTree<MessageRef, UnblockLess> unblocks_by_id_;
  CowTree<QueueRef, QueueLess> queues_;
  CowTree<HourRef, HourOrder> hours_;
  Counters counters_;
  // Set during a write; if it stays set, the write failed midway (out of memory) and the content is inconsistent.
  bool inconsistent_ = false;
};

}  // namespace resonate
