#include "machine/derive.hpp"

#include <algorithm>
#include <utility>

namespace resonate {

const std::string* target_of(const StringMap& tags, const Dialect& dialect) noexcept {
  const std::string* target = tags.find("resonate:target");
  if (!target && dialect.invoke_tag_is_target) target = tags.find("resonate:invoke");
  return target;
}

void derive_promise_spec(PromiseSpec& promise_spec) {
  const Dialect& its = dialect(promise_spec.dialect);
  promise_spec.timer = promise_spec.tags.equals("resonate:timer", "true");
  promise_spec.target = target_of(promise_spec.tags, its);
  const std::string* branch = promise_spec.tags.find("resonate:branch");
  promise_spec.branch = branch && !branch->empty() ? branch : nullptr;
  const std::string* origin = promise_spec.tags.find("resonate:origin");
  promise_spec.root = !origin || *origin == promise_spec.id;
  promise_spec.initially_external =
      its.everything_external || promise_spec.timer || promise_spec.target || promise_spec.tags.equals("resonate:external", "true");
}

std::string mailbox_of(std::string_view job, std::string_view topic) {
  return std::string("m").append(job).append(":@").append(topic);
}

std::string child_jobs_of(std::string_view job) { return std::string("j").append(job); }

Shared<const ChildMark> child_of(std::string parent, ChildKind kind, std::int64_t number, const std::string& id,
                                 const StringMap& tags) {
  Shared<ChildMark> mark(new ChildMark);
  switch (kind) {
    case ChildKind::record: break;
    case ChildKind::job: mark->group = child_jobs_of(parent); break;
    case ChildKind::receive:
      if (const std::string* topic = tags.find("resonate:topic")) mark->group = mailbox_of(parent, *topic);
      break;
    case ChildKind::message: {  // JOB:@TOPIC:KEY; a topic has no colon, and a key may have some
      const std::size_t topic = parent.size() + 2;
      const std::size_t end = id.find(':', topic);
      if (end != std::string::npos) mark->group = mailbox_of(parent, std::string_view(id).substr(topic, end - topic));
    }
  }
  mark->parent = std::move(parent);
  mark->kind = kind;
  mark->number = number;
  return mark;
}

namespace {

Due next_due_of_job(const Row& row) noexcept {
  const Instant at = row.ends_at();
  const Due end = at == kNever ? Due{} : Due{at, DueKind::timeout};
  switch (row.job->state) {
    case JobState::claimed:
    case JobState::running: return std::min(end, Due{std::min(row.expires_at, row.job->times_out_at()), DueKind::lease});
    case JobState::scheduled:
      if (row.job->gathering && !row.job->group_state) return end;  // the leader has the timer
      [[fallthrough]];
    case JobState::retry: return std::min(end, Due{row.retry_at, DueKind::dispatch});
    default: return end;
  }
}

}  // namespace

Due next_due(const Row& row) noexcept {
  if (row.state != PromiseState::pending) {
    if (row.callbacks || row.listeners || row.cancels_jobs) return {kAtOnce, DueKind::drain};
    // kNever never reclaims: no later instant could retry the step.
    return row.job && row.job->reclaim_at != kUnset && row.job->reclaim_at != kNever ? Due{row.job->reclaim_at, DueKind::retention}
                                                                                     : Due{};
  }
  if (row.job) return next_due_of_job(row);
  Due due;
  if (row.external) due = {row.promise_spec->timeout_at, DueKind::timeout};
  if (row.task == TaskState::acquired) return std::min(due, Due{row.expires_at, DueKind::lease});
  if (row.task == TaskState::pending && dispatchable(*row.promise_spec) && !row.execute_waits)
    return std::min(due, Due{row.retry_at, DueKind::dispatch});
  return due;
}

Duration retry_interval(const Row& row, std::optional<Duration> retry_timeout) noexcept {
  constexpr Duration kWithoutTtl = 5000;  // for a task that was never acquired
  return retry_timeout.value_or(row.ttl > 0 ? row.ttl : kWithoutTtl);
}

Instant shown_retry_at(const Row& row, Instant now, std::optional<Duration> retry_timeout) noexcept {
  if (!row.execute_waits || row.retry_at > now) return row.retry_at;
  // Unsigned, because a restored retryAt can be arbitrarily early.
  const auto interval = static_cast<std::uint64_t>(retry_interval(row, retry_timeout));
  const std::uint64_t since = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(row.retry_at);
  return saturating_add(now, static_cast<Duration>(interval - since % interval));
}

namespace {

std::size_t bytes_of(const StringMap& strings) noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, text] : strings) bytes += name.size() + text.size();
  return bytes;
}

std::size_t bytes_of(const Value& value) noexcept {
  return (value.data ? value.data->size() : 0) + (value.headers ? bytes_of(*value.headers) : 0);
}

}  // namespace

std::size_t payload_bytes(const Row& row) noexcept {
  return row.id().size() + bytes_of(row.promise_spec->tags) + bytes_of(row.promise_spec->param) +
         (row.value ? bytes_of(row.value->value) : 0);
}

}  // namespace resonate
