// Decodes records as replies of 2026-04-01 contain them: the inverse of records_encode.hpp, schedules_encode.hpp and
// job_records_write.hpp. The decoded rows are shown, never stored: they have no timers and no edges. Members that a record has only
// in some states are read only in those; unknown members are ignored, because a newer server may send them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/job_records_read.hpp"
#include "codec/messages.hpp"
#include "codec/reader.hpp"
#include "codec/record_members_read.hpp"

namespace resonate {
namespace detail {

// A record has the number of resumes, and a row their names: this limits the memory that a number can take.
inline constexpr std::int64_t kMostResumesShown = 1'000'000;

template <DocumentNode Node>
std::int64_t read_within(const Node& node, const Path& path, std::int64_t least, std::int64_t most) {
  const std::int64_t number = read_integer(node, path);
  if (number < least || number > most) refuse_type(node, path, "from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

}  // namespace detail

// All throw Malformed. `at`: the place of the record in its document; null: it is the document.
template <DocumentNode Node>
RowRef decode_promise(const Node& node, const Path* at = nullptr) {
  const Members<Node, Field::id, Field::state, Field::param, Field::value, Field::tags, Field::timeout_at, Field::created_at,
                Field::settled_at>
      members(node, at);
  auto spec = make_shared_value<PromiseSpec>();
  detail::read_promise_spec(members, *spec);
  auto row = make_shared_value<Row>();
  row->promise_spec = std::move(spec);
  row->state = detail::read_promise_state(members);
  if (row->state != PromiseState::pending) row->settled_at = members.template integer<Field::settled_at>();
  if (Value value = members.template value<Field::value>(); !value.empty())
    row->value = make_shared_value<SharedValue>(std::move(value));
  return row;
}

template <DocumentNode Node>
RowRef decode_task(const Node& node, const Path* at = nullptr) {
  const Members<Node, Field::id, Field::state, Field::version, Field::resumes, Field::ttl, Field::pid> members(node, at);
  auto spec = make_shared_value<PromiseSpec>();
  spec->id = members.template text<Field::id>();
  auto row = make_shared_value<Row>();
  row->promise_spec = std::move(spec);
  row->task = detail::read_task_state(members);
  row->acquisitions = members.template integer<Field::version>();
  const std::int64_t resumes =
      detail::read_within(members.template need<Field::resumes>(), members.path(Field::resumes), 0, detail::kMostResumesShown);
  if (resumes != 0) row->resumes = make_shared_value<SharedStrings>(std::vector<std::string>(static_cast<std::size_t>(resumes)));
  if (row->task == TaskState::acquired) {
    row->ttl = members.template integer<Field::ttl>();
    row->pid = detail::shared_text(members.template text<Field::pid>());
  }
  return row;
}

template <DocumentNode Node>
RowRef decode_job(const Node& node, const Path* at = nullptr) {
  const Members<Node, Field::id, Field::state, Field::payload, Field::tags, Field::version, Field::claimed_by, Field::lease_until,
                Field::deadline, Field::result, Field::created_at, Field::awaits>
      members(node, at);
  auto promise = make_shared_value<PromiseSpec>();
  promise->id = members.template text<Field::id>();
  promise->param = members.template value<Field::payload>();
  promise->tags = members.template string_map<Field::tags>();
  promise->timeout_at = members.template optional_integer<Field::deadline>().value_or(kNever);
  // A server of an earlier release does not say it.
  promise->created_at = members.template optional_integer<Field::created_at>().value_or(kUnset);

  const detail::DescribedReader<Node, Audience::replies> reader;
  Shared<JobSpec> spec(new JobSpec);
  reader.read(*spec, node, at);
  Shared<Job> job(new Job);
  reader.read(*job, node, at);
  job->spec = std::move(spec);
  const std::string state = members.template text<Field::state>();
  const std::optional<JobState> known = job_state_named(state);
  if (!known) refuse_type(members.template need<Field::state>(), members.path(Field::state), names_of(Of<JobState>{}));
  job->state = *known;
  if (const Node* awaits = members.template find_given<Field::awaits>()) {
    const Path path = members.path(Field::awaits);
    const Members<Node, Field::ids, Field::count> lacks(*awaits, &path);
    lacks.template each<Field::ids>([&](const Node& id, const Path& place) { job->awaits.emplace_back(read_text(id, place)); });
    job->more_awaits = saturating_sub(lacks.template integer<Field::count>(), static_cast<std::int64_t>(job->awaits.size()));
  }

  auto row = make_shared_value<Row>();
  row->promise_spec = std::move(promise);
  row->acquisitions = members.template integer<Field::version>();
  if (is_held(job->state)) {
    row->pid = detail::shared_text(members.template text<Field::claimed_by>());
    row->expires_at = members.template integer<Field::lease_until>();
  }
  if (is_terminal(job->state)) {
    if (Value result = members.template value<Field::result>(); !result.empty())
      row->value = make_shared_value<SharedValue>(std::move(result));
  }
  row->job = std::move(job);
  return row;
}

template <DocumentNode Node>
ScheduleRef decode_schedule(const Node& node, const Path* at = nullptr) {
  const detail::ScheduleMembers<Node> members(node, at);
  auto schedule = make_shared_value<Schedule>();
  detail::read_schedule_members(members, *schedule);
  if (const Node* job = members.template find_given<Field::job>())
    schedule->job = detail::read_template(*job, members.path(Field::job));
  return schedule;
}

// A message as on the wire; its head is ignored. An unblock contains its promise, which becomes `promise`; without a promise the id
// of the message stays empty.
template <DocumentNode Node>
void decode_message(const Node& node, const Path& at, OutboxMessage& message, RowRef& promise) {
  const Members<Node, Field::kind, Field::data> members(node, &at);
  if (!set_kind(message, members.template text<Field::kind>()))
    refuse_type(members.template need<Field::kind>(), members.path(Field::kind), "the kind of a message");
  const Path at_data = members.path(Field::data);
  const Members<Node, Field::task, Field::promise> data(members.template need<Field::data>(), &at_data);
  if (message.kind == MessageKind::unblock) {
    const Node* settled = data.template find<Field::promise>();
    if (!settled) return;
    const Path at_promise = data.path(Field::promise);
    promise = decode_promise(*settled, &at_promise);
    message.id = promise->id();
    return;
  }
  const Path at_task = data.path(Field::task);
  const Members<Node, Field::id, Field::version> task(data.template need<Field::task>(), &at_task);
  message.id = task.template text<Field::id>();
  message.version = task.template integer<Field::version>();
}

}  // namespace resonate
