#include "machine/job_cancellation.hpp"

#include <vector>

#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

bool has_pending_awaiter(WorkingSet& set, const std::string& awaited, Instant now) {
  return set.any_edge(EdgeKind::callback, awaited, [&](const Edge& edge) {
    const WorkingSet::Entry* const awaiter = set.follow(edge.other);
    return awaiter && awaiter->now->pending_at(now);
  });
}

}  // namespace

bool cancels(const Row& awaited, const Row& awaiter) noexcept {
  if (!awaited.job || !awaited.job->spec->cancel_with_awaiters) return false;
  return !awaiter.job || awaiter.job->spec->adopted || is_child_of(awaited, awaiter.id());
}

void follow_awaiters(WorkingSet& set, WorkingSet::Entry& adopted) {
  if (adopted.now->callbacks == 0 || !adopted.now->job->spec->cancel_with_awaiters) return;
  std::vector<EdgeRef> edges;
  while (EdgeRef edge = set.first_edge(EdgeKind::callback, adopted.now->id())) {
    set.remove_first_edge(edge);
    edges.push_back(std::move(edge));
  }
  Row& row = set.edit(adopted);
  for (const EdgeRef& edge : edges) {
    const WorkingSet::Entry* const awaiter = set.follow(edge->other);
    if (awaiter && awaiter->now->state == PromiseState::rejected_canceled) {
      if (row.callbacks > 0) --row.callbacks;
    } else {
      set.add_edge(edge->kind, edge->owner, edge->other, edge->dialect, awaiter && cancels(row, *awaiter->now));
    }
  }
  set.touched(adopted);
}

std::optional<Fired> cancel_awaited(WorkingSet& set, WorkingSet::Entry& cancelled, Instant now) {
  const std::string id = cancelled.now->id();
  const EdgeRef edge = set.first_cancelled_with(id);
  bool cancels = false;
  if (edge) {
    WorkingSet::Entry* const awaited = set.follow(edge->owner);
    if (!awaited || !awaited->now->job || awaited->now->callbacks == 0)
      throw Error(ErrorCode::storage, "a stored row is damaged: " + quoted(edge->owner) + " is awaited by " + quoted(id) +
                                          ", and is no job that counts its awaiters");
    set.remove_edge(edge);
    WorkingSet::Entry& job = *awaited;
    --set.edit(job).callbacks;
    set.touched(job);
    cancels = applies(JobEvent::cancel, job_state_at(*job.now, now)) && !has_pending_awaiter(set, edge->owner, now);
    if (cancels) cancel_job(set, job, {"Cancelled", "the awaiter " + quoted(id) + " was cancelled", {}}, now);
  }
  if (!edge || !set.first_cancelled_with(id)) {
    set.edit(cancelled).cancels_jobs = false;
    set.touched(cancelled);
  }
  if (!edge) return std::nullopt;
  return Fired{.kind = StepKind::cancel_drain,
               .id = id,
               .at = cancelled.now->settled_at,
               .now = now,
               .detail = edge->owner,
               .created = cancels};
}

}  // namespace resonate
