// The member names of everything that travels, each once and under a number, so that a decoder looks it up in a table and a sink
// can keep one prepared key for each.
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
  X(task, "task") X(tasks, "tasks") X(pid, "pid") X(ttl, "ttl") X(resumes, "resumes") X(preload, "preload") X(preload_cut, "preloadCut")              \
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
  /* jobs and queues */                                                                                                  \
  X(job, "job") X(jobs, "jobs") X(queue, "queue") X(queues, "queues") X(payload, "payload") X(priority, "priority")      \
  X(process_at, "processAt") X(process_in, "processIn") X(good_until, "goodUntil") X(deadline, "deadline")               \
  X(retention, "retention") X(max_retries, "maxRetries") X(retry_policy, "retryPolicy") X(on_exhausted, "onExhausted")   \
  X(lifecycle, "lifecycle") X(unique_key, "uniqueKey") X(unique_for, "uniqueFor") X(sent_at, "sentAt")                   \
  X(intervals, "intervals") X(base, "base") X(factor, "factor") X(cap, "cap") X(jitter, "jitter") X(codes, "codes")      \
  X(count, "count") X(worker, "worker") X(lease, "lease") X(run_lease, "runLease") X(strict, "strict") X(name, "name")   \
  X(weight, "weight") X(next_at, "nextAt") X(cancelled, "cancelled") X(lost, "lost") X(result, "result")                 \
  X(error, "error") X(code, "code") X(retryable, "retryable") X(retry_after, "retryAfter") X(delay, "delay")             \
  X(more, "more") X(concurrency, "concurrency") X(rate, "rate") X(per, "per") X(burst, "burst")                          \
  X(defaults, "defaults") X(paused, "paused") X(active, "active") X(counts, "counts") X(latency, "latency")              \
  X(oldest_pending_at, "oldestPendingAt") X(days, "days") X(day, "day") X(processed, "processed") X(failed, "failed")    \
  X(claimed_by, "claimedBy") X(lease_until, "leaseUntil") X(retry_count, "retryCount") X(number, "number")               \
  X(enqueued_at, "enqueuedAt") X(claimed_at, "claimedAt") X(started_at, "startedAt") X(finished_at, "finishedAt")        \
  X(outcome, "outcome") X(completed_at, "completedAt") X(failed_at, "failedAt") X(next_retry_at, "nextRetryAt")          \
  X(cancelled_at, "cancelledAt") X(expired_at, "expiredAt") X(one_step, "oneStep") X(adopted, "adopted")                 \
  X(attempt_count, "attemptCount") X(awaiters, "awaiters") X(reclaim_at, "reclaimAt") X(deleted, "deleted")              \
  X(generated_jobs, "generatedJobs") X(level, "level") X(refilled_at, "refilledAt") X(group, "group") X(batch, "batch")  \
  X(gathering, "gathering") X(flight, "flight") X(first_at, "firstAt") X(last_at, "lastAt") X(groups, "groups")          \
  X(size, "size") X(grace, "grace") X(max_delay, "maxDelay") X(good_for, "goodFor") X(start, "start")                    \
  X(cancel_with_awaiters, "cancelWithAwaiters") X(hour, "hour") X(hours, "hours") X(enqueued, "enqueued")                \
  X(started, "started") X(completed, "completed") X(retried, "retried") X(archived, "archived") X(crashed, "crashed")    \
  X(expired, "expired") X(run_time, "runTime") X(report, "report") X(progress, "progress") X(lines, "lines")             \
  X(after, "after") X(after_failed, "afterFailed") X(awaits, "awaits") X(until, "until") X(ids, "ids")                   \
  X(atomic, "atomic") X(kept_by, "keptBy") X(keepers, "keepers") X(kept_callbacks, "keptCallbacks") X(drained_through, "drainedThrough") X(first_enqueued_at, "firstEnqueuedAt")                                     \
  X(steps, "steps") X(step, "step") X(timeout_in, "timeoutIn") X(topic, "topic") X(key, "key") X(parent, "parent")        \
  X(from_step, "from") X(new_id, "newId") X(archive, "archive") X(args, "args") X(restarts, "restarts")                  \
  X(workflow, "workflow") X(watched, "watched") X(child, "child") X(unread, "unread") X(made, "made") X(sent, "sent")                                                  \
  X(attempt, "attempt") X(text, "text") X(claims, "claims")                                                                                \
  /* traces */                                                                                                           \
  X(req, "req") X(res, "res") X(at, "at") X(created, "created") X(keys, "keys") X(options, "options") X(rules, "rules")  \
  X(retry_timeout, "retry_timeout") X(catchup, "catchup") X(unblock_retention, "unblock_retention")                      \
  X(snapshot, "snapshot") X(step_promise_id, "promise_id") X(scope, "scope") X(problem, "problem")
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

namespace detail {
inline constexpr const char* kFieldIdentifiers[] = {
#define RESONATE_FIELD_IDENTIFIER(identifier, name) #identifier,
    RESONATE_FIELDS(RESONATE_FIELD_IDENTIFIER)
#undef RESONATE_FIELD_IDENTIFIER
};
}  // namespace detail

// What C++ and Python call it.
constexpr const char* identifier_of(Field field) noexcept { return detail::kFieldIdentifiers[static_cast<std::size_t>(field)]; }

constexpr std::string_view name_of(Field field) noexcept { return detail::kFieldNames[static_cast<std::size_t>(field)]; }

// The field of a member name; empty for names that no decoder asks for.
std::optional<Field> field_named(std::string_view name) noexcept;

}  // namespace resonate
