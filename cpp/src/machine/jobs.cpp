// Requests that enqueue jobs, and requests of workers (JOBS 3 and 5). Claims: job_claims.cpp; requests of operators:
// job_inspection.cpp.
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "machine/derive.hpp"
#include "machine/job_cancellation.hpp"
#include "machine/job_children.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "machine/text_hash.hpp"
#include "machine/validate_jobs.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

constexpr std::size_t kMostLevels = 1000;  // of child jobs below a job without a parent

// The defaults of a lifecycle, for values that neither the order nor its queue gives (JOBS 4).
struct Preset {
  bool one_step;
  std::int64_t max_retries;
  PolicyKind policy;
  OnExhausted on_exhausted;
  Duration retention;
  bool cancel_with_awaiters;
};
constexpr Preset kPresets[] = {
    {.one_step = false,
     .max_retries = 25,
     .policy = PolicyKind::asynq,
     .on_exhausted = OnExhausted::archived,
     .retention = kKept,
     .cancel_with_awaiters = true},
    {.one_step = true,
     .max_retries = 25,
     .policy = PolicyKind::asynq,
     .on_exhausted = OnExhausted::archived,
     .retention = 0,
     .cancel_with_awaiters = false},
    {.one_step = false,
     .max_retries = 0,
     .policy = PolicyKind::fixed,
     .on_exhausted = OnExhausted::failed,
     .retention = kKept,
     .cancel_with_awaiters = true},
    {.one_step = true,
     .max_retries = 100,
     .policy = PolicyKind::fixed,
     .on_exhausted = OnExhausted::failed,
     .retention = 7 * Duration{86'400'000},
     .cancel_with_awaiters = true},
};

RetryPolicy policy_of(const Preset& preset, Lifecycle lifecycle) {
  RetryPolicy policy;
  if (lifecycle == Lifecycle::workflow) {
    policy.kind = PolicyKind::fixed;
    policy.intervals = {0, 1000, 10'000, 60'000};
    policy.codes = {"WorkerCrashed"};  // steps retry, workflows do not
    return policy;
  }
  policy.kind = preset.policy;
  if (preset.policy == PolicyKind::fixed) policy.intervals = {0};
  return policy;
}

// The default number of retries. A lifecycle without retries takes it from the order's or the queue's policy.
std::int64_t retries_of(const Preset& preset, const RetryPolicy* given) {
  if (!given || preset.max_retries > 0) return preset.max_retries;
  return given->kind == PolicyKind::fixed ? static_cast<std::int64_t>(given->intervals.size()) : 25;
}

Lifecycle lifecycle_of(const JobOrder& order, const Queue* queue) {
  return order.lifecycle ? *lifecycle_named(*order.lifecycle) : queue ? queue->lifecycle : Lifecycle::none;
}

const Preset& preset_of(const JobOrder& order, const Queue* queue) {
  return kPresets[static_cast<std::size_t>(lifecycle_of(order, queue))];
}

// A lifecycle without retries allows them only with a policy (JOBS 4).
std::string needs_policy(std::int64_t retries) {
  return "maxRetries must be 0 under the lifecycle horsies without a retryPolicy, got " + std::to_string(retries) +
         "; give a retryPolicy";
}

Shared<JobSpec> spec_of(const JobOrder& order, const Queue* queue, Instant process_at, Instant now) {
  static const JobDefaults kNone;
  const Lifecycle lifecycle = lifecycle_of(order, queue);
  const JobDefaults& given = queue ? queue->defaults : kNone;
  const JobDefaults& defaults = lifecycle == Lifecycle::workflow ? kNone : given;  // of these, it takes the priority alone
  const Preset& preset = preset_of(order, queue);
  const std::optional<RetryPolicy>& policy = order.policy ? order.policy : defaults.policy;
  const std::optional<std::int64_t>& retries = order.max_retries ? order.max_retries : defaults.max_retries;

  Shared<JobSpec> spec(new JobSpec);
  copy_common(order, *spec);
  spec->priority = order.priority.value_or(given.priority.value_or(50));
  spec->max_retries = retries && (policy || preset.max_retries > 0) ? *retries : retries_of(preset, policy ? &*policy : nullptr);
  spec->policy = policy ? *policy : policy_of(preset, lifecycle);
  spec->on_exhausted =
      order.on_exhausted ? *on_exhausted_named(*order.on_exhausted) : defaults.on_exhausted.value_or(preset.on_exhausted);
  spec->one_step = preset.one_step;
  spec->workflow = lifecycle == Lifecycle::workflow;
  spec->cancel_with_awaiters =
      order.cancel_with_awaiters.value_or(defaults.cancel_with_awaiters.value_or(preset.cancel_with_awaiters));
  spec->good_until =
      order.good_for ? saturating_add(std::max(process_at, now), *order.good_for) : order.good_until.value_or(kNever);
  spec->timeout = order.timeout.value_or(defaults.timeout.value_or(0));
  spec->retention = order.retention.value_or(defaults.retention.value_or(preset.retention));
  spec->unique_for = order.unique_for.value_or(0);
  if (order.group) spec->group = Shared<const SharedString>(new SharedString(*order.group));
  spec->sent_at = std::min(order.sent_at.value_or(now), now);  // not in the future, even if the caller's clock is ahead
  if (order.after) {
    spec->after = distinct(*order.after);
    spec->after_failed = order.after_failed ? *after_failed_named(*order.after_failed) : AfterFailed::cancel;
  }
  return spec;
}

}  // namespace

Reply Machine::no_job(const std::string& id) const { return refusal(status::kNotFound, "job " + quoted(id) + " does not exist"); }

std::optional<Reply> Machine::job_refusal(const Entry* entry, const std::string& id, JobEvent event,
                                          std::string_view action) const {
  if (!entry || !entry->now->job) return no_job(id);
  const JobState state = job_state_at(*entry->now, now_);
  if (applies(event, state)) return std::nullopt;
  return refusal(status::kConflict,
                 "job " + quoted(id) + " is " + std::string(name_of(state)) + " and cannot be " + std::string(action));
}

std::optional<Reply> Machine::held_job_refusal(const Entry* entry, const std::string& id, std::int64_t version, JobEvent event,
                                               std::string_view action) const {
  if (auto refused = job_refusal(entry, id, event, action)) return refused;
  if (entry->now->acquisitions == version) return std::nullopt;
  return refusal(status::kConflict, "version of job " + quoted(id) + " must be " + std::to_string(entry->now->acquisitions) +
                                        ", got " + std::to_string(version) + ": the job was claimed again meanwhile");
}

// The orders before one in a request that enqueues all or none: they are judged, and not written yet.
struct Machine::EarlierOrders {
  std::unordered_set<std::string, TextHash, std::equal_to<>> made;  // their ids
  std::set<std::pair<std::string_view, std::string_view>> keys;     // queue, unique key
  std::int64_t generated;                                           // the number of the last id that the engine makes
  bool any_named;                                                   // else no id that the engine makes matters to another order

  void add(const JobOrder& order, WorkingSet& set) {
    if (order.unique_key) keys.emplace(order.queue, *order.unique_key);
    if (order.id) {
      made.insert(*order.id);
      return;
    }
    if (!any_named) return;
    std::string id;
    do id = generated_name("job", ++generated);
    while (made.contains(id) || set.follow(id));
    made.insert(std::move(id));
  }
};

std::optional<Reply> Machine::enqueue_refusal(const JobOrder& order, const Entry* existing, const EarlierOrders* earlier,
                                              Awaited& awaited) {
  if (earlier && order.id && earlier->made.contains(*order.id))
    return refusal(status::kConflict, "id " + quoted(*order.id) + " comes twice");
  if (existing && existing->now->job) {
    const Row& row = *existing->now;
    const JobSpec& spec = *row.job->spec;
    // An order that adopts a promise may omit the payload; then the promise's param is used.
    const bool adopts = spec.adopted && !spec.payload && order.payload.empty();
    if (spec.queue == order.queue && spec.type == order.type && (adopts || same_value(row.payload(), order.payload)))
      return std::nullopt;
    return refusal(status::kConflict, "job " + quoted(*order.id) + " exists with another queue, type or payload");
  }
  if (existing) {
    if (existing->now->has_task())
      return refusal(status::kConflict, "promise " + quoted(*order.id) + " exists and has a task of its own");
    if (existing->now->promise_spec->timer)
      return refusal(status::kConflict, "promise " + quoted(*order.id) + " exists and is a timer");
    if (order.after || order.parent)
      return refusal(status::kConflict, "promise " + quoted(*order.id) + " exists: a job with " +
                                            (order.after ? "after" : "a parent") + " needs a promise of its own");
    if (const PromiseState state = existing->now->state_at(now_); state != PromiseState::pending)
      return refusal(status::kConflict, "promise " + quoted(*order.id) + " exists and is " + std::string(name_of(state)));
  }
  if (order.unique_key) {
    if (const Entry* holder = set_.holder_of_key(order.queue, *order.unique_key, now_))
      return refusal(status::kConflict, "uniqueKey " + quoted(*order.unique_key) + " of queue " + quoted(order.queue) +
                                            " is held by job " + quoted(holder->now->id()));
    if (earlier && earlier->keys.contains({order.queue, *order.unique_key}))
      return refusal(status::kConflict,
                     "uniqueKey " + quoted(*order.unique_key) + " of queue " + quoted(order.queue) + " comes twice");
  }
  if (auto refused = parent_refusal(order)) return refused;
  if (!order.after) return std::nullopt;
  std::vector<std::string> ids = distinct(*order.after);
  if (earlier) std::erase_if(ids, [&](const std::string& id) { return earlier->made.contains(id); });
  return find_awaited(ids, awaited);
}

std::optional<Reply> Machine::parent_refusal(const JobOrder& order) {
  if (!order.parent) return std::nullopt;
  const JobParent& parent = *order.parent;
  std::optional<Reply> refused =
      held_job_refusal(set_.find(parent.id), parent.id, parent.version, JobEvent::complete, "the parent of a new job");
  if (refused) {
    refused->status = status::kConflict;
    return refused;
  }
  // Requests on a family go down level by level.
  std::size_t levels = 1;
  for (const Entry* above = set_.follow(parent.id); above && above->now->promise_spec->child; ++levels)
    above = set_.follow(above->now->promise_spec->child->parent);
  if (levels <= kMostLevels) return std::nullopt;
  return refusal(status::kUnprocessable, "job " + quoted(parent.id) + " is " + std::to_string(kMostLevels) +
                                             " levels below a job without a parent, and takes no child jobs");
}

Reply Machine::enqueue(JobOrder& order) {
  Entry* existing = order.id ? set_.find(*order.id) : nullptr;
  Awaited awaited;
  if (auto refused = enqueue_refusal(order, existing, nullptr, awaited)) return *std::move(refused);
  if (existing && existing->now->job) return answer(*existing);
  const Instant process_at = order.process_in ? saturating_add(now_, *order.process_in) : order.process_at.value_or(kUnset);
  Shared<JobSpec> spec = spec_of(order, set_.find_queue(order.queue), process_at, now_);

  Shared<Job> job(new Job);
  Entry* entry = existing;
  const bool has_new_id = !order.id;
  if (existing) {
    spec->adopted = true;
    if (!order.payload.empty()) spec->payload = std::move(order.payload);
  } else {
    if (!order.id) order.id = set_.new_job_id();
    PromiseCreate create{.id = *std::move(order.id),
                         .timeout_at = order.deadline,
                         .param = std::move(order.payload),
                         .tags = std::move(order.tags),
                         .ikc = {}};
    Entry* const parent = order.parent ? set_.find(order.parent->id) : nullptr;
    if (parent) add_lineage(create.tags, *parent->now, create.id, true);
    Shared<Row> created = new_row(create);
    if (parent) mark_child(set_, *parent, *created, ChildKind::job);
    // A job whose good_until has passed counts as created and ended at that instant, like a promise whose deadline has passed.
    auto& promise_spec = const_cast<PromiseSpec&>(*created->promise_spec);
    promise_spec.created_at = std::min(promise_spec.created_at, spec->good_until);
    entry = &set_.create(std::move(created));
  }
  job->spec = std::move(spec);
  // A job that is over already, by its good_until, is not cancelled besides.
  const bool fails = awaited.failed && job->spec->after_failed == AfterFailed::cancel && job->spec->good_until > now_;
  const bool gathers = job->spec->group && process_at <= now_ && job->spec->good_until > now_;
  Row& row = set_.edit(*entry);
  row.external = true;
  if (row.state != PromiseState::pending) {  // created after its deadline
    job->state = JobState::failed;
    job->failed_at = row.settled_at;
    job->error = deadline_job_error();
    row.task = TaskState::fulfilled;
    awaited = {};
  } else if (fails || !awaited.pending.empty()) {
    job->state = JobState::waiting;
    if (process_at != kUnset) job->process_at = process_at;
    job->awaits = IdList(ids_of(awaited.pending));
    row.task = TaskState::suspended;
  } else if (process_at > now_) {
    job->state = JobState::scheduled;
    job->process_at = process_at;
    row.task = TaskState::pending;
    row.retry_at = process_at;
  } else {
    if (process_at != kUnset) job->process_at = process_at;
    if (gathers) {
      job->state = JobState::scheduled;
    } else {
      job->enqueued_at = now_;
    }
    row.task = TaskState::pending;
    row.retry_at = row.promise_spec->timeout_at;
  }
  count_created(set_, *job);
  row.job = std::move(job);
  set_.touched(*entry);
  if (row.state == PromiseState::pending && fails) {
    cancel_job(set_, *entry, dependency_failed(*awaited.failed->now, now_), now_);
    return answer(*entry);
  }
  if (order.parent && row.state == PromiseState::pending) put_callback(*entry, *set_.find(order.parent->id)->now);
  for (Entry* one : awaited.pending) {
    // The plan of the request does not know the pairs of an id that was made just now.
    if (has_new_id && !set_.follow_edge(EdgeKind::callback, one->now->id(), entry->now->id())) put_callback(*one, *entry->now);
    if (!has_new_id) add_callback(*one, *entry->now);
  }
  keep_settled(awaited, entry->now->id());
  if (existing) follow_awaiters(set_, *entry);
  if (gathers && row.state == PromiseState::pending) join_group(set_, *entry, now_);
  return answer(*entry);
}

JobReply::Item Machine::item_of(Reply reply) const {
  return {reply.status, std::move(reply.error), statuses_only_ ? nullptr : shown_at(reply.promise, now_)};
}

Reply Machine::run(JobEnqueue& request) { return enqueue_requested(*request.order); }

// Enqueues for a request, which can be refused. An occurrence of a schedule cannot: if its queue has lost the policy, enqueue()
// gives its job no retries.
Reply Machine::enqueue_requested(JobOrder& order) {
  const Entry* existing = order.id ? set_.find(*order.id) : nullptr;
  if (!existing || !existing->now->job)
    if (auto refused = refuse_by_lifecycle(order)) return refusal(status::kInvalid, *std::move(refused));
  return enqueue(order);
}

std::optional<std::string> Machine::refuse_by_lifecycle(const JobOrder& order) const {
  const Queue* queue = order.group || order.max_retries ? set_.find_queue(order.queue) : nullptr;
  if (order.group && lifecycle_of(order, queue) == Lifecycle::workflow)
    return "a job with the lifecycle workflow takes no group, got " + quoted(*order.group);
  if (!order.max_retries || *order.max_retries == 0 || order.policy) return std::nullopt;
  if ((queue && queue->defaults.policy) || preset_of(order, queue).max_retries > 0) return std::nullopt;
  return needs_policy(*order.max_retries);
}

std::optional<std::string> Machine::refuse_retries(const QueueSet& request) const {
  const Queue* known = set_.find_queue(request.queue);
  const std::optional<JobDefaults> kept = known ? std::optional(known->defaults) : std::nullopt;
  const std::optional<JobDefaults>& defaults = request.defaults.given ? request.defaults.value : kept;
  Lifecycle lifecycle = known ? known->lifecycle : Lifecycle::none;
  if (request.lifecycle.given) lifecycle = request.lifecycle.value ? *lifecycle_named(*request.lifecycle.value) : Lifecycle::none;
  if (!defaults || defaults->policy || defaults->max_retries.value_or(0) == 0) return std::nullopt;
  if (kPresets[static_cast<std::size_t>(lifecycle)].max_retries > 0) return std::nullopt;
  return "defaults: " + needs_policy(*defaults->max_retries);
}

std::optional<Reply> Machine::refuse_any(const std::vector<JobOrder>& orders) {
  const bool any_named = std::ranges::any_of(orders, [](const JobOrder& order) { return order.id || order.after || order.parent; });
  EarlierOrders earlier{.made = {}, .keys = {}, .generated = set_.counters().jobs, .any_named = any_named};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const JobOrder& order = orders[i];
    const Entry* existing = order.id ? set_.find(*order.id) : nullptr;
    Awaited awaited;
    std::optional<Reply> refused;
    if (auto why = refuse_order(order, dialect_)) {
      refused = refusal(status::kInvalid, *std::move(why));
    } else if (auto retries = existing && existing->now->job ? std::nullopt : refuse_by_lifecycle(order)) {
      refused = refusal(status::kInvalid, *std::move(retries));
    } else {
      refused = enqueue_refusal(order, existing, &earlier, awaited);
    }
    if (refused) {
      refused->error = "jobs[" + std::to_string(i) + "]: " + refused->error;
      return refused;
    }
    earlier.add(order, set_);
  }
  return std::nullopt;
}

Reply Machine::run(JobEnqueueMany& request) {
  if (request.atomic)
    if (auto refused = refuse_any(request.orders)) return *std::move(refused);
  Shared<JobReply> jobs(new JobReply);
  jobs->items.reserve(request.orders.size());
  for (JobOrder& order : request.orders) {
    if (auto refused = request.atomic ? std::nullopt : refuse_order(order, dialect_)) {  // of an atomic one each was judged above
      jobs->items.push_back({status::kInvalid, *std::move(refused), {}});
    } else {
      jobs->items.push_back(item_of(enqueue_requested(order)));
    }
  }
  Reply reply = ok();
  reply.jobs = std::move(jobs);
  return reply;
}

Reply Machine::run(JobGet& request) {
  const Entry* entry = set_.find(request.id);
  return entry && entry->now->job ? answer(*entry) : no_job(request.id);
}

Reply Machine::run(JobStart& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::start, "started")) return *std::move(refused);
  start_job(set_, *entry, request.lease.value_or(entry->now->job->run_lease), now_);
  return answer(*entry);
}

Reply Machine::run(JobStartMany& request) {
  Shared<JobReply> jobs(new JobReply);
  jobs->items.reserve(request.jobs.size());
  for (const JobRef& one : request.jobs) {
    JobStart start{.id = one.id, .version = one.version, .lease = request.lease};
    jobs->items.push_back(item_of(run(start)));
  }
  Reply reply = ok();
  reply.jobs = std::move(jobs);
  return reply;
}

Reply Machine::run(JobHeartbeat& request) {
  Shared<JobReply> job_reply(new JobReply);
  for (const JobRef& held : request.jobs) {
    Entry* entry = set_.find(held.id);
    const JobState state = entry && entry->now->job ? job_state_at(*entry->now, now_) : JobState::failed;
    if (state == JobState::cancelled) {
      job_reply->cancelled.push_back(held.id);
    } else if (!is_held(state) || entry->now->acquisitions != held.version || entry->now->pid->text != request.worker) {
      job_reply->lost.push_back(held.id);
    } else {
      Row& row = set_.edit(*entry);
      row.expires_at = saturating_add(now_, row.ttl);
      set_.touched(*entry);
    }
  }
  Reply reply = ok();
  reply.jobs = std::move(job_reply);
  return reply;
}

Reply Machine::run(JobComplete& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::complete, "completed"))
    return *std::move(refused);
  complete_job(set_, *entry, std::move(request.result), now_);
  return answer(*entry);
}

Reply Machine::run(JobCompleteMany& request) {
  Shared<JobReply> jobs(new JobReply);
  jobs->items.reserve(request.jobs.size());
  for (JobComplete& one : request.jobs) jobs->items.push_back(item_of(run(one)));
  Reply reply = ok();
  reply.jobs = std::move(jobs);
  return reply;
}

Reply Machine::run(JobFail& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::retry, "failed")) return *std::move(refused);
  fail_attempt(set_, *entry, std::move(request.error), Outcome::failed, request.retryable, request.retry_after, request.archive,
               now_);
  return answer(*entry);
}

Reply Machine::run(JobRelease& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::release, "released"))
    return *std::move(refused);
  make_ready(set_, *entry, JobEvent::release, entry->now->job->enqueued_at);
  return answer(*entry);
}

Reply Machine::run(JobSnooze& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::snooze, "snoozed")) return *std::move(refused);
  snooze_job(set_, *entry, request.delay, now_);
  return answer(*entry);
}

Reply Machine::run(JobReport& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::complete, "reported on"))
    return *std::move(refused);
  add_report(set_, *entry, request.progress, std::move(request.lines), now_);
  return answer(*entry);
}

}  // namespace resonate
