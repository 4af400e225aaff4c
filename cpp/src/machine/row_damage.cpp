#include "machine/row_damage.hpp"

#include "machine/derive.hpp"

namespace resonate {

const char* damage_of(const Row& row) noexcept {
  if (row.task == TaskState::acquired && !row.pid) return "its task is acquired, and no process holds it";
  if (!row.job) return nullptr;
  if (!row.has_task()) return "it has a job and no task";
  if (is_held(row.job->state) && !row.pid) return "its job is held, and no process holds it";
  return nullptr;
}

bool fits_timer(const Row& row, DueKind kind) noexcept {
  const bool pending = row.state == PromiseState::pending;
  switch (kind) {
    case DueKind::drain: return !pending && (row.callbacks || row.listeners || row.cancels_jobs);
    case DueKind::timeout: return pending;
    case DueKind::lease: return pending && (row.job ? is_held(row.job->state) : row.task == TaskState::acquired);
    case DueKind::dispatch:
      if (row.job) return pending && (row.job->state == JobState::scheduled || row.job->state == JobState::retry);
      return pending && row.task == TaskState::pending && dispatchable(*row.promise_spec);
    case DueKind::retention: return !pending && row.job;
    case DueKind::schedule:
    case DueKind::none: break;
  }
  return false;
}

}  // namespace resonate
