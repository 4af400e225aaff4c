// Rows of jobs made by hand, in every state, as the machine would store them.
#pragma once

#include <string>
#include <utility>

#include "fake_rows.hpp"

namespace resonate::fake {

inline Attempt attempt(std::int64_t number, Instant started_at, Instant finished_at = kUnset, Outcome outcome = Outcome::open) {
  Attempt made;
  made.number = number;
  made.worker = Shared<const SharedString>(new SharedString("w"));
  made.started_at = started_at;
  made.finished_at = finished_at;
  made.outcome = outcome;
  return made;
}

inline PromiseState promise_of(JobState state) {
  switch (state) {
    case JobState::completed: return PromiseState::resolved;
    case JobState::failed:
    case JobState::expired: return PromiseState::rejected;
    case JobState::cancelled: return PromiseState::rejected_canceled;
    default: return PromiseState::pending;
  }
}
inline TaskState task_of(JobState state) {
  if (is_held(state)) return TaskState::acquired;
  if (is_terminal(state)) return TaskState::fulfilled;
  if (state == JobState::waiting) return TaskState::suspended;
  return state == JobState::archived ? TaskState::halted : TaskState::pending;
}

// Its instants, if the state has them: sent 1, enqueued 2, claimed 3, started 4, ended 5, due 50. Change members before ref().
struct JobMaker {
  explicit JobMaker(JobState state, const std::string& id = "j") : maker(id, 100) {
    spec.queue = "q";
    spec.type = "work";
    spec.max_retries = 3;
    spec.sent_at = 1;
    job.state = state;
    maker.row.external = true;
    maker.row.state = promise_of(state);
    maker.row.task = task_of(state);
    switch (state) {
      case JobState::waiting: job.awaits = IdList({"p"}); break;
      case JobState::scheduled: job.process_at = maker.row.retry_at = 50; break;
      case JobState::pending:
        job.enqueued_at = 2;
        maker.row.retry_at = 100;
        break;
      case JobState::claimed: claimed(); break;
      case JobState::running:
        claimed();
        job.attempts = {attempt(1, job.started_at = 4)};
        job.attempt_count = 1;
        break;
      case JobState::retry:
        tried(Outcome::failed);
        job.retry_count = 1;
        job.next_retry_at = maker.row.retry_at = 50;
        break;
      case JobState::archived:
        tried(Outcome::failed);
        job.failed_at = 5;
        break;
      case JobState::completed:
        over(Outcome::completed);
        job.completed_at = 5;
        break;
      case JobState::failed:
        over(Outcome::failed);
        job.failed_at = 5;
        break;
      case JobState::cancelled:
        over(Outcome::cancelled);
        job.cancelled_at = 5;
        break;
      case JobState::expired:
        job.enqueued_at = 2;
        job.expired_at = maker.row.settled_at = 5;
        break;
    }
  }

  RowMaker maker;
  Job job;
  JobSpec spec;

  RowRef ref() const {
    Shared<Job> made(new Job(job));
    made->spec = Shared<const JobSpec>(new JobSpec(spec));
    RowMaker whole = maker;
    whole.row.job = std::move(made);
    return whole.ref();
  }

 private:
  void claimed() {
    job.enqueued_at = 2;
    job.claimed_at = 3;
    job.run_lease = job.state == JobState::claimed ? 10 : 0;
    maker.row.acquisitions = 1;
    maker.row.ttl = 10;
    maker.row.expires_at = 13;
    maker.pid("w");
  }
  void tried(Outcome outcome) {
    job.attempts = {attempt(1, 4, 5, outcome)};
    job.attempt_count = 1;
    maker.row.acquisitions = 1;
  }
  void over(Outcome outcome) {
    tried(outcome);
    job.enqueued_at = 2;
    job.claimed_at = 3;
    job.started_at = 4;
    maker.row.settled_at = 5;
  }
};

inline Shared<const SharedString> shared(const std::string& text) { return Shared<const SharedString>(new SharedString(text)); }

inline Shared<const GroupState> group_state(Instant first_at, Instant last_at, std::int64_t count) {
  Shared<GroupState> made(new GroupState);
  made->first_at = first_at;
  made->last_at = last_at;
  made->count = count;
  return made;
}

// A job of the batch in that state; if it is scheduled, it gathers.
inline JobMaker gatherer(const std::string& id, const std::string& batch = "batch:1", JobState state = JobState::scheduled) {
  JobMaker made(state, id);
  made.spec.group = shared("g");
  made.job.batch = shared(batch);
  if (state != JobState::scheduled) return made;
  made.job.gathering = true;
  made.job.process_at = kUnset;
  made.maker.row.retry_at = 100;
  return made;
}
// The leader of a gathering group, which is due at 50.
inline JobMaker leader(const std::string& id, std::int64_t count, const std::string& batch = "batch:1") {
  JobMaker made = gatherer(id, batch);
  made.job.group_state = group_state(1, 2, count);
  made.maker.row.retry_at = 50;
  return made;
}

// The row with a change to it and its job; everything else stays the same, also the spec.
inline RowRef job_changed(const RowRef& before, auto change) {
  return changed(before, [&](Row& row) {
    Shared<Job> job(new Job(*row.job));
    change(row, *job);
    row.job = std::move(job);
  });
}

inline QueueRef queue(const std::string& name, std::initializer_list<std::pair<JobState, std::int64_t>> counts = {}) {
  Shared<Queue> made(new Queue);
  made->name = name;
  for (const auto& [state, count] : counts) made->counts[static_cast<std::size_t>(state)] = count;
  return made;
}

}  // namespace resonate::fake
