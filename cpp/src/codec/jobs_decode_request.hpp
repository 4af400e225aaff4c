// The `data` of job.* and queue.* → its Operation (JOBS 5).
#pragma once

#include <string>
#include <utility>

#include "codec/jobs_decode_order.hpp"
#include "codec/kinds.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
JobEnqueueMany decode_orders(const Node& data, const Path& at) {
  JobEnqueueMany many;
  Members<Node, Field::jobs>(data, &at).template each<Field::jobs>(
      [&](const Node& element, const Path& path) { many.orders.push_back(decode_order(element, path)); });
  return many;
}

template <DocumentNode Node>
JobClaim decode_claim(const Node& data, const Path& at) {
  const Members<Node, Field::queues, Field::count, Field::worker, Field::lease, Field::run_lease, Field::strict, Field::start>
      members(data, &at);
  JobClaim claim;
  members.template each<Field::queues>([&](const Node& element, const Path& path) {
    if (element.type() == NodeType::string) {
      claim.queues.push_back({std::string(element.text()), {}});
      return;
    }
    if (element.type() != NodeType::object) refuse_type(element, path, "the name of a queue, or an object of name and weight");
    const Members<Node, Field::name, Field::weight> queue(element, &path);
    claim.queues.push_back({queue.template text<Field::name>(), queue.template optional_integer<Field::weight>()});
  });
  claim.count = members.template optional_integer<Field::count>().value_or(1);
  claim.worker = members.template text<Field::worker>();
  claim.lease = members.template integer<Field::lease>();
  claim.run_lease = members.template optional_integer<Field::run_lease>();
  if (const Node* strict = members.template find_given<Field::strict>())
    claim.strict = read_boolean(*strict, members.path(Field::strict));
  claim.start = members.template optional_integer<Field::start>().value_or(0);
  return claim;
}

// A job's id and the version that its holder has.
template <class Job, DocumentNode Node>
Job decode_held_job(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::version> members(data, &at);
  Job job;
  job.id = members.template text<Field::id>();
  job.version = members.template integer<Field::version>();
  return job;
}

template <DocumentNode Node>
JobStart decode_start(const Node& data, const Path& at) {
  auto start = decode_held_job<JobStart>(data, at);
  start.lease = Members<Node, Field::lease>(data, &at).template optional_integer<Field::lease>();
  return start;
}

template <DocumentNode Node>
JobStartMany decode_starts(const Node& data, const Path& at) {
  const Members<Node, Field::jobs, Field::lease> members(data, &at);
  JobStartMany many;
  members.template each<Field::jobs>(
      [&](const Node& element, const Path& path) { many.jobs.push_back(decode_held_job<JobRef>(element, path)); });
  many.lease = members.template optional_integer<Field::lease>();
  return many;
}

template <DocumentNode Node>
JobHeartbeat decode_job_heartbeat(const Node& data, const Path& at) {
  const Members<Node, Field::worker, Field::jobs> members(data, &at);
  JobHeartbeat heartbeat{.worker = members.template text<Field::worker>(), .jobs = {}};
  members.template each<Field::jobs>(
      [&](const Node& element, const Path& path) { heartbeat.jobs.push_back(decode_held_job<JobRef>(element, path)); });
  return heartbeat;
}

template <DocumentNode Node>
JobComplete decode_complete(const Node& data, const Path& at) {
  auto complete = decode_held_job<JobComplete>(data, at);
  complete.result = Members<Node, Field::result>(data, &at).template value<Field::result>();
  return complete;
}

template <DocumentNode Node>
JobCompleteMany decode_completes(const Node& data, const Path& at) {
  JobCompleteMany many;
  Members<Node, Field::jobs>(data, &at).template each<Field::jobs>(
      [&](const Node& element, const Path& path) { many.jobs.push_back(decode_complete(element, path)); });
  return many;
}

template <DocumentNode Node>
JobFail decode_fail(const Node& data, const Path& at) {
  const Members<Node, Field::error, Field::retryable, Field::retry_after> members(data, &at);
  auto fail = decode_held_job<JobFail>(data, at);
  fail.error = read_error(members.template need<Field::error>(), members.path(Field::error));
  if (const Node* retryable = members.template find_given<Field::retryable>())
    fail.retryable = read_boolean(*retryable, members.path(Field::retryable));
  fail.retry_after = members.template optional_integer<Field::retry_after>();
  return fail;
}

template <DocumentNode Node>
JobSnooze decode_snooze(const Node& data, const Path& at) {
  auto snooze = decode_held_job<JobSnooze>(data, at);
  snooze.delay = Members<Node, Field::delay>(data, &at).template integer<Field::delay>();
  return snooze;
}

template <DocumentNode Node>
JobFilter decode_filter(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::queue, Field::type, Field::state, Field::group, Field::tags> members(data, &at);
  JobFilter filter;
  filter.id = members.template optional_text<Field::id>();
  filter.queue = members.template optional_text<Field::queue>();
  filter.type = members.template optional_text<Field::type>();
  filter.state = members.template optional_text<Field::state>();
  filter.group = members.template optional_text<Field::group>();
  if (const Node* tags = members.template find_given<Field::tags>())
    filter.tags = read_string_map(*tags, members.path(Field::tags));
  return filter;
}

template <DocumentNode Node>
JobSearch decode_job_search(const Node& data, const Path& at) {
  const Members<Node, Field::unique_key, Field::limit, Field::cursor> members(data, &at);
  return {.filter = decode_filter(data, at),
          .unique_key = members.template optional_text<Field::unique_key>(),
          .limit = members.template optional_integer<Field::limit>(),
          .cursor = members.template optional_text<Field::cursor>().value_or("")};
}

// Absent, null, or what `read` makes of it.
template <class T, DocumentNode Node, class Read>
Setting<T> setting(const Node* node, const Path& path, Read read) {
  if (!node) return {};
  if (node->type() == NodeType::null) return {true, {}};
  return {true, read(*node, path)};
}

template <DocumentNode Node>
QueueSet decode_queue_set(const Node& data, const Path& at) {
  const Members<Node, Field::queue, Field::lifecycle, Field::weight, Field::concurrency, Field::rate, Field::groups,
                Field::defaults>
      members(data, &at);
  QueueSet set;
  set.queue = members.template text<Field::queue>();
  set.lifecycle = setting<std::string>(members.template find<Field::lifecycle>(), members.path(Field::lifecycle),
                                       [](const Node& node, const Path& path) { return std::string(read_text(node, path)); });
  set.weight = members.template optional_integer<Field::weight>();
  set.concurrency = setting<std::int64_t>(members.template find<Field::concurrency>(), members.path(Field::concurrency),
                                          [](const Node& node, const Path& path) { return read_integer(node, path); });
  set.rate = setting<RateLimit>(members.template find<Field::rate>(), members.path(Field::rate),
                                [](const Node& node, const Path& path) { return read_rate(node, path); });
  set.groups = setting<GroupLimits>(members.template find<Field::groups>(), members.path(Field::groups),
                                    [](const Node& node, const Path& path) { return read_groups(node, path); });
  set.defaults = setting<JobDefaults>(members.template find<Field::defaults>(), members.path(Field::defaults),
                                      [](const Node& node, const Path& path) { return read_defaults(node, path); });
  return set;
}

template <DocumentNode Node>
std::string decode_queue_name(const Node& data, const Path& at) {
  return Members<Node, Field::queue>(data, &at).template text<Field::queue>();
}

// `kind` is one of job.* and queue.*.
template <DocumentNode Node>
Operation decode_job_operation(Kind kind, const Node& data, const Path& at) {
  switch (kind) {
    case Kind::job_enqueue: return JobEnqueue{{decode_order(data, at)}};
    case Kind::job_enqueue_many: return decode_orders(data, at);
    case Kind::job_get: return JobGet{Members<Node, Field::id>(data, &at).template text<Field::id>()};
    case Kind::job_claim: return decode_claim(data, at);
    case Kind::job_start: return decode_start(data, at);
    case Kind::job_start_many: return decode_starts(data, at);
    case Kind::job_heartbeat: return decode_job_heartbeat(data, at);
    case Kind::job_complete: return decode_complete(data, at);
    case Kind::job_complete_many: return decode_completes(data, at);
    case Kind::job_fail: return decode_fail(data, at);
    case Kind::job_release: return decode_held_job<JobRelease>(data, at);
    case Kind::job_snooze: return decode_snooze(data, at);
    case Kind::job_cancel: return JobCancel{decode_filter(data, at)};
    case Kind::job_run: return JobRun{decode_filter(data, at)};
    case Kind::job_archive: return JobArchive{decode_filter(data, at)};
    case Kind::job_delete: return JobDelete{decode_filter(data, at)};
    case Kind::job_search: return decode_job_search(data, at);
    case Kind::job_stats: return JobStats{Members<Node, Field::queue>(data, &at).template optional_text<Field::queue>()};
    case Kind::queue_set: return decode_queue_set(data, at);
    case Kind::queue_get: return QueueGet{decode_queue_name(data, at)};
    case Kind::queue_pause: return QueuePause{decode_queue_name(data, at)};
    case Kind::queue_resume: return QueueResume{decode_queue_name(data, at)};
    case Kind::queue_list: {
      (void)Members<Node, Field::queue>(data, &at);  // an object
      return QueueList{};
    }
    default: throw Malformed{"not a request of a client"};
  }
}

}  // namespace detail
}  // namespace resonate
