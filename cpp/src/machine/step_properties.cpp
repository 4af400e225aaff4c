// Invariants of two consecutive states (PROTOCOL 6, "on steps").
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "machine/derive.hpp"
#include "machine/invariants.hpp"
#include "machine/job_invariants.hpp"
#include "machine/quoted.hpp"
#include "machine/transitions.hpp"

namespace resonate {

namespace {

bool may_clear_resumes(const Operation* request) {
  return request && (std::holds_alternative<TaskAcquire>(*request) || std::holds_alternative<TaskCreate>(*request) ||
                     std::holds_alternative<TaskSuspend>(*request));
}

class StepChecker {
 public:
  // `left`: the promises that a job no longer waits for.
  StepChecker(const StepContext& context, std::unordered_set<std::string> left, std::vector<Violation>& found)
      : context_(context), left_(std::move(left)), found_(found) {}

  void compare(const Row& before, const Row& after) {
    id_ = &after.id();
    require(before.promise_spec == after.promise_spec, "birth_changed", "param, tags, timeoutAt and createdAt never change");
    compare_promise(before, after);
    if (before.job || after.job) return check_job_step(before, after, context_.now, found_);
    if (before.has_task() || after.has_task()) compare_task(before, after);
  }

  void created(const Row& after) {
    id_ = &after.id();
    if (after.task == TaskState::acquired) require_lease(after);
  }

  void require(bool holds, const char* name, const std::string& detail) {
    if (!holds) found_.push_back({name, *id_, detail});
  }
  void set_id(const std::string& id) { id_ = &id; }

 private:
  void compare_promise(const Row& before, const Row& after) {
    if (before.state != PromiseState::pending) {
      require(before.state == after.state && before.settled_at == after.settled_at && before.value == after.value &&
                  before.iku == after.iku,
              "settled_record_changed", std::string(name_of(before.state)) + " to " + std::string(name_of(after.state)));
      require(after.callbacks <= before.callbacks && after.listeners <= before.listeners, "edges_grew_once_settled", "");
      return;
    }
    if (after.state == PromiseState::pending) {
      // A job loses the awaiters that are cancelled, and each promise the jobs that wait no longer; see the removed edges below.
      require(
          (after.callbacks >= before.callbacks || after.job || left_.contains(after.id())) && after.listeners >= before.listeners,
          "edges_shrank_while_pending", "");
      return;
    }
    const Instant deadline = before.promise_spec->timeout_at;
    if (after.job) {  // a failing attempt settles it now; good_until settles it at that instant
      const bool by_itself = after.settled_at == before.ends_at() || after.settled_at == context_.now;
      return require(by_itself && after.settled_at <= context_.now, "settlement_stamp",
                     "now " + std::to_string(context_.now) + ", got " + std::to_string(after.settled_at));
    }
    if (context_.request) {
      require(after.settled_at == context_.now && context_.now < deadline, "settlement_stamp",
              "a client settles at now " + std::to_string(context_.now) + " before " + std::to_string(deadline) + ", got " +
                  std::to_string(after.settled_at));
    } else {
      require(after.settled_at == deadline && deadline <= context_.now, "settlement_stamp",
              "a deadline settles at " + std::to_string(deadline) + ", got " + std::to_string(after.settled_at));
    }
  }

  void compare_task(const Row& before, const Row& after) {
    const std::string edge = std::string(name_of(before.task)) + " to " + std::string(name_of(after.task));
    require(edge_allowed(before.task, after.task, context_.request == nullptr), "task_edge_not_allowed", edge);
    const bool claimed = before.task == TaskState::pending && after.task == TaskState::acquired;
    require(after.acquisitions == saturating_add(before.acquisitions, claimed ? 1 : 0), "version_moved",
            edge + ", n " + std::to_string(before.acquisitions) + " to " + std::to_string(after.acquisitions));
    require(before.task == TaskState::pending || after.task != TaskState::pending || !before.dead_at(context_.now),
            "woken_past_deadline", edge);
    if (before.task == TaskState::acquired && after.task == TaskState::acquired)
      require(before.pid->text == after.pid->text && before.ttl == after.ttl, "holder_changed", edge);
    if (after.task == TaskState::acquired && (claimed || before.expires_at != after.expires_at)) require_lease(after);
    if (before.task == TaskState::acquired && after.task == TaskState::acquired && before.expires_at != after.expires_at)
      require(!before.dead_at(context_.now), "lease_renewed_past_deadline", edge);
    if (before.resumes && after.task != TaskState::fulfilled && !may_clear_resumes(context_.request))
      for (const std::string& resume : before.resumes->items)
        require(after.resumes && std::count(after.resumes->items.begin(), after.resumes->items.end(), resume) == 1, "resume_lost",
                edge + ", " + quoted(resume));
    if (before.task == TaskState::pending && after.task == TaskState::pending && before.retry_at != after.retry_at)
      require(before.retry_at <= context_.now && after.retry_at > before.retry_at, "retry_moved_early",
              std::to_string(before.retry_at) + " to " + std::to_string(after.retry_at));
    require(!before.execute_waits || !after.execute_waits || before.execute_seq == after.execute_seq, "waiting_execute_sent_again",
            std::to_string(before.execute_seq) + " to " + std::to_string(after.execute_seq));
  }

  void require_lease(const Row& after) {
    require(after.expires_at == saturating_add(context_.now, after.ttl), "lease_not_now_plus_ttl",
            "expiresAt " + std::to_string(after.expires_at) + ", now " + std::to_string(context_.now) + ", ttl " +
                std::to_string(after.ttl));
  }

  const StepContext& context_;
  std::unordered_set<std::string> left_;
  std::vector<Violation>& found_;
  const std::string* id_ = nullptr;
};

}  // namespace

std::vector<Violation> check_step(WorkingSet& set, const StepContext& context, RulesId rules) {
  std::vector<Violation> found;
  const WorkingSet::StepView view = set.since_checkpoint();
  const auto waits_no_longer = [&set](const Edge& edge) {
    const WorkingSet::Entry* const awaiter = set.follow(edge.other);
    if (!awaiter) return true;  // only a job can be gone
    return awaiter->now->job && std::ranges::find(awaiter->now->job->awaits, edge.owner) == awaiter->now->job->awaits.end();
  };
  std::unordered_set<std::string> left;
  for (const EdgeRef& edge : view.edges_removed)
    if (edge->kind == EdgeKind::callback && waits_no_longer(*edge)) left.insert(edge->owner);
  StepChecker checker(context, std::move(left), found);
  for (const auto& [before, after] : view.rows) {
    if (!after) continue;  // the job was deleted
    if (before) {
      checker.compare(*before, *after);
    } else {
      checker.created(*after);
    }
    check_row(*after, context.now, rules, found);
  }
  for (const auto& [before, after] : view.schedules)
    if (after) check_schedule(*after, found);

  for (const EdgeRef& edge : view.edges_removed) {
    checker.set_id(edge->owner);
    if (edge->kind == EdgeKind::listener) {
      const bool queued = std::any_of(view.messages_added.begin(), view.messages_added.end(), [&](const MessageRef& message) {
        return message->kind == MessageKind::unblock && message->id == edge->owner && message->address == edge->other;
      });
      checker.require(queued, "consumed_listener_lost", quoted(edge->other));
      continue;
    }
    if (edge->kind == EdgeKind::keeper) continue;  // its job is final, or the kept one is deleted
    const WorkingSet::Entry* const awaited = set.follow(edge->owner);
    const WorkingSet::Entry* const awaiter = set.follow(edge->other);
    if (awaited && awaited->now->state == PromiseState::pending) {
      const bool kept = set.has_edge(edge->kind, edge->owner, edge->other);  // added again for a job that adopts the promise
      checker.require(kept || waits_no_longer(*edge) || awaiter->now->state == PromiseState::rejected_canceled, "callback_dropped",
                      quoted(edge->other));
      continue;
    }
    if (awaiter && awaiter->now->job) {
      const Job& job = *awaiter->now->job;
      checker.require(awaiter->now->dead_at(context.now) || std::ranges::find(job.awaits, edge->owner) == job.awaits.end(),
                      "job_await_lost", quoted(edge->other) + " is not woken");
      continue;
    }
    if (!awaiter || !awaiter->now->has_task() || awaiter->now->task_at(context.now) == TaskState::fulfilled) continue;
    const auto& resumes = awaiter->now->resumes;
    checker.require(resumes && std::count(resumes->items.begin(), resumes->items.end(), edge->owner) == 1, "consumed_callback_lost",
                    quoted(edge->other));
  }
  for (const MessageRef& message : view.messages_added) {
    if (message->kind != MessageKind::execute) continue;
    checker.set_id(message->id);
    const WorkingSet::Entry* task = set.follow(message->id);
    checker.require(task && !task->now->dead_at(context.now), "execute_past_deadline", "now " + std::to_string(context.now));
  }
  return found;
}

}  // namespace resonate
