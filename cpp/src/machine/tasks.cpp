// Requests on tasks (PROTOCOL 3.8-3.17).
#include <algorithm>

#include "machine/derive.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "machine/transitions.hpp"
#include "machine/validate.hpp"

namespace resonate {

namespace {

Shared<const SharedString> shared(const std::string& text) { return Shared<const SharedString>(new SharedString(text)); }

// The most bytes of a preload. A preload saves requests; beyond this it costs more than it saves, and clients can request what is
// missing.
constexpr std::size_t kMostPreloaded = std::size_t{1} << 20;

void set_resumes(Row& row, std::vector<std::string> resumes) {
  row.resumes = resumes.empty() ? nullptr : Shared<const SharedStrings>(new SharedStrings(std::move(resumes)));
}

}  // namespace

Reply Machine::no_task(const std::string& id) const { return refusal(status::kNotFound, "task " + quoted(id) + " does not exist"); }

Reply Machine::job_task_refusal(const std::string& id, std::string_view action) const {
  return refusal(status::kConflict,
                 "task " + quoted(id) + " belongs to a job and cannot be " + std::string(action) + ": use the job.* requests");
}

std::optional<Reply> Machine::claim_refusal(const Entry* entry, const std::string& id, std::int64_t version, TaskEvent event,
                                            std::string_view action) const {
  if (!entry || !entry->now->has_task()) return no_task(id);
  if (entry->now->job && event != TaskEvent::fulfill && event != TaskEvent::fence) return job_task_refusal(id, action);
  const TaskState state = entry->now->task_at(now_);
  if (!next_state(event, state))
    return refusal(status::kConflict,
                   "task " + quoted(id) + " is " + std::string(name_of(state)) + " and cannot be " + std::string(action));
  const std::int64_t shown = shown_version(dialect_, state, entry->now->acquisitions);
  if (shown != version)
    return refusal(status::kConflict,
                   "version of task " + quoted(id) + " must be " + std::to_string(shown) + ", got " + std::to_string(version));
  return std::nullopt;
}

void enter_pending(Row& row, Instant at) {
  clear_task(row, TaskState::pending);
  row.retry_at = dispatch_instant(*row.promise_spec, at);
}

void Machine::acquire(Entry& entry, const std::string& pid, Duration ttl) {
  Row& row = set_.edit(entry);
  clear_task(row, TaskState::acquired);
  row.acquisitions = saturating_add(row.acquisitions, 1);
  row.pid = shared(pid);
  row.ttl = ttl;
  row.expires_at = saturating_add(now_, ttl);
  if (row.resumes) {
    std::vector<std::string> kept;
    if (!dialect_.acquire_clears_resumes)
      for (const std::string& id : row.resumes->items)
        if (!row.current || id != row.current->text) kept.push_back(id);
    set_resumes(row, std::move(kept));
  }
  set_.touched(entry);
}

Reply Machine::claimed(const Entry& entry) const {
  Reply reply = answer(entry);
  reply.task = entry.now;
  reply.show_task = true;
  add_preload(reply, *entry.now);
  return reply;
}

void Machine::add_preload(Reply& reply, const Row& row) const {
  if (!dialect_.preloads) return;
  reply.has_preload = true;
  if (!row.promise_spec->branch) return;
  std::size_t bytes = 0;
  reply.preload = set_.scan_until(rows_of_branch(*row.promise_spec->branch), [&](const Row& other) {
    if (other.id() == row.id() || !in_scope(other.id())) return WorkingSet::RowMatch::unwanted;
    bytes += payload_bytes(other);
    reply.preload_cut = bytes > kMostPreloaded;
    return reply.preload_cut ? WorkingSet::RowMatch::end : WorkingSet::RowMatch::wanted;
  });
}

Reply Machine::run(TaskGet& request) {
  const Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->has_task()) return no_task(request.id);
  Reply reply = ok();
  reply.task = entry->now;
  reply.show_task = true;
  return reply;
}

Reply Machine::run(TaskCreate& request) {
  if (Entry* existing = set_.find(request.action.id)) {
    if (auto conflict = creation_conflict(*existing, request.action)) return *std::move(conflict);
    if (existing->now->job) return job_task_refusal(request.action.id, "acquired");
    if (dialect_.existing_task == ExistingTask::answer_promise) return answer(*existing);
    const std::string& id = existing->now->id();
    if (!existing->now->has_task()) {
      const bool targeted = existing->now->promise_spec->target != nullptr;
      return refusal(targeted ? rules_.task_create_without_targeted_task_status : rules_.task_create_without_task_status,
                     "promise " + quoted(id) + " exists and has no task");
    }
    const TaskState state = existing->now->task_at(now_);
    if (state == TaskState::fulfilled) {
      Reply reply = answer(*existing);
      reply.task = existing->now;
      reply.show_task = reply.has_preload = true;
      return reply;
    }
    if (!next_state(TaskEvent::acquire, state))
      return refusal(status::kConflict, "task " + quoted(id) + " exists and is " + std::string(name_of(state)));
    acquire(*existing, request.pid, request.ttl);
    return claimed(*existing);
  }
  Shared<Row> row = new_row(request.action);
  if (row->state != PromiseState::pending) {
    row->task = TaskState::fulfilled;
    Reply reply = answer(set_.create(std::move(row)));
    reply.task = reply.promise;
    reply.show_task = reply.has_preload = dialect_.preloads;
    return reply;
  }
  row->task = *next_state(TaskEvent::create, TaskState::none);
  row->acquisitions = 1;
  row->pid = shared(request.pid);
  row->ttl = request.ttl;
  row->expires_at = saturating_add(now_, request.ttl);
  return claimed(set_.create(std::move(row)));
}

Reply Machine::run(TaskAcquire& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = claim_refusal(entry, request.id, request.version, TaskEvent::acquire, "acquired")) return *std::move(refused);
  acquire(*entry, request.pid, request.ttl);
  Reply reply = claimed(*entry);
  if (entry->now->current)
    if (const Entry* awaited = set_.follow(entry->now->current->text)) reply.awaited = awaited->now;
  return reply;
}

Reply Machine::run(TaskRelease& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = claim_refusal(entry, request.id, request.version, TaskEvent::release, "released")) return *std::move(refused);
  enter_pending(set_.edit(*entry), now_);
  set_.touched(*entry);
  return ok();
}

Reply Machine::run(TaskSuspend& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = claim_refusal(entry, request.id, request.version, TaskEvent::suspend, "suspended")) return *std::move(refused);
  const std::string* settled = nullptr;
  std::vector<Entry*> awaiteds;
  for (const RegisterCallback& action : request.actions) {
    Entry* awaited = set_.find(action.awaited);
    if (!awaited) return refusal(status::kUnprocessable, "awaited promise " + quoted(action.awaited) + " does not exist");
    if (auto refused = internal_refusal(*awaited->now)) return *std::move(refused);
    if (!settled && !awaited->now->pending_at(now_)) settled = &action.awaited;
    awaiteds.push_back(awaited);
  }
  const bool pops = dialect_.suspend_pops_resumes && entry->now->resumes;
  if (pops || settled) {
    Row& row = set_.edit(*entry);
    if (pops) {  // row 33: the run continues with the oldest resume
      row.current = shared(row.resumes->items.front());
      set_resumes(row, {row.resumes->items.begin() + 1, row.resumes->items.end()});
    } else {
      if (dialect_.suspend_pops_resumes) row.current = shared(*settled);  // row 32
      row.resumes = nullptr;
    }
    set_.touched(*entry);
    Reply reply = ok();
    reply.status = status::kRedirect;
    add_preload(reply, *entry->now);
    return reply;
  }
  for (Entry* awaited : awaiteds) add_callback(*awaited, *entry->now);
  Row& row = set_.edit(*entry);
  clear_task(row, *next_state(TaskEvent::suspend, TaskState::acquired));
  row.resumes = nullptr;
  row.current = nullptr;
  set_.touched(*entry);
  return ok();
}

Reply Machine::run(TaskFulfill& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = claim_refusal(entry, request.id, request.version, TaskEvent::fulfill, "fulfilled")) return *std::move(refused);
  return run(request.action);
}

Reply Machine::run(TaskFence& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = claim_refusal(entry, request.id, request.version, TaskEvent::fence, "fenced")) return *std::move(refused);
  Reply inner = std::visit(
      [this](auto& action) {
        using Action = std::decay_t<decltype(action)>;
        if constexpr (std::is_same_v<Action, PromiseCreate>) {
          // Validation has already refused it if the rule set refuses such an action as a whole.
          if (auto refused = refuse_action(action, dialect_, rules_)) return refusal(status::kInvalid, *std::move(refused));
          return run(action);
        } else {
          if (auto refused = refuse_action(action)) return refusal(status::kInvalid, *std::move(refused));
          return run(action);
        }
      },
      request.action);
  Reply reply = ok();
  reply.fenced_status = inner.status;
  reply.promise = std::move(inner.promise);
  reply.error = std::move(inner.error);
  add_preload(reply, *entry->now);
  return reply;
}

Reply Machine::run(TaskHeartbeat& request) {
  auto renew = [this](Entry& entry) {
    Row& row = set_.edit(entry);
    row.expires_at = saturating_add(now_, row.ttl);
    set_.touched(entry);
  };
  if (request.tasks.empty() && rules_.empty_heartbeat_renews_all) {
    const auto alive = [this](const Row& row) { return in_scope(row.id()) && !row.dead_at(now_); };
    for (const RowRef& row : set_.scan(tasks_held_by(request.pid), alive)) renew(*set_.follow(row->id()));
    return ok();
  }
  std::size_t missing = 0;
  for (const TaskRef& task : request.tasks) {
    Entry* entry = set_.find(task.id);
    if (!entry || !entry->now->has_task()) {
      ++missing;
      continue;
    }
    const Row& row = *entry->now;
    if (next_state(TaskEvent::heartbeat, row.task_at(now_)) && row.pid->text == request.pid &&
        shown_version(dialect_, row.task, row.acquisitions) == task.version)
      renew(*entry);
  }
  if (dialect_.missing_everywhere_is_404 && missing > 0 && missing == request.tasks.size())
    return refusal(status::kNotFound,
                   "tasks must contain an existing task, the first that does not exist is " + quoted(request.tasks.front().id));
  return ok();
}

Reply Machine::run(TaskHalt& request) {
  Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->has_task()) return no_task(request.id);
  if (entry->now->job) return job_task_refusal(request.id, "halted");
  const TaskState state = entry->now->task_at(now_);
  const auto halted = next_state(TaskEvent::halt, state);
  if (!halted)
    return refusal(status::kConflict,
                   "task " + quoted(request.id) + " is " + std::string(name_of(state)) + " and cannot be halted");
  if (state == *halted) return ok();
  clear_task(set_.edit(*entry), *halted);
  set_.touched(*entry);
  return ok();
}

Reply Machine::run(TaskContinue& request) {
  Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->has_task()) return no_task(request.id);
  if (entry->now->job) return job_task_refusal(request.id, "continued");
  const TaskState state = entry->now->task_at(now_);
  if (!next_state(TaskEvent::resume_halted, state))
    return refusal(status::kConflict,
                   "task " + quoted(request.id) + " is " + std::string(name_of(state)) + ": only a halted task can be continued");
  Row& row = set_.edit(*entry);
  enter_pending(row, now_);
  if (row.resumes) row.current = shared(row.resumes->items.front());
  set_.touched(*entry);
  return ok();
}

Reply Machine::run(TaskSearch& request) { return search_rows(request.query, true); }

}  // namespace resonate
