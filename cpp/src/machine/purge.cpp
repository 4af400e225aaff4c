#include "machine/purge.hpp"

#include "machine/derive.hpp"
#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/keepers.hpp"

namespace resonate {

void References::add(const Row& row) {
  if (row.state != PromiseState::pending) return;
  if (row.resumes) ids_.insert(row.resumes->items.begin(), row.resumes->items.end());
  if (row.current) ids_.insert(row.current->text);
  if (!row.job) return;
  ids_.insert(row.job->spec->after.begin(), row.job->spec->after.end());
  ids_.insert(row.job->awaits.begin(), row.job->awaits.end());
}

bool purge_row(WorkingSet& set, const Row& row, const References& references, Instant settled_before, Instant now) {
  if (row.state == PromiseState::pending || row.settled_at >= settled_before) return false;
  if (row.promise_spec->child && set.follow(row.promise_spec->child->parent)) return false;  // it goes with its job
  if (row.callbacks > 0 || row.listeners > 0 || row.cancels_jobs || references.contains(row.id())) return false;
  const std::string* origin = row.promise_spec->tags.find("resonate:origin");
  const WorkingSet::Entry* root = origin && *origin != row.id() ? set.follow(*origin) : nullptr;
  if (root && root->now->pending_at(now)) return false;
  if (row.job && (has_pending_awaiter(*row.job, set, now) || has_keeper(set, row, now))) return false;
  WorkingSet::Entry* const entry = set.follow(row.id());
  if (row.job && row.job->has_family()) {
    if (row.job->deleted || first_open_job(set, row.id(), now)) return false;
    mark_deleted(set, *entry, now);  // further steps remove its children and messages, and then itself
    return true;
  }
  if (row.job && is_too_young(row, now)) return false;
  if (row.job) {
    remove_job(set, *entry);
  } else {
    set.remove(*entry);
  }
  return true;
}

}  // namespace resonate
