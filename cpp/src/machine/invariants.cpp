#include "machine/invariants.hpp"

#include <set>
#include <string>
#include <unordered_set>

#include "machine/derive.hpp"
#include "machine/job_cancellation.hpp"
#include "machine/job_invariants.hpp"
#include "machine/quoted.hpp"
#include "machine/schedules.hpp"

namespace resonate {

namespace {

constexpr std::size_t kPage = 1024;

class Report {
 public:
  Report(std::vector<Violation>& found, const std::string& id) : found_(found), id_(id) {}
  void require(bool holds, const char* name, const std::string& detail) {
    if (!holds) found_.push_back({name, id_, detail});
  }

 private:
  std::vector<Violation>& found_;
  const std::string& id_;
};

void check_promise(const Row& row, Instant now, RulesId rules_id, Report& report) {
  const PromiseSpec& promise_spec = *row.promise_spec;
  const bool pending = row.state == PromiseState::pending;
  const std::string life = "createdAt " + instant_text(promise_spec.created_at) + ", settledAt " + instant_text(row.settled_at) +
                           ", timeoutAt " + instant_text(promise_spec.timeout_at) + ", state " + std::string(name_of(row.state));
  report.require(pending ? promise_spec.created_at < promise_spec.timeout_at : promise_spec.created_at <= promise_spec.timeout_at,
                 "promise_created_after_timeout", life);
  report.require(pending == (row.settled_at == kUnset), "promise_settled_at_mismatch", life);
  report.require(promise_spec.created_at <= now && (row.settled_at == kUnset || row.settled_at <= now), "promise_in_future",
                 life + ", now " + instant_text(now));
  report.require(!pending || !row.value, "pending_promise_has_value", life);
  if (!pending && row.settled_at != kUnset) {
    report.require(promise_spec.created_at <= row.settled_at && row.settled_at <= promise_spec.timeout_at,
                   "promise_settled_outside_life", life);
    const bool at_deadline = row.settled_at == promise_spec.timeout_at;
    report.require(!at_deadline || (row.state == timeout_state(promise_spec.timer) && !row.value), "timeout_verdict_mismatch",
                   life);
    report.require(row.state != PromiseState::rejected_timedout || at_deadline, "timeout_verdict_mismatch", life);
  }
  report.require(
      rules(rules_id, dialect(promise_spec.dialect)).timer_may_have_target || !promise_spec.timer || !promise_spec.target,
      "timer_has_target", "strict rules");
  report.require(row.external || (row.callbacks == 0 && row.listeners == 0), "edges_on_internal_promise",
                 std::to_string(row.callbacks) + " callbacks, " + std::to_string(row.listeners) + " listeners");
  report.require(!row.cancels_jobs || row.state == PromiseState::rejected_canceled, "cancel_drain_mismatch",
                 "promise " + std::string(name_of(row.state)) + " cancels jobs");
}

void check_task(const Row& row, Report& report) {
  const bool acquired = row.task == TaskState::acquired;
  const bool pending = row.task == TaskState::pending;
  const bool timers = row.retry_at != kUnset || row.expires_at != kUnset;
  const std::string detail = "task " + std::string(name_of(row.task)) + ", n " + std::to_string(row.acquisitions) + ", pid " +
                             (row.pid ? quoted(row.pid->text) : "none") + ", ttl " + std::to_string(row.ttl) + ", expiresAt " +
                             instant_text(row.expires_at) + ", retryAt " + instant_text(row.retry_at);
  report.require(!pending || row.retry_at != kUnset, "pending_task_no_ttimeout", detail);
  report.require(!acquired || row.expires_at != kUnset, "acquired_task_no_lease", detail);
  report.require(row.task != TaskState::suspended || !timers, "suspended_task_has_ttimeout", detail);
  report.require(row.task != TaskState::fulfilled || !timers, "fulfilled_task_has_ttimeout", detail);
  report.require(row.task != TaskState::halted || !timers, "idle_task_has_timer", detail);
  report.require(acquired ? row.pid && row.ttl > 0 && row.expires_at != kUnset : !row.pid && row.expires_at == kUnset,
                 "lease_fields_mismatch", detail);
  report.require(pending == (row.retry_at != kUnset), "retry_mismatch", detail);
  report.require(!row.execute_waits || (pending && !row.job && dispatchable(*row.promise_spec)), "retry_mismatch",
                 "its execute is in the outbox, " + detail);
  report.require(!acquired || row.acquisitions >= 1, "acquired_never_counted", detail);
  report.require(row.task != TaskState::suspended || !row.resumes, "suspended_with_consumed_callbacks", detail);
  report.require((row.task != TaskState::suspended && row.task != TaskState::fulfilled) || !row.resumes, "resumes_not_empty",
                 detail);
  if (row.resumes) {
    const auto& items = row.resumes->items;
    report.require(std::set<std::string>(items.begin(), items.end()).size() == items.size(), "duplicate_resume", detail);
  }
  report.require((row.state == PromiseState::pending) == (row.task != TaskState::fulfilled), "settlement_mismatch",
                 "promise " + std::string(name_of(row.state)) + ", " + detail);
}

template <class Visit>
void each_edge(Storage& storage, EdgeKind kind, const std::string& owner, std::int64_t after, Visit visit) {
  for (;;) {
    const std::vector<EdgeRef> page = storage.edges({kind, owner, after, kPage});
    for (const EdgeRef& edge : page) visit(*edge);
    if (page.size() < kPage) return;
    after = page.back()->seq;
  }
}

void check_edges(Storage& storage, const Row& row, std::unordered_set<std::string>& awaiters, Report& report) {
  for (const EdgeKind kind : {EdgeKind::callback, EdgeKind::listener}) {
    const bool callback = kind == EdgeKind::callback;
    std::unordered_set<std::string> seen;
    std::size_t count = 0;
    each_edge(storage, kind, row.id(), callback ? row.drained_through() : 0, [&](const Edge& edge) {
      ++count;
      report.require(seen.insert(edge.other).second, callback ? "duplicate_callback" : "duplicate_listener", quoted(edge.other));
      report.require(!callback || edge.other != row.id(), "self_callback", quoted(edge.other));
      if (!callback) return;
      awaiters.insert(edge.other);  // of settled promises too: their callbacks are not drained yet
      const bool may_cancel = row.job && row.job->spec->cancel_with_awaiters;
      const RowRef awaiter = edge.cancels || may_cancel ? storage.load(edge.other) : nullptr;
      // The awaiter may be a job that was deleted while it waited.
      report.require(awaiter ? edge.cancels == cancels(row, *awaiter) : may_cancel || !edge.cancels, "callback_cancel_mismatch",
                     quoted(edge.other));
      report.require(!edge.cancels || !awaiter || awaiter->state != PromiseState::rejected_canceled || awaiter->cancels_jobs,
                     "cancel_drain_lost", quoted(edge.other) + " was cancelled");
    });
    const std::uint32_t counted = callback ? row.callbacks : row.listeners;
    report.require(
        count == counted, "edge_count_mismatch",
        std::to_string(counted) + (callback ? " callbacks" : " listeners") + " counted, " + std::to_string(count) + " found");
  }
}

// The jobs that keep a settled one.
void check_keepers(Storage& storage, const Row& row, Report& report) {
  std::int64_t stayed = 0;
  std::int64_t found = 0;
  if (row.drained_through() > 0)
    each_edge(storage, EdgeKind::callback, row.id(), 0, [&](const Edge& edge) { stayed += is_drained(row, edge) ? 1 : 0; });
  each_edge(storage, EdgeKind::keeper, row.id(), 0, [&](const Edge&) { ++found; });
  found += stayed;
  report.require(found == row.job->keepers && stayed == row.job->kept_callbacks, "keeper_count_mismatch",
                 std::to_string(row.job->keepers) + " keepers counted, " + std::to_string(found) + " found; of these " +
                     std::to_string(row.job->kept_callbacks) + " and " + std::to_string(stayed) + " drained callbacks");
}

// The rows of a range, page by page.
template <class Visit>
void each_row(Storage& storage, RowRange range, Visit visit) {
  range.limit = kPage;
  for (;;) {
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) visit(*row);
    if (page.size() < kPage) return;
    range.after = place_in(range, *page.back());
  }
}

// The children and messages of a job.
void check_family(Storage& storage, const Row& row, Report& report) {
  std::int64_t steps = 0;
  std::int64_t unread = 0;
  each_row(storage, children_of(row.id()), [&](const Row& child) {
    steps += child.is_message() ? 0 : 1;
    unread += child.unread ? 1 : 0;
  });
  report.require(steps == row.job->steps, "step_count_mismatch",
                 std::to_string(row.job->steps) + " children counted, " + std::to_string(steps) + " found");
  report.require(unread == row.job->unread, "unread_count_mismatch",
                 std::to_string(row.job->unread) + " unread messages counted, " + std::to_string(unread) + " found");
}

// A child has its job, and no receive waits for a message that is unread.
void check_child(Storage& storage, const Row& row, Instant now, Report& report) {
  const ChildMark& child = *row.promise_spec->child;
  const RowRef parent = storage.load(child.parent);
  report.require(parent && parent->job, "child_without_parent", quoted(child.parent));
  if (!row.unread) return;
  RowRange range = open_in(child.group);
  range.limit = 1;
  for (const RowRef& first : storage.rows(range))
    report.require(first->is_message() || first->dead_at(now), "message_not_delivered", quoted(first->id()) + " is pending");
}

// Each promise that a job lacks must wake it.
void check_awaits(Storage& storage, const Row& row, Report& report) {
  for (const std::string& id : row.job->awaits) {
    const RowRef awaited = storage.load(id);
    const EdgeRef callback = awaited ? storage.load_edge(EdgeKind::callback, id, row.id()) : nullptr;
    report.require(callback && !is_drained(*awaited, *callback), "job_await_lost", quoted(id));
  }
}

// A task without a timer must have an execute in the outbox: otherwise nothing would dispatch it again.
void check_waiting_execute(Storage& storage, const Row& row, Report& report) {
  const std::vector<MessageRef> found = storage.messages({.after = row.execute_seq - 1, .limit = 1});
  report.require(row.execute_seq > 0 && !found.empty() && found.front()->seq == row.execute_seq &&
                     found.front()->kind == MessageKind::execute && found.front()->id == row.id(),
                 "pending_task_no_ttimeout", "its execute is not in the outbox, and its timer is not armed");
}

void check_outbox(Storage& storage, std::vector<Violation>& found) {
  std::set<std::pair<std::string, std::string>> keys;
  for (std::int64_t after = 0;;) {
    const std::vector<MessageRef> page = storage.messages({.after = after, .limit = kPage});
    for (const MessageRef& message : page) {
      Report report(found, message->id);
      const bool execute = message->kind == MessageKind::execute;
      const std::string key = execute ? "execute" : "unblock:" + message->address;
      report.require(keys.emplace(message->id, key).second, "duplicate_message_key", key);
      const RowRef row = storage.load(message->id);
      if (execute) {
        report.require(row && row->has_task() && message->version <= row->acquisitions && row->promise_spec->target &&
                           *row->promise_spec->target == message->address,
                       "stray_execute", "version " + std::to_string(message->version) + " to " + quoted(message->address));
      } else {
        report.require(row && row->state != PromiseState::pending, "stray_unblock", "to " + quoted(message->address));
      }
    }
    if (page.size() < kPage) return;
    after = page.back()->seq;
  }
}

// Reports the problems that do not depend on the system's time zones.
void check_schedule_can_fire(const Schedule& schedule, std::vector<Violation>& found) {
  const ScheduleProblem problem = problem_of(schedule);
  if (problem.kind == ScheduleProblem::Kind::cron) found.push_back({"schedule_cron_invalid", schedule.id, problem.text});
  if (problem.kind == ScheduleProblem::Kind::of_template) found.push_back({"schedule_template_invalid", schedule.id, problem.text});
}

std::string text_of(const std::vector<Violation>& violations) {
  std::string text = std::to_string(violations.size()) + " violated invariant" + (violations.size() == 1 ? "" : "s") + ":";
  for (const Violation& violation : violations) text += "\n  " + violation.name + " on " + violation.id + ": " + violation.detail;
  return text;
}

}  // namespace

InvariantError::InvariantError(std::vector<Violation> violations)
    : Error(ErrorCode::invariant, text_of(violations)), violations_(std::move(violations)) {}

void check_row(const Row& row, Instant now, RulesId rules, std::vector<Violation>& found) {
  Report report(found, row.id());
  check_promise(row, now, rules, report);
  if (row.job) check_job(row, found);
  if (row.has_task()) {
    check_task(row, report);
  } else {
    // A task is part of its promise's row, so an orphan can only be task members of a row without a task.
    report.require(!row.pid && row.acquisitions == 0 && row.retry_at == kUnset && row.expires_at == kUnset && !row.resumes,
                   "orphan_tasks", "task members without a task");
  }
}

void check_schedule(const Schedule& schedule, std::vector<Violation>& found) {
  Report report(found, schedule.id);
  const Instant last = schedule.last_run_at.value_or(schedule.created_at);
  report.require(schedule.created_at <= last && last < schedule.next_run_at, "schedule_order",
                 "createdAt " + instant_text(schedule.created_at) + ", lastRunAt " +
                     (schedule.last_run_at ? instant_text(last) : "none") + ", nextRunAt " + instant_text(schedule.next_run_at));
}

std::vector<Violation> check_state(Storage& storage, RulesId rules) {
  std::vector<Violation> found;
  const Instant now = storage.counters().now;
  std::unordered_set<std::string> awaiters;
  std::vector<RowRef> suspended;
  JobSetCheck jobs;
  RowRange range{.limit = kPage};
  for (;;) {
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) {
      check_row(*row, now, rules, found);
      if (row->job) jobs.add(row, now);
      Report report(found, row->id());
      check_edges(storage, *row, awaiters, report);
      if (row->job) check_keepers(storage, *row, report);
      if (row->job && row->job->has_family()) check_family(storage, *row, report);
      if (row->promise_spec->child) check_child(storage, *row, now, report);
      if (row->job && row->job->state == JobState::waiting && !row->dead_at(now)) check_awaits(storage, *row, report);
      if (row->execute_waits) check_waiting_execute(storage, *row, report);
      if (row->task == TaskState::suspended && !row->dead_at(now)) suspended.push_back(row);
    }
    if (page.size() < kPage) break;
    range.after.id = page.back()->id();
  }
  for (const RowRef& row : suspended) {
    Report report(found, row->id());
    report.require(awaiters.contains(row->id()), "suspended_no_callback", "no promise names it as awaiter");
  }
  std::string after;
  for (;;) {
    const std::vector<ScheduleRef> page = storage.schedules({.after = after, .limit = kPage});
    for (const ScheduleRef& schedule : page) {
      check_schedule(*schedule, found);
      check_schedule_can_fire(*schedule, found);
    }
    if (page.size() < kPage) break;
    after = page.back()->id;
  }
  check_outbox(storage, found);
  jobs.check(storage.queues(), found);
  return found;
}

}  // namespace resonate
