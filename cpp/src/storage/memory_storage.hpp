// The memory home: a hash table for look-ups, ordered sets for what has an order; all of them share structure between forks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "resonate/storage.hpp"
#include "storage/cow_tree.hpp"
#include "storage/row_table.hpp"

namespace resonate {

class MemoryStorage final : public Storage {
 public:
  MemoryStorage() = default;

  Counters counters() override { return counters_; }
  RowRef load(std::string_view id) override;
  std::vector<RowRef> load_many(std::span<const std::string_view> ids) override;
  ScheduleRef load_schedule(std::string_view id) override;
  Instant first_due() override;
  std::vector<DueEntry> due(Instant until, std::size_t limit, const DueEntry* after) override;
  std::vector<RowRef> scan(const RowScan& scan) override;
  std::vector<ScheduleRef> scan_schedules(std::string_view after, std::size_t limit) override;
  std::vector<RowRef> claimable(std::string_view queue, std::size_t limit, const ClaimKey* after) override;
  std::vector<RowRef> unique_jobs(std::string_view queue, std::string_view key) override;
  std::vector<RowRef> batch_jobs(std::string_view queue, std::string_view key) override;
  QueueRef load_queue(std::string_view name) override;
  std::vector<QueueRef> queues() override;
  std::vector<EdgeRef> edges(EdgeKind kind, std::string_view owner, std::int64_t after_seq, std::size_t limit) override;
  bool has_edge(EdgeKind kind, std::string_view owner, std::string_view other) override;
  std::vector<MessageRef> messages(std::int64_t after_seq, std::size_t limit) override;
  std::vector<MessageRef> messages_to(const AddressPattern& to, std::string_view after_address, std::int64_t after_seq,
                                      std::size_t limit) override;
  MessageRef oldest_unblock(std::int64_t after_seq) override;
  std::vector<std::int64_t> unblocks_of(std::string_view id) override;
  void write(const Changes& changes) override;
  void clear() override;
  void store_instant(Instant now) override { counters_.now = now; }
  std::size_t row_count() override { return rows_.size(); }
  std::size_t message_count() override { return messages_.size(); }
  std::unique_ptr<Storage> fork() override;
  bool index_some(std::size_t most) override;

 private:
  MemoryStorage(const MemoryStorage&) = default;

  // Index keys point at ids inside births and schedules, which live at least as long as their index entries.
  //
  // A crowd that shares one deadline is ordered by its ids, and each of those lies elsewhere in memory. So a key repeats the first
  // bytes of its id, as numbers whose order is theirs: most comparisons end inside the tree's node.
  struct DueKey {
    Instant at = 0;
    std::array<std::uint64_t, 2> head{};  // the kind in the first byte, then what fits of the id
    const std::string* id = nullptr;

    DueKey() = default;
    DueKey(Due due, const std::string& of) noexcept;
    DueKind kind() const noexcept { return static_cast<DueKind>(head[0] >> 56); }
  };
  struct DueLess {
    bool operator()(const DueKey& a, const DueKey& b) const noexcept {
      if (a.at != b.at) return a.at < b.at;
      if (a.head != b.head) return a.head < b.head;
      return a.id != b.id && *a.id < *b.id;
    }
  };
  struct IdLess {
    bool operator()(const Birth* a, const Birth* b) const noexcept { return a->id < b->id; }
    bool operator()(const Birth* a, std::string_view b) const noexcept { return a->id < b; }
    bool operator()(std::string_view a, const Birth* b) const noexcept { return a < b->id; }
  };
  struct GroupProbe {
    std::string_view group;
    std::string_view id;
  };
  struct BranchLess {
    static GroupProbe probe(const Birth* birth) noexcept { return {*birth->branch, birth->id}; }
    static GroupProbe probe(const GroupProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const GroupProbe x = probe(a);
      const GroupProbe y = probe(b);
      return x.group != y.group ? x.group < y.group : x.id < y.id;
    }
  };
  struct PidKey {
    Shared<const SharedString> pid;
    const Birth* birth = nullptr;
  };
  struct PidLess {
    static GroupProbe probe(const PidKey& key) noexcept { return {key.pid->text, key.birth->id}; }
    static GroupProbe probe(const GroupProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const GroupProbe x = probe(a);
      const GroupProbe y = probe(b);
      return x.group != y.group ? x.group < y.group : x.id < y.id;
    }
  };
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

  // A job that may be claimed. As a key of the timers it repeats the beginnings of its texts, as numbers whose order is theirs; the
  // whole texts are looked at where those are equal, and live as long as the entry.
  struct ClaimKeyOfRow {
    std::uint64_t queue_head = 0;
    int priority = 0;
    Instant enqueued_at = 0;
    std::array<std::uint64_t, 3> id_head{};
    std::string_view queue;
    std::string_view id;
    Shared<const JobSpec> spec;  // that of `queue`

    ClaimKeyOfRow() = default;
    ClaimKeyOfRow(std::string_view queue, int priority, Instant enqueued_at, std::string_view id) noexcept;
    explicit ClaimKeyOfRow(const Row& row) noexcept;
  };
  struct ClaimLess {
    bool operator()(const ClaimKeyOfRow& a, const ClaimKeyOfRow& b) const noexcept {
      if (a.queue_head != b.queue_head) return a.queue_head < b.queue_head;
      if (a.queue.size() > sizeof(a.queue_head) || b.queue.size() > sizeof(b.queue_head)) {
        if (const int order = a.queue.compare(b.queue)) return order < 0;
      }
      if (a.priority != b.priority) return a.priority < b.priority;
      if (a.enqueued_at != b.enqueued_at) return a.enqueued_at < b.enqueued_at;
      if (a.id_head != b.id_head) return a.id_head < b.id_head;
      return (a.id.size() > sizeof(a.id_head) || b.id.size() > sizeof(b.id_head)) && a.id < b.id;
    }
  };
  struct StateProbe {
    JobState state;
    std::string_view id;
  };
  struct StateKey {
    JobState state = {};
    const Birth* birth = nullptr;
  };
  struct StateLess {
    static StateProbe probe(const StateKey& key) noexcept { return {key.state, key.birth->id}; }
    static StateProbe probe(const StateProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept {
      const StateProbe x = probe(a);
      const StateProbe y = probe(b);
      return x.state != y.state ? x.state < y.state : x.id < y.id;
    }
  };
  struct UniqueKeyOfRow {
    Shared<const JobSpec> spec;
    const Birth* birth = nullptr;
  };
  struct UniqueProbe {
    std::string_view queue;
    std::string_view key;
    std::string_view id;
  };
  struct UniqueLess {
    static UniqueProbe probe(const UniqueKeyOfRow& key) noexcept { return {key.spec->queue, *key.spec->unique_key, key.birth->id}; }
    static UniqueProbe probe(const UniqueProbe& p) noexcept { return p; }
    static bool less(const UniqueProbe& x, const UniqueProbe& y) noexcept {
      if (x.key != y.key) return x.key < y.key;
      return x.queue != y.queue ? x.queue < y.queue : x.id < y.id;
    }
    bool operator()(const auto& a, const auto& b) const noexcept { return less(probe(a), probe(b)); }
  };
  struct BatchKeyOfRow {
    Shared<const JobSpec> spec;
    Shared<const SharedString> key;
    const Birth* birth = nullptr;
  };
  struct BatchLess {
    static UniqueProbe probe(const BatchKeyOfRow& key) noexcept { return {key.spec->queue, key.key->text, key.birth->id}; }
    static UniqueProbe probe(const UniqueProbe& p) noexcept { return p; }
    bool operator()(const auto& a, const auto& b) const noexcept { return UniqueLess::less(probe(a), probe(b)); }
  };
  struct QueueLess {
    static std::string_view probe(const QueueRef& q) noexcept { return q->name; }
    static std::string_view probe(std::string_view name) noexcept { return name; }
    bool operator()(const auto& a, const auto& b) const noexcept { return probe(a) < probe(b); }
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

  void require_whole() const;
  void index_job(const Row* before, const Row* after);
  void index_batch(const Row* before, const Row* after);
  void apply_row(const RowChange& change);
  void apply_schedule(const ScheduleChange& change);
  bool is_there(const Birth& birth) const;
  DueEntry entry_of(const DueKey& key) const;

  RowTable rows_;
  CowTree<DueKey, DueLess> due_;
  CowTree<const Birth*, IdLess> by_id_;
  // Creations since the last ordered scan: most stores are never searched. Some of them may be gone again.
  std::vector<Shared<const Birth>> not_yet_by_id_;
  std::size_t indexed_ = 0;  // of not_yet_by_id_, from its front: those are in by_id_
  CowTree<const Birth*, BranchLess> by_branch_;
  CowTree<PidKey, PidLess> by_pid_;
  CowTree<ScheduleRef, ScheduleLess> schedules_;
  CowTree<EdgeRef, EdgeOrder> edges_;
  CowTree<EdgeRef, EdgePair> edge_pairs_;
  CowTree<MessageRef, MessageOrder> messages_;
  CowTree<MessageRef, AddressOrder> messages_by_address_;
  CowTree<MessageRef, MessageOrder> unblocks_;
  CowTree<MessageRef, UnblockLess> unblocks_by_id_;
  CowTree<ClaimKeyOfRow, ClaimLess> by_claim_;
  CowTree<UniqueKeyOfRow, UniqueLess> by_unique_key_;
  CowTree<BatchKeyOfRow, BatchLess> by_batch_;
  CowTree<StateKey, StateLess> by_job_state_;  // of those that are set aside
  CowTree<QueueRef, QueueLess> queues_;
  Counters counters_;
  bool torn_ = false;  // a write was cut short (out of memory): nothing here can be trusted
};

}  // namespace resonate
