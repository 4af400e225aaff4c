#include "machine/edge_overlay.hpp"

#include <algorithm>

namespace resonate {

namespace {

constexpr std::size_t kEdgePage = 64;

}  // namespace

std::string_view EdgeOverlay::pair_key(EdgeKind kind, std::string_view owner, std::string_view other) const {
  key_.assign(1, static_cast<char>('0' + static_cast<int>(kind)));
  key_.append(owner).append(1, '\0').append(other);  // neither holds a NUL
  return key_;
}

EdgeRef& EdgeOverlay::state_of(const Edge& edge) {
  const std::string_view key = pair_key(edge.kind, edge.owner, edge.other);
  const auto known = states_.find(key);
  return known == states_.end() ? states_.emplace(key, nullptr).first->second : known->second;
}

EdgeOverlay::Line& EdgeOverlay::line_of(std::size_t place, std::string_view owner) {
  if (last_line_ && last_place_ == place && last_line_->first == owner) return last_line_->second;
  Lines& lines = of_owner_[place];
  const auto known = lines.find(owner);
  last_line_ = &*(known == lines.end() ? lines.try_emplace(std::string(owner)).first : known);
  last_place_ = place;
  return last_line_->second;
}

const EdgeOverlay::Line* EdgeOverlay::known_line(std::size_t place, std::string_view owner) const {
  const Lines& lines = of_owner_[place];
  const auto known = lines.find(owner);
  return known == lines.end() ? nullptr : &known->second;
}

void EdgeOverlay::begin(Storage& storage, Counters& counters) noexcept {
  storage_ = &storage;
  counters_ = &counters;
  last_stored_ = counters.sequence;
}

void EdgeOverlay::clear() {
  // Most requests use few of these containers, and to ask whether one is empty costs less than to clear it.
  const auto clear_used = [](auto&... containers) { ((containers.empty() ? void() : containers.clear()), ...); };
  for (Lines& lines : of_owner_) clear_used(lines);
  last_line_ = nullptr;
  clear_used(cancelled_with_, removed_apart_, states_, added_, removed_);
  added_mark_ = removed_mark_ = 0;
  removed_own_ = false;
}

void EdgeOverlay::note(std::span<const EdgeLookup> loaded) {
  for (const EdgeLookup& edge : loaded)
    if (!knows(edge.kind, edge.owner, edge.other)) states_.emplace(key_, edge.found);
}

EdgeRef EdgeOverlay::find(EdgeKind kind, std::string_view owner, std::string_view other) const {
  if (!states_.empty())
    if (const auto known = states_.find(pair_key(kind, owner, other)); known != states_.end()) return known->second;
  return storage_->load_edge(kind, owner, other);
}

void EdgeOverlay::add(EdgeKind kind, std::string_view owner, std::string_view other, DialectId dialect, bool cancels, bool first) {
  auto* edge = new Edge;
  EdgeRef held(edge);
  edge->kind = kind;
  edge->owner = owner;
  edge->other = other;
  edge->seq = ++counters_->sequence;
  edge->dialect = dialect;
  edge->cancels = cancels;
  state_of(*edge) = held;
  Line& line = line_of(place_of(kind), owner);
  line.complete |= first;  // nothing of storage's is left, so first() need not look
  line.added.push_back(held);
  added_.push_back(std::move(held));
}

// Moves to the next stored edge that remove() has not removed; returns whether there is one.
bool EdgeOverlay::read(Line& line, EdgeRange range) {
  for (;; ++line.next_stored) {
    if (line.next_stored == line.stored.size()) {
      if (line.complete) return false;
      const EdgeRef last = line.stored.empty() ? nullptr : std::move(line.stored.back());  // the range refers to its owner
      if (last) {
        range.after = std::max(range.after, last->seq);
        range.after_owner = last->owner;
      }
      line.stored = storage_->edges(range);
      line.next_stored = 0;
      line.complete = line.stored.size() < range.limit;
      if (line.stored.empty()) return false;
    }
    if (!removed_apart_.contains(line.stored[line.next_stored]->seq)) return true;
  }
}

EdgeRef EdgeOverlay::first(EdgeKind kind, std::string_view owner, std::int64_t after) {
  Line& line = line_of(place_of(kind), owner);
  line.consumed = std::max(line.consumed, after);
  if (read(line, {.kind = kind, .of = owner, .after = line.consumed, .limit = kEdgePage})) return line.stored[line.next_stored];
  while (line.next < line.added.size() && removed_apart_.contains(line.added[line.next]->seq)) ++line.next;
  return line.next < line.added.size() ? line.added[line.next] : nullptr;
}

void EdgeOverlay::remove_first(const EdgeRef& edge) {
  Line& line = line_of(place_of(edge->kind), edge->owner);
  line.consumed = edge->seq;
  ++(is_own(*edge) ? line.next : line.next_stored);
  note_removed(edge);
}

void EdgeOverlay::stay(const EdgeRef& edge) {
  Line& line = line_of(place_of(edge->kind), edge->owner);
  line.consumed = edge->seq;
  ++line.next_stored;
}

EdgeRef EdgeOverlay::first_drained(std::string_view owner, std::int64_t through) {
  Line& line = line_of(kDrained, owner);
  for (;; ++line.next_stored) {
    if (!read(line, {.kind = EdgeKind::callback, .of = owner, .after = line.consumed, .limit = kEdgePage})) return nullptr;
    const EdgeRef& edge = line.stored[line.next_stored];
    if (edge->seq > through) return nullptr;
    if (is_left(*edge)) return edge;
    line.consumed = edge->seq;
  }
}

// Returns whether the transaction has not removed a stored callback. Of remove_first() the line of drained callbacks knows nothing.
bool EdgeOverlay::is_left(const Edge& edge) const {
  const auto known = states_.find(pair_key(edge.kind, edge.owner, edge.other));
  return known == states_.end() || (known->second && known->second->seq == edge.seq);
}

void EdgeOverlay::remove_first_drained(const EdgeRef& edge) {
  Line& line = line_of(kDrained, edge->owner);
  line.consumed = edge->seq;
  ++line.next_stored;
  note_removed(edge);
}

void EdgeOverlay::note_removed(const EdgeRef& edge) {
  state_of(*edge) = nullptr;
  removed_own_ = removed_own_ || is_own(*edge);
  removed_.push_back(edge);
}

EdgeRef EdgeOverlay::first_cancelled_with(std::string_view awaiter) {
  Line& line = cancelled_with_[std::string(awaiter)];
  const auto present = [this](const Edge& edge) {
    const Line* const of_owner = known_line(place_of(edge.kind), edge.owner);
    return !removed_apart_.contains(edge.seq) && (!of_owner || edge.seq > of_owner->consumed);
  };
  EdgeRef first;
  for (; read(line, {.of = awaiter, .limit = kEdgePage, .by = EdgeRange::By::canceller}); ++line.next_stored) {
    first = line.stored[line.next_stored];
    if (present(*first)) break;
    first = nullptr;
  }
  for (const EdgeRef& edge : added_) {
    const std::string* const key = cancel_key(*edge);
    if (key && *key == awaiter && present(*edge) && (!first || edge->owner < first->owner)) first = edge;
  }
  return first;
}

void EdgeOverlay::remove(const EdgeRef& edge) {
  removed_apart_.insert(edge->seq);
  note_removed(edge);
}

// Asks the stored edges of a range, page by page, up to a number.
bool EdgeOverlay::any_stored(EdgeRange range, std::int64_t through, const Wanted& wanted) const {
  for (range.limit = kEdgePage;;) {
    const std::vector<EdgeRef> page = storage_->edges(range);
    for (const EdgeRef& edge : page) {
      if (edge->seq > through) return false;
      if (!removed_apart_.contains(edge->seq) && wanted(*edge)) return true;
    }
    if (page.size() < kEdgePage) return false;
    range.after = page.back()->seq;
  }
}

bool EdgeOverlay::any(EdgeKind kind, std::string_view owner, std::int64_t after, const Wanted& wanted) {
  const Line& line = line_of(place_of(kind), owner);
  if (any_stored({.kind = kind, .of = owner, .after = std::max(line.consumed, after)}, kNever, wanted)) return true;
  return std::any_of(line.added.begin() + static_cast<std::ptrdiff_t>(line.next), line.added.end(),
                     [&](const EdgeRef& edge) { return !removed_apart_.contains(edge->seq) && wanted(*edge); });
}

bool EdgeOverlay::any_drained(std::string_view owner, std::int64_t through, const Wanted& wanted) {
  const Line& line = line_of(kDrained, owner);
  return any_stored({.kind = EdgeKind::callback, .of = owner, .after = line.consumed}, through,
                    [&](const Edge& edge) { return is_left(edge) && wanted(edge); });
}

void EdgeOverlay::finish(Changes& changes) {
  if (removed_own_) {
    std::erase_if(added_, [this](const EdgeRef& edge) {
      return edge->seq <= known_line(place_of(edge->kind), edge->owner)->consumed || removed_apart_.contains(edge->seq);
    });
    std::erase_if(removed_, [this](const EdgeRef& edge) { return is_own(*edge); });
  }
  if (!removed_.empty()) std::swap(changes.edges_removed, removed_);
  if (!added_.empty()) std::swap(changes.edges_added, added_);
}

void EdgeOverlay::checkpoint() noexcept {
  added_mark_ = added_.size();
  removed_mark_ = removed_.size();
}

}  // namespace resonate
