// Short functions that send job requests and read the results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/jobs_json.hpp"
#include "fake_backends.hpp"
#include "fake_requests.hpp"
#include "machine/settle.hpp"

namespace resonate::fake {

inline JobOrder order(const std::string& id, const std::string& queue = "default") {
  JobOrder made;
  made.id = id;
  made.queue = queue;
  made.type = "work";
  return made;
}
inline JobOrder with(JobOrder order, auto change) {
  change(order);
  return order;
}
inline JobOrder keyed(const std::string& id, const std::string& key, const std::string& queue = "default") {
  return with(order(id, queue), [&](JobOrder& made) { made.unique_key = key; });
}
inline JobOrder grouped(const std::string& id, const std::string& group = "g", const std::string& queue = "default") {
  return with(order(id, queue), [&](JobOrder& made) { made.group = group; });
}
inline QueueSet gathers(GroupLimits limits, const std::string& queue = "default") {
  QueueSet made;
  made.queue = queue;
  made.groups = {true, limits};
  return made;
}
inline JobEnqueue enqueue(JobOrder order) { return {std::move(order)}; }
inline JobEnqueue enqueue(const std::string& id, const std::string& queue = "default") { return enqueue(order(id, queue)); }
inline JobClaim claim(const std::vector<std::string>& queues = {"default"}, std::int64_t count = 1, Duration lease = 1000) {
  JobClaim made;
  for (const std::string& name : queues) made.queues.push_back({name, {}});
  made.count = count;
  made.worker = "worker";
  made.lease = lease;
  return made;
}
inline JobFail failure(const std::string& id, std::int64_t version, const std::string& code = "Broken") {
  return JobFail{.id = id, .version = version, .error = {code, "", {}}, .retryable = true, .retry_after = {}};
}
inline JobFilter only(const std::string& id) {
  JobFilter made;
  made.id = id;
  return made;
}
inline RetryPolicy fixed(std::vector<Duration> intervals) {
  RetryPolicy made;
  made.kind = PolicyKind::fixed;
  made.intervals = std::move(intervals);
  return made;
}

inline Texts ids_of(const Reply& reply) {
  Texts ids;
  for (const RowRef& row : reply.rows) ids.push_back(row->id());
  return ids;
}
inline JobState job_state_of(const Reply& reply) { return reply.promise->job->state; }

// Every member of a job that may change, and the members of its spec that affect later steps.
inline std::string text_of(const Job& job) {
  const auto of_error = [](const std::optional<JobError>& error) {
    return error ? error->code + "/" + error->message + "/" + error->data.value_or("-") : std::string("-");
  };
  const JobSpec& spec = *job.spec;
  std::string text = spec.queue + " " + spec.type + " " + std::string(resonate::name_of(job.state));
  text += spec.payload ? " payload " + text_of(*spec.payload) : "";
  text += spec.adopted ? " adopted" : "";
  text += spec.one_step ? " one step" : "";
  text += job.deleted ? " deleted" : "";
  text += spec.group ? " group " + spec.group->text : "";
  text += job.batch ? " batch " + job.batch->text : "";
  text += job.gathering ? " gathering" : "";
  if (job.group_state)
    text += " leads " + std::to_string(job.group_state->count) + " of " + std::to_string(job.group_state->first_at) + ".." +
            std::to_string(job.group_state->last_at);
  for (const std::int64_t number : {std::int64_t{spec.priority},
                                    spec.max_retries,
                                    static_cast<std::int64_t>(spec.on_exhausted),
                                    spec.good_until,
                                    spec.timeout,
                                    spec.retention,
                                    spec.unique_for,
                                    spec.sent_at,
                                    job.retry_count,
                                    job.attempt_count,
                                    job.process_at,
                                    job.enqueued_at,
                                    job.claimed_at,
                                    job.started_at,
                                    job.completed_at,
                                    job.failed_at,
                                    job.next_retry_at,
                                    job.cancelled_at,
                                    job.expired_at,
                                    job.run_lease,
                                    job.reclaim_at})
    text += " " + (number == kUnset ? "-" : std::to_string(number));
  text += " key " + spec.unique_key.value_or("-") + " error " + of_error(job.error) + " awaiters";
  for (const std::string& id : job.awaiters) text += " " + id;
  for (const std::string& id : spec.after) text += " after " + id;
  if (spec.after_failed) text += " failed " + std::string(resonate::name_of(*spec.after_failed));
  for (const std::string& id : job.awaits) text += " lacks " + id;
  if (job.until) text += " until " + std::string(resonate::name_of(*job.until));
  text += " turn " + std::to_string(job.first_enqueued_at) + " keepers " + std::to_string(job.keepers);
  for (const Attempt& one : job.attempts)
    text += "\n    attempt " + std::to_string(one.number) + " " + one.worker->text + " " + std::to_string(one.started_at) + " " +
            (one.finished_at == kUnset ? "-" : std::to_string(one.finished_at)) + " " +
            std::string(resonate::name_of(one.outcome)) + " " + of_error(one.error);
  return text;
}

// Every member of a reply, with jobs and queues as they are stored.
inline std::string whole_text_of(const Reply& reply) {
  const auto job_of = [](const RowRef& row) { return row && row->job ? "\n  job " + text_of(*row->job) : std::string(); };
  std::string text = text_of(reply) + job_of(reply.promise) + job_of(reply.task);
  for (const RowRef& row : reply.rows) text += job_of(row);
  if (!reply.jobs) return text;
  const JobReply& jobs = *reply.jobs;
  for (const JobReply::Item& item : jobs.items)
    text += "\nitem " + std::to_string(item.status) + " " + item.error + " " + text_of(item.row) + job_of(item.row);
  text += "\nnext " + (jobs.next_at == kUnset ? "-" : std::to_string(jobs.next_at)) + " count " + std::to_string(jobs.count);
  text += jobs.more ? " and more" : "";
  for (const std::string& id : jobs.cancelled) text += "\ncancelled " + id;
  for (const std::string& id : jobs.lost) text += "\nlost " + id;
  for (const QueueRef& queue : jobs.queues) text += "\nqueue " + queue_to_json(*queue);
  for (const JobReply::Statistics& each : jobs.statistics)
    text += "\nqueue " + queue_to_json(*each.queue) + " since " + std::to_string(each.oldest_pending_at);
  return text;
}

// A store with short functions for jobs.
class JobStore : public Store {
 public:
  using Store::Store;

  Reply add(JobOrder order) { return must(enqueue(std::move(order))); }
  Texts claim(std::int64_t count = 1, const std::vector<std::string>& queues = {"default"}) {
    return ids_of(must(fake::claim(queues, count)));
  }
  // Enqueues, claims and starts the job, which then has version 1.
  void start(JobOrder order) {
    const std::string id = *order.id;
    const std::string queue = order.queue;
    add(std::move(order));
    EXPECT_EQ(claim(1, {queue}), Texts{id});
    if (job(id)->state == JobState::claimed) must(JobStart{id, 1, {}});
  }
  Shared<const Job> job(const std::string& id) {
    const RowRef stored = row(id);
    return stored ? stored->job : nullptr;
  }
  // The state of the job that a reply would show, "promise" if the promise has no job, or "gone" if no promise exists.
  std::string state(const std::string& id) {
    const RowRef stored = row(id);
    if (!stored) return "gone";
    return stored->job ? std::string(resonate::name_of(job_state_at(*stored, clock->now()))) : "promise";
  }
  // The job's state, batch and group: "scheduled batch:0000000000000001 gathers, leads 2 of 0..30 until 130".
  std::string gathering(const std::string& id) {
    const RowRef stored = row(id);
    if (!stored) return "gone";
    const Job& its = *stored->job;
    std::string text = state(id) + (its.batch ? " " + its.batch->text : "") + (its.gathering ? " gathers" : "");
    if (its.group_state)
      text += ", leads " + std::to_string(its.group_state->count) + " of " + std::to_string(its.group_state->first_at) + ".." +
              std::to_string(its.group_state->last_at) + " until " + std::to_string(stored->retry_at);
    return text;
  }
  Reply add_at(Instant now, JobOrder order) {
    Reply reply = run(enqueue(std::move(order)), kNew, now);
    EXPECT_EQ(reply.status, status::kOk) << reply.error;
    return reply;
  }
  Texts tick(Instant now) { return texts_of(engine->tick(now)); }
  QueueRef queue(const std::string& name = "default") {
    return engine->with_storage([&](Storage& storage) { return storage.load_queue(name); });
  }
  std::int64_t count(JobState state, const std::string& name = "default") {
    return queue(name)->counts[static_cast<std::size_t>(state)];
  }
  // Runs all operations in one transaction.
  std::vector<Reply> together(std::vector<Operation> operations) {
    std::vector<Request> requests;
    for (Operation& operation : operations) requests.push_back({kNew, std::move(operation)});
    return engine->apply(std::move(requests));
  }
  void expect_no_violations() {
    for (const Violation& violation : engine->check())
      ADD_FAILURE() << violation.name << " " << violation.id << " " << violation.detail;
  }
};

class JobsOnEveryBackend : public ::testing::TestWithParam<Backend> {
 protected:
  using Codes = std::vector<int>;

  JobStore make(Options options = checked(), Instant start = 0) { return JobStore(backends.storage(GetParam()), options, start); }
  // The statuses of operations in one transaction, after each of `stored` was committed alone. Expects the same replies and state
  // if each operation is committed alone.
  Codes statuses(const std::vector<Operation>& stored, const std::vector<Operation>& operations) {
    JobStore whole = make();
    JobStore single = make();
    for (JobStore* store : {&whole, &single})
      for (const Operation& operation : stored) store->must(operation);
    Codes found;
    for (const Reply& reply : whole.together(operations)) {
      const std::string alone = whole_text_of(single.run(operations[found.size()]));
      EXPECT_EQ(whole_text_of(reply), alone) << "request " << found.size();
      found.push_back(reply.status);
    }
    EXPECT_EQ(whole.digest(), single.digest()) << whole.snapshot() << "\n" << single.snapshot();
    EXPECT_EQ(whole.engine->next_due(), single.engine->next_due());
    whole.expect_no_violations();
    // The storage's own indexes give the same jobs, in the same order.
    EXPECT_EQ(whole.claim(1000, {"default", "q"}), single.claim(1000, {"default", "q"}));
    EXPECT_EQ(whole.digest(), single.digest());
    whole.expect_no_violations();
    return found;
  }
  Backends backends;
};

// Stores with a queue "default" whose groups have these limits; by default, ten jobs or a grace of 100 ms.
class GroupsOnEveryBackend : public JobsOnEveryBackend {
 protected:
  JobStore gathering(GroupLimits limits = {10, 100, {}}, Options options = checked()) {
    JobStore store = make(options);
    store.must(gathers(limits));
    return store;
  }
};
inline std::string batch(int number) { return "batch:000000000000000" + std::to_string(number); }

}  // namespace resonate::fake
