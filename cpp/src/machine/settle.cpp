#include "machine/settle.hpp"

#include <utility>

#include "machine/job_groups.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/transitions.hpp"

namespace resonate {

namespace {

const JobError kCancelled{"Cancelled", "the job was cancelled", {}};
const JobError kRejected{"Rejected", "the promise was rejected from outside", {}};

void end_job(Job& job, const Settlement& end) {
  leave_group(job);
  close_attempt(job, end.outcome, end.at, end.outcome == Outcome::cancelled ? nullptr : end.error);
  move(job, end.event);
  job.run_lease = 0;
  job.next_retry_at = kUnset;
  job.*end_instant(job.state) = end.at;
  if (end.error) {
    job.error = *end.error;
    return;
  }
  job.failed_at = kUnset;
  job.error.reset();
  if (job.spec->retention != kKept) job.reclaim_at = saturating_add(end.at, job.spec->retention);
}

void settle_row(Row& row, Settlement end) {
  if (row.job && applies(end.event, row.job->state)) end_job(edit_job(row), end);
  row.state = end.state;
  row.settled_at = end.at;
  row.value = std::move(end.value);
  row.iku = std::move(end.iku);
  if (!row.has_task()) return;
  clear_task(row, next_state(TaskEvent::settle, row.task).value_or(TaskState::fulfilled));
  row.ttl = 0;
  row.resumes = nullptr;
  row.current = nullptr;
}

bool has_jobs_to_cancel(WorkingSet& set, const Row& row) {
  return row.state == PromiseState::rejected_canceled && set.first_cancelled_with(row.id());
}

// The event that ends a row without a request.
JobEvent last_event(const Row& row) noexcept {
  if (row.expires()) return JobEvent::expire;
  return row.promise_spec->timer ? JobEvent::resolve : JobEvent::time_out;
}

Settlement last_settlement(const Row& row) {
  Settlement end = settlement(row.end_state(), row.ends_at());
  if (last_event(row) != JobEvent::expire) return end;
  end.event = JobEvent::expire;
  end.error = &expired_job_error();
  end.value = Shared<const SharedValue>(new SharedValue(expired_job_value()));
  return end;
}

}  // namespace

Settlement settlement(PromiseState state, Instant at) {
  Settlement end{.state = state, .at = at};
  switch (state) {
    case PromiseState::resolved: break;
    case PromiseState::rejected_canceled:
      end.event = JobEvent::cancel;
      end.outcome = Outcome::cancelled;
      end.error = &kCancelled;
      break;
    case PromiseState::rejected_timedout:
      end.event = JobEvent::time_out;
      end.outcome = Outcome::timed_out;
      end.error = &deadline_job_error();
      break;
    case PromiseState::rejected:
    case PromiseState::pending:
      end.event = JobEvent::reject;
      end.outcome = Outcome::failed;
      end.error = &kRejected;
      break;
  }
  return end;
}

void settle(WorkingSet& set, WorkingSet::Entry& entry, Settlement end) {
  if (entry.now->job) {
    leave_group(set, entry);
    leave_awaits(set, entry, end.state == PromiseState::rejected_canceled);
    return change_job(set, entry, [&](Row& row, Job& job) {
      settle_row(row, std::move(end));
      row.cancels_jobs = (job.spec->adopted || job.steps > 0) && has_jobs_to_cancel(set, row);  // others cancel nothing
    });
  }
  Row& row = set.edit(entry);
  settle_row(row, std::move(end));
  row.cancels_jobs = has_jobs_to_cancel(set, row);
  set.touched(entry);
}

void run_last_step(WorkingSet& set, WorkingSet::Entry& entry) { settle(set, entry, last_settlement(*entry.now)); }

RowRef shown_at(const RowRef& row, Instant now) {
  if (!row || !row->dead_at(now)) return row;
  Shared<Row> ended(new Row(*row));
  settle_row(*ended, last_settlement(*row));
  return ended;
}

JobState job_state_at(const Row& row, Instant now) noexcept {
  return row.dead_at(now) ? transition(last_event(row)).to.value_or(row.job->state) : row.job->state;
}

void clear_task(Row& row, TaskState state) {
  row.task = state;
  row.pid = nullptr;
  row.expires_at = kUnset;
  row.retry_at = kUnset;
  row.execute_waits = false;
}

}  // namespace resonate
