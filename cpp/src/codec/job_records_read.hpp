// Decodes the complete jobs and queues that snapshots and storage hold.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "codec/described_read.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
Shared<const JobTemplate> read_template(const Node& node, const Path& at) {
  Shared<JobTemplate> made(new JobTemplate);
  DescribedReader<Node>().read(made->order, node, &at);
  return made;
}

template <DocumentNode Node>
Shared<Job> read_job(const Node& node, const Path* at) {
  const DescribedReader<Node> reader;
  Shared<JobSpec> spec(new JobSpec);
  reader.read(*spec, node, at);
  spec->priority = std::clamp<std::int64_t>(spec->priority, 1, 100);
  if (spec->policy.kind == PolicyKind::fixed && spec->policy.intervals.empty())
    throw Malformed{to_text(Path(Field::retry_policy, at)) + " must have intervals"};
  Shared<Job> job(new Job);
  reader.read(*job, node, at);
  job->spec = std::move(spec);
  if (job->gathering && (!job->batch || !job->spec->group || job->state != JobState::scheduled))
    throw Malformed{to_text(Path(Field::gathering, at)) + " is of a scheduled job with a group and a batch"};
  if (job->spec->after.empty() == job->spec->after_failed.has_value())
    throw Malformed{to_text(Path(Field::after_failed, at)) + " is of a job with after, and each of these has one"};
  if (job->awaits.empty() == (job->state == JobState::waiting))
    throw Malformed{to_text(Path(Field::awaits, at)) + " is of a waiting job, and each of these has one"};
  if (job->group_state && !job->gathering) throw Malformed{to_text(Path(Field::flight, at)) + " is of a job that gathers"};
  return job;
}

template <DocumentNode Node>
QueueRef read_queue(const Node& node, const Path* at) {
  Shared<Queue> queue(new Queue);
  DescribedReader<Node>().read(*queue, node, at);
  constexpr std::int64_t kFarthestDay = 1'000'000'000;  // a date that can be computed
  for (const QueueDay& day : queue->days)
    if (day.day < -kFarthestDay || day.day > kFarthestDay)
      throw Malformed{to_text(Path(Field::days, at)) + " must be of days that have a date, got " + std::to_string(day.day)};
  const Members<Node, Field::counts> members(node, at);
  const Node& counts = members.template need<Field::counts>();
  const Path at_counts = members.path(Field::counts);
  if (counts.type() != NodeType::object) refuse_type(counts, at_counts, "an object");
  counts.each_member([&](std::string_view name, Node value) {
    const std::optional<JobState> state = job_state_named(name);
    if (!state) throw Malformed{to_text(at_counts) + " must be an object of counts by state, got " + in_quotes(name)};
    queue->counts[static_cast<std::size_t>(*state)] = read_integer(value, Path(name, &at_counts));
  });
  return queue;
}

}  // namespace detail
}  // namespace resonate
