// The `data` of each kind → its Operation (WIRE 2, and the members of 2025-01-15).
#pragma once

#include <string>
#include <utility>

#include "codec/jobs_decode_request.hpp"
#include "codec/kinds.hpp"
#include "codec/reader.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
std::string decode_id(const Node& data, const Path& at) {
  return Members<Node, Field::id>(data, &at).template text<Field::id>();
}

template <DocumentNode Node>
PromiseCreate decode_create(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::timeout_at, Field::param, Field::tags, Field::ikc> members(data, &at);
  return {.id = members.template text<Field::id>(),
          .timeout_at = members.template integer<Field::timeout_at>(),
          .param = members.template value<Field::param>(),
          .tags = members.template string_map<Field::tags>(),
          .ikc = members.template optional_text<Field::ikc>()};
}

template <DocumentNode Node>
PromiseSettle decode_settle(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::state, Field::value, Field::iku> members(data, &at);
  return {.id = members.template text<Field::id>(),
          .state = members.template text<Field::state>(),
          .value = members.template value<Field::value>(),
          .iku = members.template optional_text<Field::iku>()};
}

template <DocumentNode Node>
RegisterCallback decode_callback(const Node& data, const Path& at) {
  const Members<Node, Field::awaited, Field::awaiter> members(data, &at);
  return {.awaited = members.template text<Field::awaited>(), .awaiter = members.template text<Field::awaiter>()};
}

template <DocumentNode Node>
RegisterListener decode_listener(const Node& data, const Path& at) {
  const Members<Node, Field::awaited, Field::address> members(data, &at);
  return {.awaited = members.template text<Field::awaited>(), .address = members.template text<Field::address>()};
}

template <DocumentNode Node>
SearchQuery decode_search(Kind kind, const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::state, Field::target, Field::tags, Field::limit, Field::cursor> members(data, &at);
  SearchQuery query;
  query.filter.id = members.template optional_text<Field::id>();
  if (kind != Kind::schedule_search) query.filter.state = members.template optional_text<Field::state>();
  if (kind == Kind::task_search) query.filter.target = members.template optional_text<Field::target>();
  if (const Node* tags = members.template find_given<Field::tags>())
    query.filter.tags = read_string_map(*tags, members.path(Field::tags));
  query.limit = members.template optional_integer<Field::limit>();
  query.cursor = members.template optional_text<Field::cursor>().value_or("");
  return query;
}

// The request inside a request: {kind, data}; its head, if any, says nothing (the outer one governs).
template <DocumentNode Node>
class Action {
 public:
  Action(const Node& action, const Path& at, DialectId dialect) : members_(action, &at), dialect_(dialect) {}

  bool is(Kind kind) const {
    return read_text(members_.template need<Field::kind>(), members_.path(Field::kind)) == name_of(kind, dialect_);
  }
  void expect(Kind kind) const {
    if (!is(kind)) refuse(in_quotes(name_of(kind, dialect_)));
  }
  [[noreturn]] void refuse(const std::string& wanted) const {
    refuse_type(members_.template need<Field::kind>(), members_.path(Field::kind), wanted);
  }
  // decode(Node data, const Path&)
  template <class Decode>
  auto data(Decode decode) const {
    const Path path = members_.path(Field::data);
    return decode(members_.template need<Field::data>(), path);
  }

 private:
  Members<Node, Field::kind, Field::data> members_;
  DialectId dialect_;
};

template <DocumentNode Node>
TaskCreate decode_task_create(const Node& data, const Path& at, DialectId dialect) {
  const Members<Node, Field::pid, Field::ttl, Field::action> members(data, &at);
  const Path path = members.path(Field::action);
  TaskCreate create{.pid = members.template text<Field::pid>(), .ttl = members.template integer<Field::ttl>(), .action = {}};
  const Action<Node> action(members.template need<Field::action>(), path, dialect);
  action.expect(Kind::promise_create);
  create.action = action.data(decode_create<Node>);
  return create;
}

template <DocumentNode Node>
TaskAcquire decode_acquire(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::version, Field::pid, Field::ttl> members(data, &at);
  return {.id = members.template text<Field::id>(),
          .version = members.template integer<Field::version>(),
          .pid = members.template text<Field::pid>(),
          .ttl = members.template integer<Field::ttl>()};
}

// A task's id and the version that the caller holds.
template <class Task, DocumentNode Node>
Task decode_held(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::version> members(data, &at);
  Task task;
  task.id = members.template text<Field::id>();
  task.version = members.template integer<Field::version>();
  return task;
}

template <DocumentNode Node>
TaskSuspend decode_suspend(const Node& data, const Path& at, DialectId dialect) {
  auto suspend = decode_held<TaskSuspend>(data, at);
  Members<Node, Field::actions>(data, &at).template each<Field::actions>([&](const Node& element, const Path& path) {
    const Action<Node> action(element, path, dialect);
    action.expect(Kind::register_callback);
    suspend.actions.push_back(action.data(decode_callback<Node>));
  });
  return suspend;
}

template <DocumentNode Node>
TaskFulfill decode_fulfill(const Node& data, const Path& at, DialectId dialect) {
  auto fulfill = decode_held<TaskFulfill>(data, at);
  const Path path(Field::action, &at);
  const Members<Node, Field::action> members(data, &at);
  const Action<Node> action(members.template need<Field::action>(), path, dialect);
  action.expect(Kind::promise_settle);
  fulfill.action = action.data(decode_settle<Node>);
  return fulfill;
}

template <DocumentNode Node>
TaskFence decode_fence(const Node& data, const Path& at, DialectId dialect) {
  auto fence = decode_held<TaskFence>(data, at);
  const Path path(Field::action, &at);
  const Members<Node, Field::action> members(data, &at);
  const Action<Node> action(members.template need<Field::action>(), path, dialect);
  if (action.is(Kind::promise_create)) {
    fence.action = action.data(decode_create<Node>);
  } else if (action.is(Kind::promise_settle)) {
    fence.action = action.data(decode_settle<Node>);
  } else {
    action.refuse("\"promise.create\" or \"promise.settle\"");
  }
  return fence;
}

template <DocumentNode Node>
TaskHeartbeat decode_heartbeat(const Node& data, const Path& at) {
  const Members<Node, Field::pid, Field::tasks> members(data, &at);
  TaskHeartbeat heartbeat{.pid = members.template text<Field::pid>(), .tasks = {}};
  members.template each<Field::tasks>(
      [&](const Node& element, const Path& path) { heartbeat.tasks.push_back(decode_held<TaskRef>(element, path)); });
  return heartbeat;
}

template <DocumentNode Node>
ScheduleCreate decode_schedule(const Node& data, const Path& at) {
  const Members<Node, Field::id, Field::cron, Field::promise_id, Field::promise_timeout, Field::promise_param, Field::promise_tags,
                Field::job>
      members(data, &at);
  std::vector<JobOrder> job;
  if (const Node* order = members.template find_given<Field::job>()) job.push_back(decode_order(*order, members.path(Field::job)));
  return {.id = members.template text<Field::id>(),
          .cron = members.template text<Field::cron>(),
          .promise_id = members.template text<Field::promise_id>(),
          .promise_timeout = members.template integer<Field::promise_timeout>(),
          .promise_param = members.template value<Field::promise_param>(),
          .promise_tags = members.template string_map<Field::promise_tags>(),
          .job = std::move(job)};
}

}  // namespace detail

// Throws Malformed. `kind` is one of `dialect`'s, and no debug.*.
template <DocumentNode Node>
Operation decode_operation(Kind kind, DialectId dialect, const Node& data, const Path& at) {
  switch (kind) {
    case Kind::promise_get: return PromiseGet{detail::decode_id(data, at)};
    case Kind::promise_create: return detail::decode_create(data, at);
    case Kind::promise_settle: return detail::decode_settle(data, at);
    case Kind::register_callback: return detail::decode_callback(data, at);
    case Kind::register_listener: return detail::decode_listener(data, at);
    case Kind::promise_search: return PromiseSearch{detail::decode_search(kind, data, at)};
    case Kind::task_get: return TaskGet{detail::decode_id(data, at)};
    case Kind::task_create: return detail::decode_task_create(data, at, dialect);
    case Kind::task_acquire: return detail::decode_acquire(data, at);
    case Kind::task_release: return detail::decode_held<TaskRelease>(data, at);
    case Kind::task_suspend: return detail::decode_suspend(data, at, dialect);
    case Kind::task_fulfill: return detail::decode_fulfill(data, at, dialect);
    case Kind::task_fence: return detail::decode_fence(data, at, dialect);
    case Kind::task_heartbeat: return detail::decode_heartbeat(data, at);
    case Kind::task_halt: return TaskHalt{detail::decode_id(data, at)};
    case Kind::task_continue: return TaskContinue{detail::decode_id(data, at)};
    case Kind::task_search: return TaskSearch{detail::decode_search(kind, data, at)};
    case Kind::schedule_get: return ScheduleGet{detail::decode_id(data, at)};
    case Kind::schedule_create: return detail::decode_schedule(data, at);
    case Kind::schedule_delete: return ScheduleDelete{detail::decode_id(data, at)};
    case Kind::schedule_search: return ScheduleSearch{detail::decode_search(kind, data, at)};
    default: return detail::decode_job_operation(kind, data, at);
  }
}

}  // namespace resonate
