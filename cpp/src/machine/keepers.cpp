#include "machine/keepers.hpp"

#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"

namespace resonate {

namespace {

constexpr std::size_t kKeepersAtOnce = 10'000;

bool keeps(const WorkingSet::Entry* keeper, Instant now) { return keeper && keeper->now->pending_at(now); }

// A child without a job counts neither.
bool counts_keepers(const Row& row) noexcept { return static_cast<bool>(row.job); }

// Whether all keepers of a job are callbacks that stayed, so that no edge of the kind keeper exists.
bool all_stayed(const Job& job) noexcept { return job.keepers == job.kept_callbacks; }

EdgeRef first_keeper(WorkingSet& set, const Row& row) {
  if (const std::int64_t through = row.drained_through(); through > 0)
    if (EdgeRef drained = set.first_drained_edge(row.id(), through)) return drained;
  return set.first_edge(EdgeKind::keeper, row.id());
}

void forget_first(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& first) {
  const bool stayed = first->kind == EdgeKind::callback;
  stayed ? set.remove_first_drained_edge(first) : set.remove_first_edge(first);
  if (!counts_keepers(*settled.now)) return;
  Job& job = edit_job(set.edit(settled));
  --job.keepers;
  if (stayed && --job.kept_callbacks == 0) job.drained_through = 0;
}

}  // namespace

void keep(WorkingSet& set, WorkingSet::Entry& settled, const std::string& keeper) {
  const Row& row = *settled.now;
  if (is_child_of(row, keeper)) return;  // a job keeps its children anyway
  note_watcher(set, row, keeper);
  if (row.drained_through() > 0) {
    const EdgeRef callback = set.follow_edge(EdgeKind::callback, row.id(), keeper);
    if (callback && is_drained(row, *callback)) return;
  }
  const bool first = counts_keepers(row) && all_stayed(*row.job);
  if (!first && set.follow_edge(EdgeKind::keeper, row.id(), keeper)) return;
  set.add_edge(EdgeKind::keeper, row.id(), keeper, row.promise_spec->dialect, false, first);
  if (counts_keepers(row)) ++edit_job(set.edit(settled)).keepers;
  set.touched(settled);
}

bool may_stay(const WorkingSet& set, const Row& settled, const Edge& callback) noexcept {
  return counts_keepers(settled) && all_stayed(*settled.job) && !callback.cancels && set.may_edge_stay(callback) &&
         !is_child_of(settled, callback.other);
}

void let_stay(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback) {
  set.let_edge_stay(callback);
  edit_job(set.edit(settled)).drained_through = callback->seq;
}

void keep_drained(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback) {
  note_watcher(set, *settled.now, callback->other);
  Job& job = edit_job(set.edit(settled));
  ++job.keepers;
  ++job.kept_callbacks;
  set.touched(settled);
}

void remove_drained(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback) {
  set.remove_edge(callback);
  Job& job = edit_job(set.edit(settled));
  if (job.kept_callbacks == 0) job.drained_through = 0;
  set.touched(settled);
}

bool any_keeper(WorkingSet& set, const Row& settled, const EdgeOverlay::Wanted& wanted) {
  const std::int64_t through = settled.drained_through();
  if (through > 0 && set.any_drained_edge(settled.id(), through, wanted)) return true;
  return set.any_edge(EdgeKind::keeper, settled.id(), wanted);
}

bool has_keeper(WorkingSet& set, const Row& settled, Instant now) {
  return settled.job->keepers > 0 && any_keeper(set, settled, [&](const Edge& edge) { return keeps(set.follow(edge.other), now); });
}

bool has_keeper_left(WorkingSet& set, WorkingSet::Entry& settled, Instant now) {
  for (std::size_t taken = 0; !counts_keepers(*settled.now) || settled.now->job->keepers > 0; ++taken) {
    const EdgeRef edge = first_keeper(set, *settled.now);
    if (!edge) return false;
    if (taken == kKeepersAtOnce || keeps(set.follow(edge->other), now)) return true;
    forget_first(set, settled, edge);
  }
  return false;
}

void forget_keepers(WorkingSet& set, WorkingSet::Entry& settled) {
  while (const EdgeRef edge = first_keeper(set, *settled.now)) forget_first(set, settled, edge);
}

}  // namespace resonate
