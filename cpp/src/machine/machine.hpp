// The machine: every request and internal step of PROTOCOL 3 and 4 as a pure function of a working set, a request and one instant.
//
// Guards come first, in the order of the contract, each with its early return; then the writes. So a refused request has changed
// nothing. What differs between dialects and rule sets is read from their tables (resonate/rules.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "machine/job_transitions.hpp"
#include "machine/transitions.hpp"
#include "machine/working_set.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

class Machine {
 public:
  Machine(WorkingSet& set, Instant now, const Dialect& dialect, const Options& options, std::string_view scope = {})
      : set_(set), now_(now), dialect_(dialect), rules_(rules(options.rules, dialect)), options_(options), scope_(scope) {}

  // Runs a request that validation accepted. Moves what it stores out of the operation.
  Reply run(Operation& operation);

  Reply promise_get(PromiseGet& request);
  Reply promise_create(PromiseCreate& request);
  Reply promise_settle(PromiseSettle& request);
  Reply register_callback(RegisterCallback& request);
  Reply register_listener(RegisterListener& request);
  Reply promise_search(PromiseSearch& request);

  Reply task_get(TaskGet& request);
  Reply task_create(TaskCreate& request);
  Reply task_acquire(TaskAcquire& request);
  Reply task_release(TaskRelease& request);
  Reply task_suspend(TaskSuspend& request);
  Reply task_fulfill(TaskFulfill& request);
  Reply task_fence(TaskFence& request);
  Reply task_heartbeat(TaskHeartbeat& request);
  Reply task_halt(TaskHalt& request);
  Reply task_continue(TaskContinue& request);
  Reply task_search(TaskSearch& request);

  Reply schedule_get(ScheduleGet& request);
  Reply schedule_create(ScheduleCreate& request);
  Reply schedule_delete(ScheduleDelete& request);
  Reply schedule_search(ScheduleSearch& request);

  Reply job_enqueue(JobEnqueue& request);
  Reply job_enqueue_many(JobEnqueueMany& request);
  Reply job_get(JobGet& request);
  Reply job_claim(JobClaim& request);
  Reply job_start(JobStart& request);
  Reply job_start_many(JobStartMany& request);
  Reply job_heartbeat(JobHeartbeat& request);
  Reply job_complete(JobComplete& request);
  Reply job_complete_many(JobCompleteMany& request);
  Reply job_fail(JobFail& request);
  Reply job_release(JobRelease& request);
  Reply job_snooze(JobSnooze& request);
  Reply job_cancel(JobCancel& request);
  Reply job_run(JobRun& request);
  Reply job_archive(JobArchive& request);
  Reply job_delete(JobDelete& request);
  Reply job_search(JobSearch& request);
  Reply job_stats(JobStats& request);
  Reply queue_set(QueueSet& request);
  Reply queue_get(QueueGet& request);
  Reply queue_pause(QueuePause& request);
  Reply queue_resume(QueueResume& request);
  Reply queue_list(QueueList& request);

  // A job that is enqueued, or why it is not. Moves what it stores out of the order.
  Reply enqueue(JobOrder& order);

 private:
  using Entry = WorkingSet::Entry;

  Reply ok() const;
  Reply answer(const Entry& entry) const;
  Reply refusal(int status, std::string error) const;
  Reply no_promise(const std::string& id) const;
  Reply no_task(const std::string& id) const;
  Reply is_a_job(const std::string& id, std::string_view deed) const;

  // A new promise's row, without a task; born settled where its deadline has passed.
  Shared<Row> new_row(PromiseCreate& request) const;
  // The conflict of an idempotency key, or none.
  std::optional<Reply> creation_conflict(const Entry& entry, const PromiseCreate& request) const;
  // Why the promise may not be awaited, or none.
  std::optional<Reply> internal_refusal(const Row& awaited) const;
  void add_edge(EdgeKind kind, Entry& awaited, const std::string& other);

  // The task entry, when it exists and its holder presents its version in the right state; else the refusal.
  std::optional<Reply> claim_refusal(const Entry* entry, const std::string& id, std::int64_t version, TaskEvent event,
                                     std::string_view deed) const;
  void acquire(Entry& entry, const std::string& pid, Duration ttl);
  Reply claimed(const Entry& entry) const;
  void add_preload(Reply& reply, const Row& row) const;
  Reply search_rows(SearchQuery& query, bool tasks);

  Reply no_job(const std::string& id) const;
  Reply enqueue_asked(JobOrder& order);
  // Why its retries cannot be had: its lifecycle has some by a policy only.
  std::optional<std::string> refuse_retries(const JobOrder& order) const;
  std::optional<std::string> refuse_retries(const QueueSet& request) const;
  // Why the event cannot meet the job, or none.
  std::optional<Reply> job_refusal(const Entry* entry, const std::string& id, JobEvent event, std::string_view deed) const;
  // The same for its holder, who presents a version.
  std::optional<Reply> held_job_refusal(const Entry* entry, const std::string& id, std::int64_t version, JobEvent event,
                                        std::string_view deed) const;
  // The job of an id, or all that a filter chooses.
  template <class Change>
  Reply change_jobs(const JobFilter& filter, JobEvent event, std::string_view deed, Change change);
  template <class Wanted, class Change>
  Reply change_chosen(const JobFilter& filter, Wanted wanted, Change change);
  bool matches(const JobFilter& filter, const Row& row) const;
  RowScan scan_for(const JobFilter& filter);
  bool none_counted(const JobFilter& filter);
  std::optional<Reply> delete_refusal(const Entry& entry) const;
  void delete_job(Entry& entry);
  Reply no_queue(const std::string& name) const;
  Reply queue_reply(const Queue& queue) const;
  Reply set_paused(const std::string& queue, bool paused);
  bool in_scope(std::string_view id) const noexcept { return id.starts_with(scope_); }

  WorkingSet& set_;
  Instant now_;
  const Dialect& dialect_;
  const Rules& rules_;
  const Options& options_;
  std::string_view scope_;
};

// Shared by requests and steps.
void settle(WorkingSet& set, WorkingSet::Entry& entry, PromiseState state, Instant settled_at, Shared<const SharedValue> value,
            Shared<const SharedString> iku);
// Stores what a row that is dead at some instant is shown as.
void settle_dead(WorkingSet& set, WorkingSet::Entry& entry);
void clear_task(Row& row, TaskState state);
void enter_pending(Row& row, Instant at);

// Takes the internal step that is due first at `now`; none when nothing is due.
std::optional<Fired> take_step(WorkingSet& set, Instant now, const Options& options);

}  // namespace resonate
