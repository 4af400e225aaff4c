#include "machine/validate_jobs.hpp"

#include <string_view>
#include <unordered_set>

#include "machine/derive.hpp"
#include "machine/job_transitions.hpp"
#include "machine/quoted.hpp"
#include "machine/refusals.hpp"

namespace resonate {

namespace {

constexpr std::int64_t kMostAtOnce = 10'000;
constexpr std::int64_t kMostIntervals = 100;
constexpr std::int64_t kMostTokens = 1'000'000;
constexpr std::int64_t kLongestRate = 366LL * 86'400'000;

Refusal refuse_optional(std::string_view name, const std::optional<std::string>& text) {
  return text ? refuse_text(name, *text) : std::nullopt;
}

Refusal refuse_optional_below(std::string_view name, const std::optional<std::int64_t>& value, std::int64_t least) {
  return value ? refuse_below(name, *value, least) : std::nullopt;
}

Refusal refuse_count(std::string_view name, std::size_t size) {
  return refuse_outside("the number of " + std::string(name), static_cast<std::int64_t>(size), 1, kMostAtOnce);
}

Refusal refuse_policy(const RetryPolicy& policy) {
  if (policy.codes)
    for (const std::string& code : *policy.codes)
      if (Refusal refused = refuse_text("a code of retryPolicy", code)) return refused;
  if (policy.kind == PolicyKind::fixed) {
    if (Refusal refused =
            refuse_outside("the number of intervals", static_cast<std::int64_t>(policy.intervals.size()), 1, kMostIntervals))
      return refused;
    for (const Duration interval : policy.intervals)
      if (Refusal refused = refuse_below("an interval of retryPolicy", interval, 0)) return refused;
  }
  if (policy.kind != PolicyKind::exponential) return std::nullopt;
  if (Refusal refused = first(refuse_below("base", policy.base, 1), refuse_below("cap", policy.cap, policy.base))) return refused;
  if (!(policy.factor >= 1 && policy.factor <= 1000)) return "factor must be within 1..1000, got " + std::to_string(policy.factor);
  if (!(policy.jitter >= 0 && policy.jitter <= 1)) return "jitter must be within 0..1, got " + std::to_string(policy.jitter);
  return std::nullopt;
}

Refusal refuse_lifecycle(const std::string& name) {
  if (lifecycle_named(name)) return std::nullopt;
  return "lifecycle must be asynq or horsies, got " + quoted(name);
}

Refusal refuse_held(const std::string& id, std::int64_t version) {
  return first(refuse_text("id", id), refuse_below("version", version, 0));
}

// `states`: those of which a filter must name one; null: it names no state.
Refusal refuse_filter(const JobFilter& which, const JobStates* states) {
  if (which.id) {
    if (which.queue || which.type || which.state || which.group || !which.tags.empty())
      return "give the id " + quoted(*which.id) + " or a filter, not both";
    return refuse_text("id", *which.id);
  }
  if (Refusal refused =
          first(refuse_optional("queue", which.queue), refuse_optional("type", which.type), refuse_optional("group", which.group)))
    return refused;
  if (!states) {
    if (which.queue || which.type || which.group || !which.tags.empty()) return std::nullopt;
    return std::string("give an id, a queue, a type, a group or tags");
  }
  std::string names;
  for (std::size_t i = 0; i < kJobStates; ++i) {
    const auto state = static_cast<JobState>(i);
    if (!states->contains(state)) continue;
    if (which.state && *which.state == name_of(state)) return std::nullopt;
    names += (names.empty() ? "" : ", ") + std::string(name_of(state));
  }
  return "a filter must name a state, one of " + names + (which.state ? ", got " + quoted(*which.state) : "");
}

Refusal refuse_rate(const RateLimit& rate) {
  return first(refuse_outside("limit of rate", rate.limit, 1, kMostTokens),
               refuse_outside("per of rate", rate.per, 1, kLongestRate),
               refuse_outside("burst of rate", rate.burst, 1, kMostTokens));
}

Refusal refuse_groups(const GroupLimits& groups) {
  return first(refuse_outside("size of groups", groups.size, 1, kMostGathered), refuse_below("grace of groups", groups.grace, 0),
               refuse_optional_below("maxDelay of groups", groups.max_delay, 1));
}

Refusal refuse_defaults(const JobDefaults& defaults) {
  if (defaults.policy)
    if (Refusal refused = refuse_policy(*defaults.policy)) return refused;
  if (defaults.priority)
    if (Refusal refused = refuse_outside("priority", *defaults.priority, 1, 100)) return refused;
  if (defaults.retention && *defaults.retention != kKept)
    if (Refusal refused = refuse_below("retention", *defaults.retention, 0)) return refused;
  return first(refuse_optional_below("maxRetries", defaults.max_retries, 0), refuse_optional_below("timeout", defaults.timeout, 1));
}

}  // namespace

std::optional<std::string> refuse_order(const JobOrder& order, const Dialect& dialect) {
  if (Refusal refused =
          first(refuse_optional("id", order.id), refuse_text("queue", order.queue), refuse_text("type", order.type),
                refuse_optional("uniqueKey", order.unique_key), refuse_optional("group", order.group),
                refuse_below("deadline", order.deadline, 0), refuse_optional_below("processAt", order.process_at, 0),
                refuse_optional_below("processIn", order.process_in, 0), refuse_optional_below("goodUntil", order.good_until, 0),
                refuse_optional_below("goodFor", order.good_for, 1), refuse_optional_below("timeout", order.timeout, 1),
                refuse_optional_below("maxRetries", order.max_retries, 0), refuse_optional_below("uniqueFor", order.unique_for, 1),
                refuse_optional_below("sentAt", order.sent_at, 0)))
    return refused;
  if (order.priority)
    if (Refusal refused = refuse_outside("priority", *order.priority, 1, 100)) return refused;
  if (order.retention && *order.retention != kKept)
    if (Refusal refused = refuse_below("retention", *order.retention, 0)) return refused;
  if (order.process_at && order.process_in) return std::string("give processAt or processIn, not both");
  if (order.good_until && order.good_for) return std::string("give goodUntil or goodFor, not both");
  if (order.unique_for && !order.unique_key) return std::string("uniqueFor needs a uniqueKey");
  if (order.policy)
    if (Refusal refused = refuse_policy(*order.policy)) return refused;
  if (order.on_exhausted && !on_exhausted_named(*order.on_exhausted))
    return "onExhausted must be archived or failed, got " + quoted(*order.on_exhausted);
  if (order.lifecycle)
    if (Refusal refused = refuse_lifecycle(*order.lifecycle)) return refused;
  if (order.tags.equals("resonate:timer", "true")) return std::string("a job is no timer: tag resonate:timer must not be true");
  if (const std::string* target = target_of(order.tags, dialect); target && target->empty())
    return std::string("tag resonate:target must not be empty");
  if (order.tags.find("resonate:delay")) return std::string("a job takes no tag resonate:delay: give processAt");
  return std::nullopt;
}

std::optional<std::string> refuse_template(const JobOrder& order, const StringMap& tags, const Dialect& dialect) {
  struct Member {
    bool given;
    std::string_view name;
    std::string_view instead;
  };
  for (const Member& member : {Member{order.id.has_value(), "id", "promiseId"},
                               {!order.payload.empty(), "payload", "promiseParam"},
                               {!order.tags.empty(), "tags", "promiseTags"},
                               {order.deadline != kNever, "deadline", "promiseTimeout"},
                               {order.process_at.has_value(), "processAt", "processIn"},
                               {order.good_until.has_value(), "goodUntil", "goodFor"}})
    if (member.given) return "job of a schedule takes no " + std::string(member.name) + ": give " + std::string(member.instead);
  if (order.sent_at) return std::string("job of a schedule takes no sentAt: it is sent at its occurrence");
  JobOrder tagged = order;
  tagged.tags = tags;
  if (Refusal refused = refuse_order(tagged, dialect)) return "job of a schedule: " + *refused;
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobEnqueueMany& r) { return refuse_count("jobs", r.orders.size()); }

std::optional<std::string> refuse_job_request(const JobGet& r) { return refuse_text("id", r.id); }

std::optional<std::string> refuse_job_request(const JobClaim& r) {
  if (Refusal refused = first(refuse_outside("the number of queues", static_cast<std::int64_t>(r.queues.size()), 1, 1000),
                              refuse_outside("count", r.count, 1, kMostAtOnce), refuse_text("worker", r.worker),
                              refuse_below("lease", r.lease, 1), refuse_optional_below("runLease", r.run_lease, 1),
                              refuse_below("start", r.start, 0)))
    return refused;
  std::unordered_set<std::string_view> seen;
  for (const QueueChoice& queue : r.queues) {
    if (Refusal refused = refuse_text("queue", queue.name)) return refused;
    if (queue.weight)
      if (Refusal refused = refuse_outside("weight", *queue.weight, 1, 1000)) return refused;
    if (!seen.insert(queue.name).second) return "queue " + quoted(queue.name) + " is named twice";
  }
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobStart& r) {
  return first(refuse_held(r.id, r.version), refuse_optional_below("lease", r.lease, 1));
}

std::optional<std::string> refuse_job_request(const JobStartMany& r) {
  if (Refusal refused = first(refuse_count("jobs", r.jobs.size()), refuse_optional_below("lease", r.lease, 1))) return refused;
  for (const JobRef& one : r.jobs)
    if (Refusal refused = refuse_held(one.id, one.version)) return refused;
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobHeartbeat& r) {
  if (Refusal refused = refuse_text("worker", r.worker)) return refused;
  for (const JobRef& job : r.jobs)
    if (Refusal refused = refuse_held(job.id, job.version)) return refused;
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobComplete& r) { return refuse_held(r.id, r.version); }

std::optional<std::string> refuse_job_request(const JobCompleteMany& r) {
  if (Refusal refused = refuse_count("jobs", r.jobs.size())) return refused;
  for (const JobComplete& one : r.jobs)
    if (Refusal refused = refuse_held(one.id, one.version)) return refused;
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobFail& r) {
  return first(refuse_held(r.id, r.version), refuse_text("code of error", r.error.code),
               refuse_optional_below("retryAfter", r.retry_after, 0));
}

std::optional<std::string> refuse_job_request(const JobRelease& r) { return refuse_held(r.id, r.version); }

std::optional<std::string> refuse_job_request(const JobSnooze& r) {
  return first(refuse_held(r.id, r.version), refuse_below("delay", r.delay, 0));
}

std::optional<std::string> refuse_job_request(const JobCancel& r) {
  if (r.which.state) return std::string("job.cancel takes no state: it cancels what is not over");
  return refuse_filter(r.which, nullptr);
}

std::optional<std::string> refuse_job_request(const JobRun& r) { return refuse_filter(r.which, &transition(JobEvent::run).from); }

std::optional<std::string> refuse_job_request(const JobArchive& r) {
  return refuse_filter(r.which, &transition(JobEvent::archive).from);
}

std::optional<std::string> refuse_job_request(const JobDelete& r) {
  return refuse_filter(r.which, &transition(JobEvent::remove).from);
}

std::optional<std::string> refuse_job_request(const JobSearch& r) {
  if (r.limit)
    if (Refusal refused = refuse_outside("limit", *r.limit, 1, 1000)) return refused;
  if (Refusal refused = refuse_optional("group", r.filter.group)) return refused;
  if (r.filter.state && !job_state_named(*r.filter.state)) return "state " + quoted(*r.filter.state) + " is not a state of a job";
  return std::nullopt;
}

std::optional<std::string> refuse_job_request(const JobStats& r) { return refuse_optional("queue", r.queue); }

std::optional<std::string> refuse_job_request(const QueueSet& r) {
  if (Refusal refused = refuse_text("queue", r.queue)) return refused;
  if (r.lifecycle.value)
    if (Refusal refused = refuse_lifecycle(*r.lifecycle.value)) return refused;
  if (r.weight)
    if (Refusal refused = refuse_outside("weight", *r.weight, 1, 1000)) return refused;
  if (r.rate.value)
    if (Refusal refused = refuse_rate(*r.rate.value)) return refused;
  if (r.groups.value)
    if (Refusal refused = refuse_groups(*r.groups.value)) return refused;
  if (r.defaults.value)
    if (Refusal refused = refuse_defaults(*r.defaults.value)) return refused;
  return refuse_optional_below("concurrency", r.concurrency.value, 1);
}

std::optional<std::string> refuse_job_request(const QueueGet& r) { return refuse_text("queue", r.queue); }

std::optional<std::string> refuse_job_request(const QueuePause& r) { return refuse_text("queue", r.queue); }

std::optional<std::string> refuse_job_request(const QueueResume& r) { return refuse_text("queue", r.queue); }

std::optional<std::string> refuse_job_request(const QueueList&) { return std::nullopt; }

}  // namespace resonate
