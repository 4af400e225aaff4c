// The edges as a transaction sees them: those of storage without those that it removed, then those that it added.
//
// Invariants:
// - An edge that the transaction added has a greater number than every edge of storage: so those of one owner are in order of
//   registration if storage's come first.
// - Edges leave their owner in two ways. remove_first() takes them in order: all up to `consumed` are gone. remove() takes one
//   anywhere: its number is in removed_apart_. An edge is present if neither holds.
// - Callbacks that were drained and stay are a line of their own: they are not in that of the callbacks, which begins after them.
// - A page has storage's edges after those consumed, in order; those before `next_stored` are consumed, or were removed apart.
//   `complete`: storage has none after the page, or none that is left.
// - `states_` has each pair that was loaded ahead, added or removed, with its present state; of other pairs storage's is valid.
// - added_ and removed_ keep what happened, also to an edge that was added and removed: finish() leaves those out, and checks of
//   consecutive states see them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "machine/text_hash.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class EdgeOverlay {
 public:
  void begin(Storage& storage, Counters& counters) noexcept;
  void clear();

  // Notes the state of pairs that were loaded ahead.
  void note(std::span<const EdgeLookup> loaded);
  // Null if there is none.
  EdgeRef find(EdgeKind kind, std::string_view owner, std::string_view other) const;
  // Returns whether find() answers without a read of storage.
  bool knows(EdgeKind kind, std::string_view owner, std::string_view other) const {
    return states_.contains(pair_key(kind, owner, other));
  }
  // `cancels`: the owner is a job that is cancelled with its awaiters. `first`: the owner has no other edge of this kind.
  void add(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect, bool cancels, bool first);
  // Edges are consumed in order of registration: the first after a number.
  EdgeRef first(EdgeKind kind, std::string_view owner, std::int64_t after = 0);
  void remove_first(const EdgeRef& edge);
  // Callbacks that were drained and stay, up to a number. A callback of this transaction cannot stay: storage has none of it yet.
  bool may_stay(const Edge& edge) const noexcept { return !is_own(edge); }
  void stay(const EdgeRef& edge);
  EdgeRef first_drained(std::string_view owner, std::int64_t through);
  void remove_first_drained(const EdgeRef& edge);
  // The first edge, by owner, whose job is cancelled with the awaiter; null if there is none.
  EdgeRef first_cancelled_with(std::string_view awaiter);
  // Removes an edge wherever it is among those of its owner.
  void remove(const EdgeRef& edge);
  // Returns whether `wanted` accepts an edge of the promise; asks in order of registration, up to the first. Those after a number;
  // or callbacks that were drained and stay, up to a number.
  using Wanted = std::function<bool(const Edge&)>;
  bool any(EdgeKind kind, std::string_view owner, std::int64_t after, const Wanted& wanted);
  bool any_drained(std::string_view owner, std::int64_t through, const Wanted& wanted);

  bool changed() const noexcept { return !added_.empty() || !removed_.empty(); }
  // Moves what storage is to add and to remove into `changes`. Call clear() afterwards.
  void finish(Changes& changes);

  void checkpoint() noexcept;
  std::span<const EdgeRef> added_since_checkpoint() const noexcept { return std::span(added_).subspan(added_mark_); }
  std::span<const EdgeRef> removed_since_checkpoint() const noexcept { return std::span(removed_).subspan(removed_mark_); }

 private:
  // The edges of one owner, or those that are cancelled with one awaiter.
  struct Line {
    std::int64_t consumed = 0;
    std::vector<EdgeRef> stored;  // a page of storage's
    std::size_t next_stored = 0;
    bool complete = false;
    std::vector<EdgeRef> added;  // by this transaction
    std::size_t next = 0;        // into added
  };
  using Lines = std::unordered_map<std::string, Line, TextHash, std::equal_to<>>;

  // The lines of an owner: of each kind of edges, and of callbacks that were drained.
  static constexpr std::size_t kDrained = kEdgeKinds;
  static constexpr std::size_t place_of(EdgeKind kind) noexcept { return static_cast<std::size_t>(kind); }

  // The key of a pair in states_. It stays valid until the next call.
  std::string_view pair_key(EdgeKind kind, std::string_view owner, std::string_view other) const;
  EdgeRef& state_of(const Edge& edge);
  Line& line_of(std::size_t place, std::string_view owner);
  const Line* known_line(std::size_t place, std::string_view owner) const;
  bool any_stored(EdgeRange range, std::int64_t through, const Wanted& wanted) const;
  bool is_left(const Edge& edge) const;
  void note_removed(const EdgeRef& edge);
  bool read(Line& line, EdgeRange range);
  bool is_own(const Edge& edge) const noexcept { return edge.seq > last_stored_; }

  Storage* storage_ = nullptr;
  Counters* counters_ = nullptr;
  std::int64_t last_stored_ = 0;                // the transaction's edges have greater numbers
  std::array<Lines, kEdgeKinds + 1> of_owner_;  // by place, then by owner
  Lines::value_type* last_line_ = nullptr;      // that was used last, of last_place_
  std::size_t last_place_ = 0;
  std::map<std::string, Line, std::less<>> cancelled_with_;  // by awaiter; without those that were added
  std::unordered_set<std::int64_t> removed_apart_;
  std::unordered_map<std::string, EdgeRef, TextHash, std::equal_to<>> states_;  // null: there is none
  mutable std::string key_;
  std::vector<EdgeRef> added_;
  std::vector<EdgeRef> removed_;
  std::size_t added_mark_ = 0;
  std::size_t removed_mark_ = 0;
  bool removed_own_ = false;  // removed_ has an edge of added_
};

}  // namespace resonate
