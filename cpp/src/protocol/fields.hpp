// The member names of envelopes, records and snapshots, each under a number, so that a decoder switches on it and a sink can keep
// one prepared key for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace resonate {

// Identifier, name on the wire.
// The formatter never comes to rest on this list.
// clang-format off
#define RESONATE_FIELDS(X)                                                                                               \
  /* envelopes */                                                                                                        \
  X(kind, "kind") X(head, "head") X(data, "data") X(corr_id, "corrId") X(version, "version") X(status, "status")         \
  X(auth, "auth") X(debug_time, "resonate:debug_time")                                                                   \
  /* promises */                                                                                                         \
  X(id, "id") X(state, "state") X(param, "param") X(value, "value") X(tags, "tags") X(headers, "headers")                \
  X(timeout_at, "timeoutAt") X(created_at, "createdAt") X(settled_at, "settledAt") X(ikc, "ikc") X(iku, "iku")           \
  X(promise, "promise") X(promises, "promises") X(awaited, "awaited") X(awaiter, "awaiter") X(address, "address")        \
  /* tasks */                                                                                                            \
  X(task, "task") X(tasks, "tasks") X(pid, "pid") X(ttl, "ttl") X(resumes, "resumes") X(preload, "preload")              \
  X(action, "action") X(actions, "actions") X(invoked, "invoked") X(target, "target")                                    \
  /* schedules */                                                                                                        \
  X(schedule, "schedule") X(schedules, "schedules") X(cron, "cron") X(promise_id, "promiseId")                           \
  X(promise_timeout, "promiseTimeout") X(promise_param, "promiseParam") X(promise_tags, "promiseTags")                   \
  X(next_run_at, "nextRunAt") X(last_run_at, "lastRunAt")                                                                \
  /* searches and debug.tick */                                                                                          \
  X(limit, "limit") X(cursor, "cursor") X(time, "time")                                                                  \
  /* snapshots */                                                                                                        \
  X(format, "format") X(now, "now") X(dropped, "dropped") X(messages, "messages") X(dialect, "dialect")                  \
  X(external, "external") X(callbacks, "callbacks") X(listeners, "listeners") X(acquisitions, "acquisitions")            \
  X(expires_at, "expiresAt") X(last_ttl, "lastTtl") X(retry_at, "retryAt") X(current, "current") X(attempts, "attempts") \
  X(queued_at, "queuedAt") X(promise_timeouts, "promiseTimeouts") X(task_timeouts, "taskTimeouts") X(timeout, "timeout") \
  X(type, "type") X(message, "message") X(server_url, "serverUrl")                                                                                  \
  /* traces */                                                                                                           \
  X(req, "req") X(res, "res") X(at, "at") X(created, "created") X(keys, "keys") X(options, "options") X(rules, "rules")  \
  X(retry_timeout, "retry_timeout") X(catchup, "catchup") X(unblock_retention, "unblock_retention")                      \
  X(snapshot, "snapshot") X(step_promise_id, "promise_id") X(scope, "scope")
// clang-format on

enum class Field : std::uint8_t {
#define RESONATE_FIELD_ENUMERATOR(identifier, name) identifier,
  RESONATE_FIELDS(RESONATE_FIELD_ENUMERATOR)
#undef RESONATE_FIELD_ENUMERATOR
};

namespace detail {
inline constexpr std::string_view kFieldNames[] = {
#define RESONATE_FIELD_NAME(identifier, name) name,
    RESONATE_FIELDS(RESONATE_FIELD_NAME)
#undef RESONATE_FIELD_NAME
};
}  // namespace detail

inline constexpr std::size_t kFieldCount = sizeof(detail::kFieldNames) / sizeof(detail::kFieldNames[0]);

constexpr std::string_view name_of(Field field) noexcept { return detail::kFieldNames[static_cast<std::size_t>(field)]; }

// The field of a member name; empty for names that no decoder asks for.
std::optional<Field> field_named(std::string_view name) noexcept;

}  // namespace resonate
