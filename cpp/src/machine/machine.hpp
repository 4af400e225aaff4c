// The machine: every request and internal step of PROTOCOL 3 and 4 as a pure function of a working set, a request and an instant.
//
// Checks come first, in the order of the contract, each with an early return; then the writes. So a refused request changes
// nothing. Differences between dialects and rule sets are data in tables (resonate/rules.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  // For one request.
  Machine(WorkingSet& set, Instant now, const Request& request, const Options& options)
      : Machine(set, now, resonate::dialect(request.dialect), options, request.scope) {
    statuses_only_ = request.statuses_only;
  }

  // Runs a validated request, and moves values out of it. The rows of the reply are as in shown_at().
  Reply run(Operation& operation);
  // Returns the ids of the jobs that a request with a filter would change, for JobFilter::chosen_ids: at most the number that one
  // request changes, plus one if there are more. It changes nothing.
  std::vector<std::string> choose(const Operation& operation);
  // Enqueues a job, or returns the refusal. Moves values out of the order.
  Reply enqueue(JobOrder& order);

 private:
  using Entry = WorkingSet::Entry;

  Reply run(PromiseGet& request);
  Reply run(PromiseCreate& request);
  Reply run(PromiseSettle& request);
  Reply run(RegisterCallback& request);
  Reply run(RegisterListener& request);
  Reply run(PromiseSearch& request);

  Reply run(TaskGet& request);
  Reply run(TaskCreate& request);
  Reply run(TaskAcquire& request);
  Reply run(TaskRelease& request);
  Reply run(TaskSuspend& request);
  Reply run(TaskFulfill& request);
  Reply run(TaskFence& request);
  Reply run(TaskHeartbeat& request);
  Reply run(TaskHalt& request);
  Reply run(TaskContinue& request);
  Reply run(TaskSearch& request);

  Reply run(ScheduleGet& request);
  Reply run(ScheduleCreate& request);
  Reply run(ScheduleDelete& request);
  Reply run(ScheduleSearch& request);
  Reply run(SchedulePause& request);
  Reply run(ScheduleResume& request);

  Reply run(JobEnqueue& request);
  Reply run(JobEnqueueMany& request);
  Reply run(JobGet& request);
  Reply run(JobClaim& request);
  Reply run(JobStart& request);
  Reply run(JobStartMany& request);
  Reply run(JobHeartbeat& request);
  Reply run(JobComplete& request);
  Reply run(JobCompleteMany& request);
  Reply run(JobFail& request);
  Reply run(JobRelease& request);
  Reply run(JobSnooze& request);
  Reply run(JobReport& request);
  Reply run(JobSuspend& request);
  Reply run(JobRecordSteps& request);
  Reply run(JobReceive& request);
  Reply run(JobSend& request);
  Reply run(JobHistory& request);
  Reply run(JobStartOver& request);
  Reply run(JobFork& request);
  Reply run(JobCancel& request);
  Reply run(JobRun& request);
  Reply run(JobArchive& request);
  Reply run(JobDelete& request);
  Reply run(JobSearch& request);
  Reply run(JobStats& request);
  Reply run(QueueSet& request);
  Reply run(QueueGet& request);
  Reply run(QueuePause& request);
  Reply run(QueueResume& request);
  Reply run(QueueList& request);

  Reply ok() const;
  Reply answer(const Entry& entry) const;
  Reply refusal(int status, std::string error) const;
  Reply no_promise(const std::string& id) const;
  Reply no_task(const std::string& id) const;
  Reply job_task_refusal(const std::string& id, std::string_view action) const;

  // Creates the row of a new promise without a task; it is settled if its deadline has passed.
  Shared<Row> new_row(PromiseCreate& request) const;
  // The same with the task of a promise that has a target.
  Shared<Row> new_promise(PromiseCreate& request) const;
  // Returns the conflict of an idempotency key, or none.
  std::optional<Reply> creation_conflict(const Entry& entry, const PromiseCreate& request) const;
  // Returns why the promise cannot be awaited, or none.
  std::optional<Reply> internal_refusal(const Row& awaited) const;
  // No effect if there is one already.
  void add_callback(Entry& awaited, const Row& awaiter);
  void add_listener(Entry& awaited, const std::string& address);
  // The same for a pair of which no edge exists.
  void put_callback(Entry& awaited, const Row& awaiter);

  // Returns why the event cannot happen to the task (it does not exist, its state or version differs), or none.
  std::optional<Reply> claim_refusal(const Entry* entry, const std::string& id, std::int64_t version, TaskEvent event,
                                     std::string_view action) const;
  void acquire(Entry& entry, const std::string& pid, Duration ttl);
  Reply claimed(const Entry& entry) const;
  void add_preload(Reply& reply, const Row& row) const;
  Reply search_rows(SearchQuery& query, bool tasks);
  std::vector<RowRef> scan_by_id(RowRange range, const std::function<bool(const Row&)>& wanted);

  Reply no_job(const std::string& id) const;
  // The promises that a job is to wait for, each once, in the order given.
  struct Awaited {
    std::vector<Entry*> pending;
    std::vector<Entry*> settled;
    const Entry* failed = nullptr;  // the first that is settled and not resolved
  };
  // Returns why one of them cannot be awaited, or none.
  std::optional<Reply> find_awaited(const std::vector<std::string>& ids, Awaited& found);
  // Keeps those that are settled until the job is final.
  void keep_settled(const Awaited& awaited, const std::string& job);
  // Returns the conflict of an id that is not free for a child of the job, or none.
  std::optional<Reply> child_refusal(const Entry* existing, const std::string& job) const;
  // Creates a child of a running job that is no job; it is pending, or at its deadline already.
  Entry& add_step(Entry& job, PromiseCreate create, ChildKind kind);
  void settle_step(Entry& step, PromiseState state, Value value);
  // The job of job.fork, and a child of it.
  Entry& add_forked(const Row& original, const std::string& id);
  void add_copy(Entry& job, const Row& original, std::string id);
  StringMap own_tags(const Row& child);
  // Returns why the order cannot be a child of its parent, or none.
  std::optional<Reply> parent_refusal(const JobOrder& order);
  JobReply::Item item_of(Reply reply) const;
  Reply enqueue_requested(JobOrder& order);
  // Returns why the job cannot be enqueued, or none; it may exist already. `earlier`: null, or the orders that come before it.
  struct EarlierOrders;
  std::optional<Reply> enqueue_refusal(const JobOrder& order, const Entry* existing, const EarlierOrders* earlier,
                                       Awaited& awaited);
  // Judges orders of which all or none are enqueued: returns the first refusal, with its place.
  std::optional<Reply> refuse_any(const std::vector<JobOrder>& orders);
  // Returns why the lifecycle of a new job refuses it, or none.
  std::optional<std::string> refuse_by_lifecycle(const JobOrder& order) const;
  // Returns why retries are refused, or none: some lifecycles allow retries only with a policy.
  std::optional<std::string> refuse_retries(const QueueSet& request) const;
  // Returns why the event cannot happen to the job, or none.
  std::optional<Reply> job_refusal(const Entry* entry, const std::string& id, JobEvent event, std::string_view action) const;
  // The same for a request of the job's holder, which names a version.
  std::optional<Reply> held_job_refusal(const Entry* entry, const std::string& id, std::int64_t version, JobEvent event,
                                        std::string_view action) const;
  // Changes the job with the filter's id, or all jobs that the filter chooses.
  template <class Request, class Change>
  Reply change_jobs(const Request& request, std::string_view action, Change change);
  template <class Change>
  Reply change_chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted, Change change);
  std::vector<RowRef> chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted);
  std::function<bool(const Row&)> applicable(JobEvent event) const;
  bool may_be_deleted(const Row& row) const;
  bool matches(const JobFilter& filter, const Row& row) const;
  RowRange range_for(const JobFilter& filter);
  bool counts_exclude(const JobFilter& filter);
  // At most so many messages of a job.
  std::vector<RowRef> messages_of(const Row& job, std::size_t most);
  std::optional<Reply> delete_refusal(const Entry& entry);
  void delete_job(Entry& entry);
  Reply no_queue(const std::string& name) const;
  Reply no_schedule(const std::string& id) const;
  Reply queue_reply(const Queue& queue) const;
  Reply set_paused(const std::string& queue, bool paused);
  bool in_scope(std::string_view id) const noexcept { return id.starts_with(scope_); }

  WorkingSet& set_;
  Instant now_;
  const Dialect& dialect_;
  const Rules& rules_;
  const Options& options_;
  std::string_view scope_;
  bool statuses_only_ = false;
};

// Makes the task pending, for requests and steps.
void enter_pending(Row& row, Instant at);

// The most internal steps that follow most requests (PROTOCOL 4). The reference model uses the same number.
inline constexpr std::size_t kStepsPerRequest = 64;
// The most internal steps that run before a request. A claim runs this portion plus one step for each job that it asks for, because
// steps that are due can make jobs runnable.
std::size_t steps_before(const Operation& operation) noexcept;
// The most internal steps that follow a request. Completions that arrive together get as many as they would alone, at least one
// each, because a completed job without retention ends with one.
std::size_t steps_after(const Operation& operation) noexcept;

// Call it at the beginning of a tick and of each request that writes: stores that the store has seen `now`, deletes unblocks that
// were queued too long ago (decision 7), and returns the last instant that the store has seen.
Instant observe_instant(WorkingSet& set, Instant now, const Options& options);

// Removes the message from the outbox. If it is a task's execute, the task's timer runs on from the shown retryAt (PROTOCOL 4).
void remove_delivered(WorkingSet& set, const OutboxMessage& message, Instant now, const Options& options);

// Runs the internal step that is due first at `now`; returns none if no step is due.
std::optional<Fired> run_step(WorkingSet& set, Instant now, const Options& options);

}  // namespace resonate
