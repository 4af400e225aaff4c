// The machine: every request and internal step of PROTOCOL 3 and 4 as a pure function of a working set, a request and one instant.
//
// Guards come first, in the order of the contract, each with its early return; then the writes. So a refused request has changed
// nothing. What differs between dialects and rule sets is read from their tables (resonate/rules.hpp).
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

  // Runs a request that validation accepted. Moves what it stores out of the operation. Its rows are as shown_at() its instant.
  Reply run(Operation& operation);
  // The jobs that a change of all that a filter chooses would change, for JobFilter::among: as many as one request changes, and one
  // more where there are others. Changes nothing.
  std::vector<std::string> choose(const Operation& operation);
  // A job that is enqueued, or why it is not. Moves what it stores out of the order.
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
  JobReply::Item item_of(Reply reply) const;
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
  template <class Change>
  Reply change_chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted, Change change);
  std::vector<RowRef> chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted);
  std::function<bool(const Row&)> meets(JobEvent event) const;
  bool may_be_deleted(const Row& row) const;
  bool matches(const JobFilter& filter, const Row& row) const;
  RowRange range_for(const JobFilter& filter);
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

// The task becomes pending; of requests and steps.
void enter_pending(Row& row, Instant at);

// The internal steps that follow a request, at most (PROTOCOL 4). The reference model has the same number.
inline constexpr std::size_t kPortion = 64;
// The internal steps that are taken before a request, at most: of a claim the portion and one a job that is asked for, since what
// is due may be claimed.
std::size_t steps_before(const Operation& operation) noexcept;

// At the beginning of a request that is no read, and of a tick: the store has seen `now`, and unblocks that were queued too long
// ago are dropped (decision 7). The last instant that the store has seen.
Instant arrive(WorkingSet& set, Instant now, const Options& options);

// The message leaves the outbox. The timer of a task whose execute it is runs from the instant that was shown (PROTOCOL 4).
void remove_delivered(WorkingSet& set, const OutboxMessage& message, Instant now, const Options& options);

// Takes the internal step that is due first at `now`; none when nothing is due.
std::optional<Fired> take_step(WorkingSet& set, Instant now, const Options& options);

}  // namespace resonate
