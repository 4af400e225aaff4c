// Documents → what jobs and queues are made of, and the whole jobs and queues that snapshots and storage keep.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/reader.hpp"
#include "resonate/job_requests.hpp"

namespace resonate {
namespace detail {

template <class Enum>
Enum known_name(std::optional<Enum> known, const std::string& given, const Path& path, std::string_view what) {
  if (!known) throw Malformed{to_text(path) + " must be " + std::string(what) + ", got " + in_quotes(given)};
  return *known;
}

template <DocumentNode Node>
bool read_boolean(const Node& node, const Path& path) {
  if (node.type() != NodeType::boolean) refuse_type(node, path, "a boolean");
  return node.boolean();
}

template <DocumentNode Node>
double read_number(const Node& node, const Path& path) {
  if (node.type() == NodeType::real) return node.real();
  if (node.type() != NodeType::integer) refuse_type(node, path, "a number");
  return static_cast<double>(node.integer());
}

template <DocumentNode Node, class Body>
void each_of(const Node& array, const Path& path, Body body) {
  if (array.type() != NodeType::array) refuse_type(array, path, "an array");
  std::ptrdiff_t index = 0;
  array.each_element([&](Node element) { body(element, Path(index++, &path)); });
}

template <DocumentNode Node>
std::vector<std::string> read_texts(const Node& node, const Path& path) {
  std::vector<std::string> texts;
  each_of(node, path, [&](const Node& element, const Path& at) { texts.emplace_back(read_text(element, at)); });
  return texts;
}

template <DocumentNode Node>
RetryPolicy read_policy(const Node& node, const Path& at) {
  const Members<Node, Field::kind, Field::intervals, Field::base, Field::factor, Field::cap, Field::jitter, Field::codes> members(
      node, &at);
  RetryPolicy policy;
  const std::string kind = members.template text<Field::kind>();
  policy.kind = known_name(policy_named(kind), kind, members.path(Field::kind), "fixed, exponential or asynq");
  if (policy.kind == PolicyKind::fixed)
    members.template each<Field::intervals>(
        [&](const Node& element, const Path& path) { policy.intervals.push_back(read_integer(element, path)); });
  if (policy.kind == PolicyKind::exponential) {
    policy.base = members.template integer<Field::base>();
    policy.cap = members.template optional_integer<Field::cap>().value_or(policy.cap);
    if (const Node* factor = members.template find_given<Field::factor>())
      policy.factor = read_number(*factor, members.path(Field::factor));
    if (const Node* jitter = members.template find_given<Field::jitter>())
      policy.jitter = read_number(*jitter, members.path(Field::jitter));
  }
  if (const Node* codes = members.template find_given<Field::codes>())
    policy.codes = read_texts(*codes, members.path(Field::codes));
  return policy;
}

// Null: kept.
template <DocumentNode Node>
Duration read_retention(const Node& node, const Path& path) {
  if (node.type() == NodeType::null) return kKept;
  // kKept is no number that a document has: what is below 0 stays below it, for the rule to name.
  const std::int64_t retention = read_integer(node, path);
  return retention < 0 ? std::min<std::int64_t>(retention, kKept - 1) : retention;
}

template <DocumentNode Node>
JobError read_error(const Node& node, const Path& at) {
  const Members<Node, Field::code, Field::message, Field::data> members(node, &at);
  return {members.template text<Field::code>(), members.template optional_text<Field::message>().value_or(""),
          members.template optional_text<Field::data>()};
}

template <DocumentNode Node>
RateLimit read_rate(const Node& node, const Path& at) {
  const Members<Node, Field::limit, Field::per, Field::burst> members(node, &at);
  RateLimit rate;
  rate.limit = members.template integer<Field::limit>();
  rate.per = members.template integer<Field::per>();
  rate.burst = members.template optional_integer<Field::burst>().value_or(rate.limit);
  return rate;
}

template <DocumentNode Node>
GroupLimits read_groups(const Node& node, const Path& at) {
  const Members<Node, Field::size, Field::grace, Field::max_delay> members(node, &at);
  GroupLimits groups;
  groups.size = members.template optional_integer<Field::size>().value_or(groups.size);
  groups.grace = members.template optional_integer<Field::grace>().value_or(groups.grace);
  groups.max_delay = members.template optional_integer<Field::max_delay>();
  return groups;
}

template <DocumentNode Node>
JobDefaults read_defaults(const Node& node, const Path& at) {
  const Members<Node, Field::max_retries, Field::retry_policy, Field::on_exhausted, Field::retention, Field::timeout,
                Field::priority>
      members(node, &at);
  JobDefaults defaults;
  defaults.max_retries = members.template optional_integer<Field::max_retries>();
  if (const Node* policy = members.template find_given<Field::retry_policy>())
    defaults.policy = read_policy(*policy, members.path(Field::retry_policy));
  if (const auto name = members.template optional_text<Field::on_exhausted>())
    defaults.on_exhausted = known_name(on_exhausted_named(*name), *name, members.path(Field::on_exhausted), "archived or failed");
  if (const Node* retention = members.template find<Field::retention>())
    defaults.retention = read_retention(*retention, members.path(Field::retention));
  defaults.timeout = members.template optional_integer<Field::timeout>();
  if (const auto priority = members.template optional_integer<Field::priority>())
    defaults.priority = static_cast<int>(std::clamp<std::int64_t>(*priority, -1, 1000));  // its rule names what is outside
  return defaults;
}

template <DocumentNode Node>
Attempt read_attempt(const Node& node, const Path& at) {
  const Members<Node, Field::number, Field::worker, Field::started_at, Field::finished_at, Field::outcome, Field::error> members(
      node, &at);
  Attempt attempt;
  attempt.number = members.template integer<Field::number>();
  attempt.worker = Shared<const SharedString>(new SharedString(members.template text<Field::worker>()));
  attempt.started_at = members.template integer<Field::started_at>();
  attempt.finished_at = members.template optional_integer<Field::finished_at>().value_or(kUnset);
  if (const auto outcome = members.template optional_text<Field::outcome>())
    attempt.outcome = known_name(outcome_named(*outcome), *outcome, members.path(Field::outcome), "the outcome of an attempt");
  if (const Node* error = members.template find_given<Field::error>())
    attempt.error = read_error(*error, members.path(Field::error));
  return attempt;
}

inline Shared<const SharedString> shared_text(std::optional<std::string> text) {
  return text ? Shared<const SharedString>(new SharedString(*std::move(text))) : nullptr;
}

template <DocumentNode Node>
Shared<const Flight> read_flight(const Node& node, const Path& at) {
  const Members<Node, Field::first_at, Field::last_at, Field::count> members(node, &at);
  Shared<Flight> flight(new Flight);
  flight->first_at = members.template integer<Field::first_at>();
  flight->last_at = members.template integer<Field::last_at>();
  flight->count = members.template integer<Field::count>();
  return flight;
}

template <DocumentNode Node>
Shared<const JobSpec> read_spec(const Node& node, const Path* at) {
  const Members<Node, Field::queue, Field::type, Field::payload, Field::adopted, Field::priority, Field::max_retries,
                Field::retry_policy, Field::on_exhausted, Field::one_step, Field::good_until, Field::timeout, Field::retention,
                Field::unique_key, Field::unique_for, Field::group, Field::sent_at>
      members(node, at);
  Shared<JobSpec> spec(new JobSpec);
  spec->queue = members.template text<Field::queue>();
  spec->type = members.template text<Field::type>();
  if (const Node* payload = members.template find<Field::payload>())
    spec->payload = read_value(*payload, members.path(Field::payload));
  if (const Node* adopted = members.template find<Field::adopted>())
    spec->adopted = read_boolean(*adopted, members.path(Field::adopted));
  spec->priority = static_cast<int>(std::clamp<std::int64_t>(members.template integer<Field::priority>(), 1, 100));
  spec->max_retries = members.template integer<Field::max_retries>();
  spec->policy = read_policy(members.template need<Field::retry_policy>(), members.path(Field::retry_policy));
  if (spec->policy.kind == PolicyKind::fixed && spec->policy.intervals.empty())
    throw Malformed{to_text(members.path(Field::retry_policy)) + " must have intervals"};
  const std::string exhausted = members.template text<Field::on_exhausted>();
  spec->on_exhausted =
      known_name(on_exhausted_named(exhausted), exhausted, members.path(Field::on_exhausted), "archived or failed");
  spec->one_step = read_boolean(members.template need<Field::one_step>(), members.path(Field::one_step));
  spec->good_until = members.template optional_integer<Field::good_until>().value_or(kNever);
  spec->timeout = members.template optional_integer<Field::timeout>().value_or(0);
  spec->retention = members.template optional_integer<Field::retention>().value_or(kKept);
  spec->unique_key = members.template optional_text<Field::unique_key>();
  spec->unique_for = members.template optional_integer<Field::unique_for>().value_or(0);
  spec->group = shared_text(members.template optional_text<Field::group>());
  spec->sent_at = members.template integer<Field::sent_at>();
  return spec;
}

template <DocumentNode Node>
Shared<const Job> read_job(const Node& node, const Path* at) {
  const Members<Node, Field::state, Field::retry_count, Field::process_at, Field::enqueued_at, Field::claimed_at, Field::started_at,
                Field::completed_at, Field::failed_at, Field::next_retry_at, Field::cancelled_at, Field::expired_at, Field::error,
                Field::attempts, Field::attempt_count, Field::awaiters, Field::reclaim_at, Field::run_lease, Field::deleted,
                Field::batch, Field::gathering, Field::flight>
      members(node, at);
  Shared<Job> job(new Job);
  job->spec = read_spec(node, at);
  const std::string state = members.template text<Field::state>();
  job->state = known_name(job_state_named(state), state, members.path(Field::state), "the name of a job's state");
  job->retry_count = members.template integer<Field::retry_count>();
  const auto instant = [](std::optional<std::int64_t> given) { return given.value_or(kUnset); };
  job->process_at = instant(members.template optional_integer<Field::process_at>());
  job->enqueued_at = instant(members.template optional_integer<Field::enqueued_at>());
  job->claimed_at = instant(members.template optional_integer<Field::claimed_at>());
  job->started_at = instant(members.template optional_integer<Field::started_at>());
  job->completed_at = instant(members.template optional_integer<Field::completed_at>());
  job->failed_at = instant(members.template optional_integer<Field::failed_at>());
  job->next_retry_at = instant(members.template optional_integer<Field::next_retry_at>());
  job->cancelled_at = instant(members.template optional_integer<Field::cancelled_at>());
  job->expired_at = instant(members.template optional_integer<Field::expired_at>());
  job->run_lease = members.template optional_integer<Field::run_lease>().value_or(0);
  job->reclaim_at = instant(members.template optional_integer<Field::reclaim_at>());
  if (const Node* error = members.template find_given<Field::error>()) job->error = read_error(*error, members.path(Field::error));
  members.template each<Field::attempts>(
      [&](const Node& element, const Path& path) { job->attempts.push_back(read_attempt(element, path)); });
  job->attempt_count = members.template integer<Field::attempt_count>();
  job->awaiters = read_texts(members.template need<Field::awaiters>(), members.path(Field::awaiters));
  if (const Node* deleted = members.template find<Field::deleted>())
    job->deleted = read_boolean(*deleted, members.path(Field::deleted));
  job->batch = shared_text(members.template optional_text<Field::batch>());
  if (const Node* gathering = members.template find<Field::gathering>())
    job->gathering = read_boolean(*gathering, members.path(Field::gathering));
  if (const Node* flight = members.template find<Field::flight>()) job->flight = read_flight(*flight, members.path(Field::flight));
  if (job->gathering && (!job->batch || !job->spec->group || job->state != JobState::scheduled))
    throw Malformed{to_text(members.path(Field::gathering)) + " is of a scheduled job with a group and a batch"};
  if (job->flight && !job->gathering) throw Malformed{to_text(members.path(Field::flight)) + " is of a job that gathers"};
  return job;
}

template <DocumentNode Node>
QueueRef read_queue(const Node& node, const Path* at) {
  const Members<Node, Field::name, Field::paused, Field::lifecycle, Field::weight, Field::concurrency, Field::rate, Field::groups,
                Field::defaults, Field::level, Field::refilled_at, Field::current, Field::counts, Field::days>
      members(node, at);
  Shared<Queue> queue(new Queue);
  queue->name = members.template text<Field::name>();
  queue->paused = read_boolean(members.template need<Field::paused>(), members.path(Field::paused));
  if (const auto name = members.template optional_text<Field::lifecycle>())
    queue->lifecycle = known_name(lifecycle_named(*name), *name, members.path(Field::lifecycle), "asynq or horsies");
  queue->weight = members.template integer<Field::weight>();
  queue->concurrency = members.template optional_integer<Field::concurrency>().value_or(0);
  if (const Node* rate = members.template find_given<Field::rate>()) queue->rate = read_rate(*rate, members.path(Field::rate));
  if (const Node* groups = members.template find_given<Field::groups>())
    queue->groups = read_groups(*groups, members.path(Field::groups));
  if (const Node* defaults = members.template find_given<Field::defaults>())
    queue->defaults = read_defaults(*defaults, members.path(Field::defaults));
  queue->level = members.template optional_integer<Field::level>().value_or(0);
  queue->refilled_at = members.template optional_integer<Field::refilled_at>().value_or(0);
  queue->current = members.template integer<Field::current>();
  const Node& counts = members.template need<Field::counts>();
  const Path at_counts = members.path(Field::counts);
  if (counts.type() != NodeType::object) refuse_type(counts, at_counts, "an object");
  counts.each_member([&](std::string_view name, Node value) {
    const std::string text(name);
    const JobState state = known_name(job_state_named(name), text, at_counts, "an object of counts by state");
    queue->counts[static_cast<std::size_t>(state)] = read_integer(value, Path(name, &at_counts));
  });
  members.template each<Field::days>([&](const Node& element, const Path& path) {
    const Members<Node, Field::day, Field::processed, Field::failed> day(element, &path);
    queue->days.push_back(
        {day.template integer<Field::day>(), day.template integer<Field::processed>(), day.template integer<Field::failed>()});
  });
  return queue;
}

}  // namespace detail
}  // namespace resonate
