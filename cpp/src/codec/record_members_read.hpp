// The members that a record has both in replies and in snapshots.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "codec/reader.hpp"
#include "resonate/records.hpp"

namespace resonate::detail {

template <class MembersOfPromise>
void read_promise_spec(const MembersOfPromise& members, PromiseSpec& spec) {
  spec.id = members.template text<Field::id>();
  spec.param = members.template value<Field::param>();
  spec.tags = members.template string_map<Field::tags>();
  spec.timeout_at = members.template integer<Field::timeout_at>();
  spec.created_at = members.template integer<Field::created_at>();
}

template <class MembersOfPromise>
PromiseState read_promise_state(const MembersOfPromise& members) {
  const std::optional<PromiseState> known = promise_state_named(members.template text<Field::state>());
  if (!known) refuse_type(members.template need<Field::state>(), members.path(Field::state), "the name of a promise's state");
  return *known;
}

template <class MembersOfTask>
TaskState read_task_state(const MembersOfTask& members) {
  const std::optional<TaskState> known = task_state_named(members.template text<Field::state>());
  if (!known) refuse_type(members.template need<Field::state>(), members.path(Field::state), "the name of a task's state");
  return *known;
}

template <DocumentNode Node>
using ScheduleMembers = Members<Node, Field::id, Field::cron, Field::promise_id, Field::promise_timeout, Field::promise_param,
                                Field::promise_tags, Field::job, Field::created_at, Field::next_run_at, Field::last_run_at,
                                Field::problem, Field::retry_at, Field::paused, Field::dialect>;

// All but `job` and `dialect`.
template <DocumentNode Node>
void read_schedule_members(const ScheduleMembers<Node>& members, Schedule& schedule) {
  schedule.id = members.template text<Field::id>();
  schedule.cron = members.template text<Field::cron>();
  schedule.promise_id = members.template text<Field::promise_id>();
  schedule.promise_timeout = members.template integer<Field::promise_timeout>();
  schedule.promise_param = members.template value<Field::promise_param>();
  schedule.promise_tags = members.template string_map<Field::promise_tags>();
  schedule.created_at = members.template integer<Field::created_at>();
  schedule.next_run_at = members.template integer<Field::next_run_at>();
  schedule.last_run_at = members.template optional_integer<Field::last_run_at>();
  if (auto problem = members.template optional_text<Field::problem>()) {
    auto set_aside = make_shared_value<SetAside>();
    set_aside->problem = *std::move(problem);
    set_aside->retry_at = members.template integer<Field::retry_at>();
    schedule.set_aside = std::move(set_aside);
  }
  schedule.paused = members.template is_set<Field::paused>();
}

}  // namespace resonate::detail
