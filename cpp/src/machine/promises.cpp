// Requests on promises (PROTOCOL 3.1-3.7) and what settling does to a row.
#include <charconv>

#include "machine/derive.hpp"
#include "machine/glob.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_moves.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/transitions.hpp"

namespace resonate {

Reply Machine::run(Operation& operation) {
  struct Visitor {
    Machine& m;
    Reply operator()(PromiseGet& r) { return m.promise_get(r); }
    Reply operator()(PromiseCreate& r) { return m.promise_create(r); }
    Reply operator()(PromiseSettle& r) { return m.promise_settle(r); }
    Reply operator()(RegisterCallback& r) { return m.register_callback(r); }
    Reply operator()(RegisterListener& r) { return m.register_listener(r); }
    Reply operator()(PromiseSearch& r) { return m.promise_search(r); }
    Reply operator()(TaskGet& r) { return m.task_get(r); }
    Reply operator()(TaskCreate& r) { return m.task_create(r); }
    Reply operator()(TaskAcquire& r) { return m.task_acquire(r); }
    Reply operator()(TaskRelease& r) { return m.task_release(r); }
    Reply operator()(TaskSuspend& r) { return m.task_suspend(r); }
    Reply operator()(TaskFulfill& r) { return m.task_fulfill(r); }
    Reply operator()(TaskFence& r) { return m.task_fence(r); }
    Reply operator()(TaskHeartbeat& r) { return m.task_heartbeat(r); }
    Reply operator()(TaskHalt& r) { return m.task_halt(r); }
    Reply operator()(TaskContinue& r) { return m.task_continue(r); }
    Reply operator()(TaskSearch& r) { return m.task_search(r); }
    Reply operator()(ScheduleGet& r) { return m.schedule_get(r); }
    Reply operator()(ScheduleCreate& r) { return m.schedule_create(r); }
    Reply operator()(ScheduleDelete& r) { return m.schedule_delete(r); }
    Reply operator()(ScheduleSearch& r) { return m.schedule_search(r); }
    Reply operator()(JobEnqueue& r) { return m.job_enqueue(r); }
    Reply operator()(JobEnqueueMany& r) { return m.job_enqueue_many(r); }
    Reply operator()(JobGet& r) { return m.job_get(r); }
    Reply operator()(JobClaim& r) { return m.job_claim(r); }
    Reply operator()(JobStart& r) { return m.job_start(r); }
    Reply operator()(JobStartMany& r) { return m.job_start_many(r); }
    Reply operator()(JobHeartbeat& r) { return m.job_heartbeat(r); }
    Reply operator()(JobComplete& r) { return m.job_complete(r); }
    Reply operator()(JobCompleteMany& r) { return m.job_complete_many(r); }
    Reply operator()(JobFail& r) { return m.job_fail(r); }
    Reply operator()(JobRelease& r) { return m.job_release(r); }
    Reply operator()(JobSnooze& r) { return m.job_snooze(r); }
    Reply operator()(JobCancel& r) { return m.job_cancel(r); }
    Reply operator()(JobRun& r) { return m.job_run(r); }
    Reply operator()(JobArchive& r) { return m.job_archive(r); }
    Reply operator()(JobDelete& r) { return m.job_delete(r); }
    Reply operator()(JobSearch& r) { return m.job_search(r); }
    Reply operator()(JobStats& r) { return m.job_stats(r); }
    Reply operator()(QueueSet& r) { return m.queue_set(r); }
    Reply operator()(QueueGet& r) { return m.queue_get(r); }
    Reply operator()(QueuePause& r) { return m.queue_pause(r); }
    Reply operator()(QueueResume& r) { return m.queue_resume(r); }
    Reply operator()(QueueList& r) { return m.queue_list(r); }
  };
  return std::visit(Visitor{*this}, operation);
}

Reply Machine::ok() const {
  Reply reply;
  reply.now = now_;
  return reply;
}

Reply Machine::answer(const Entry& entry) const {
  Reply reply = ok();
  reply.promise = entry.now;
  return reply;
}

Reply Machine::refusal(int status, std::string error) const {
  Reply reply = ok();
  reply.status = status == status::kUnprocessable && dialect_.unprocessable_is_invalid ? status::kInvalid : status;
  reply.error = std::move(error);
  return reply;
}

Reply Machine::no_promise(const std::string& id) const {
  return refusal(status::kNotFound, "promise " + quoted(id) + " does not exist");
}

Reply Machine::promise_get(PromiseGet& request) {
  const Entry* entry = set_.find(request.id);
  return entry ? answer(*entry) : no_promise(request.id);
}

Shared<Row> Machine::new_row(PromiseCreate& request) const {
  auto* birth = new Birth;
  Shared<const Birth> held(birth);
  birth->id = std::move(request.id);
  birth->param = std::move(request.param);
  birth->tags = std::move(request.tags);
  if (request.ikc) birth->ikc = Shared<const SharedString>(new SharedString(*std::move(request.ikc)));
  birth->timeout_at = request.timeout_at;
  birth->dialect = dialect_.id;
  finish_birth(*birth);
  const bool dead = birth->timeout_at <= now_;
  birth->created_at = dead ? birth->timeout_at : now_;

  Shared<Row> row(new Row);
  row->birth = std::move(held);
  row->external = birth->external_at_birth;
  if (dead) {
    row->state = timeout_verdict(birth->timer);
    row->settled_at = birth->timeout_at;
  }
  return row;
}

std::optional<Reply> Machine::creation_conflict(const Entry& entry, const PromiseCreate& request) const {
  const SharedString* key = entry.now->birth->ikc.get();
  if (!request.ikc || (key && key->text == *request.ikc)) return std::nullopt;
  return refusal(status::kConflict, "promise " + quoted(request.id) + " was created " +
                                        (key ? "with another idempotency key" : "without an idempotency key") + " than " +
                                        quoted(*request.ikc));
}

namespace {
// The first message of a new task goes out at once, or when the delay that its tags ask for is over (PROTOCOL 3.2).
Instant first_dispatch(const Birth& birth, Instant now) {
  const std::string* delay = birth.tags.find("resonate:delay");
  Instant until = now;
  if (delay) (void)std::from_chars(delay->data(), delay->data() + delay->size(), until);  // validation has read it
  return dispatch_instant(birth, std::max(now, until));
}
}  // namespace

Reply Machine::promise_create(PromiseCreate& request) {
  if (const Entry* existing = set_.find(request.id)) {
    if (auto conflict = creation_conflict(*existing, request)) return *std::move(conflict);
    return answer(*existing);
  }
  Shared<Row> row = new_row(request);
  if (row->birth->target) {
    if (row->state == PromiseState::pending) {
      row->task = *next_state(TaskEvent::enqueue, TaskState::none);
      row->retry_at = first_dispatch(*row->birth, now_);
    } else {
      row->task = TaskState::fulfilled;
    }
  }
  return answer(set_.create(std::move(row)));
}

Reply Machine::promise_settle(PromiseSettle& request) {
  Entry* entry = set_.find(request.id);
  if (!entry) return no_promise(request.id);
  const Projected seen(*entry->now, now_);
  if (!seen.pending()) {
    // A deadline settles without a key, whether or not it is stored yet.
    const SharedString* key = entry->now->dead_at(now_) ? nullptr : entry->now->iku.get();
    if (request.iku && (!key || key->text != *request.iku))
      return refusal(status::kConflict, "promise " + quoted(request.id) + " was settled " +
                                            (key ? "with another idempotency key" : "without an idempotency key") + " than " +
                                            quoted(*request.iku));
    return answer(*entry);
  }
  settle(set_, *entry, *promise_state_named(request.state), now_,
         request.value.empty() ? nullptr : Shared<const SharedValue>(new SharedValue(std::move(request.value))),
         request.iku ? Shared<const SharedString>(new SharedString(*std::move(request.iku))) : nullptr);
  return answer(*entry);
}

void clear_task(Row& row, TaskState state) {
  row.task = state;
  row.pid = nullptr;
  row.expires_at = kUnset;
  row.retry_at = kUnset;
  row.execute_waits = false;
}

void settle(WorkingSet& set, WorkingSet::Entry& entry, PromiseState state, Instant settled_at, Shared<const SharedValue> value,
            Shared<const SharedString> iku) {
  leave_group(set, entry);
  Row& row = set.edit(entry);
  if (row.job && !is_terminal(row.job->state)) settle_job(set, row, state, settled_at);
  row.state = state;
  row.settled_at = settled_at;
  row.value = std::move(value);
  row.iku = std::move(iku);
  if (row.has_task()) {
    clear_task(row, next_state(TaskEvent::settle, row.task).value_or(TaskState::fulfilled));
    row.ttl = 0;
    row.resumes = nullptr;
    row.current = nullptr;
  }
  set.touched(entry);
}

void settle_dead(WorkingSet& set, WorkingSet::Entry& entry) {
  const Birth& birth = *entry.now->birth;
  if (entry.now->expires()) return expire_job(set, entry);
  settle(set, entry, timeout_verdict(birth.timer), birth.timeout_at, nullptr, nullptr);
}

std::optional<Reply> Machine::internal_refusal(const Row& awaited) const {
  if (awaited.external || rules_.internal_may_be_awaited) return std::nullopt;
  return refusal(status::kUnprocessable, "promise " + quoted(awaited.id()) +
                                             " is internal: only a promise with a target, a timer or the tag resonate:external "
                                             "may be awaited under the strict rules");
}

void Machine::add_edge(EdgeKind kind, Entry& awaited, const std::string& other) {
  if (set_.has_edge(kind, awaited.now->id(), other)) return;
  set_.add_edge(kind, awaited.now->id(), other, dialect_.id);
  Row& row = set_.edit(awaited);
  row.external = true;  // from now on somebody waits, so its timeout is armed (PROTOCOL 2.1)
  ++(kind == EdgeKind::callback ? row.callbacks : row.listeners);
  set_.touched(awaited);
}

Reply Machine::register_callback(RegisterCallback& request) {
  Entry* awaited = set_.find(request.awaited);
  if (!awaited) return no_promise(request.awaited);
  Entry* awaiter = set_.find(request.awaiter);
  if (!awaiter)
    return refusal(dialect_.missing_awaiter_is_404 ? status::kNotFound : status::kUnprocessable,
                   "awaiter " + quoted(request.awaiter) + " does not exist");
  if (awaiter->now->job)
    return refusal(status::kUnprocessable, "awaiter " + quoted(request.awaiter) + " is a job, and jobs are not resumed");
  if (dialect_.awaiter_needs_target && !awaiter->now->birth->target)
    return refusal(status::kUnprocessable, "awaiter " + quoted(request.awaiter) + " has no resonate:target to be resumed at");
  if (auto refused = internal_refusal(*awaited->now)) return *std::move(refused);
  if (Projected(*awaited->now, now_).pending() && Projected(*awaiter->now, now_).pending())
    add_edge(EdgeKind::callback, *awaited, request.awaiter);
  return answer(*awaited);
}

Reply Machine::register_listener(RegisterListener& request) {
  Entry* awaited = set_.find(request.awaited);
  if (!awaited) return no_promise(request.awaited);
  if (auto refused = internal_refusal(*awaited->now)) return *std::move(refused);
  if (Projected(*awaited->now, now_).pending()) add_edge(EdgeKind::listener, *awaited, request.address);
  return answer(*awaited);
}

Reply Machine::promise_search(PromiseSearch& request) { return search_rows(request.query, false); }

Reply Machine::search_rows(SearchQuery& query, bool tasks) {
  const Filter& filter = query.filter;
  const std::optional<Glob> glob = filter.id ? std::optional<Glob>(*filter.id) : std::nullopt;
  const auto limit = static_cast<std::size_t>(query.limit.value_or(100));
  auto wanted = [&](const Row& row) {
    if (!in_scope(row.id()) || (tasks && !row.has_task())) return false;
    const Projected seen(row, now_);
    if (filter.state && *filter.state != (tasks ? name_of(seen.task()) : name_of(seen.state()))) return false;
    if (filter.target && (!row.birth->target || *row.birth->target != *filter.target)) return false;
    if (!row.birth->tags.contains(filter.tags)) return false;
    return !glob || glob->matches(row.id());
  };
  RowScan scan;
  scan.after = query.cursor;
  scan.limit = limit + 1;
  Reply reply = ok();
  reply.rows = set_.scan(std::move(scan), wanted);
  if (reply.rows.size() > limit) {
    reply.rows.pop_back();
    reply.cursor = reply.rows.back()->id();
  }
  return reply;
}

}  // namespace resonate
