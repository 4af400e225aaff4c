// The kinds of requests, and their names in each dialect (PROTOCOL 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "resonate/requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

// Identifier, name in 2026-04-01, name in 2025-01-15 (empty if it has no such kind). The first ones are the alternatives of
// Operation, in their order.
// clang-format off
#define RESONATE_KINDS(X) \
  X(promise_get, "promise.get", "promise.get") \
  X(promise_create, "promise.create", "promise.create") \
  X(promise_settle, "promise.settle", "promise.settle") \
  X(register_callback, "promise.register_callback", "promise.register") \
  X(register_listener, "promise.register_listener", "promise.subscribe") \
  X(promise_search, "promise.search", "") \
  X(task_get, "task.get", "task.get") \
  X(task_create, "task.create", "task.create") \
  X(task_acquire, "task.acquire", "task.acquire") \
  X(task_release, "task.release", "task.release") \
  X(task_suspend, "task.suspend", "task.suspend") \
  X(task_fulfill, "task.fulfill", "task.fulfill") \
  X(task_fence, "task.fence", "task.fence") \
  X(task_heartbeat, "task.heartbeat", "task.heartbeat") \
  X(task_halt, "task.halt", "") \
  X(task_continue, "task.continue", "") \
  X(task_search, "task.search", "") \
  X(schedule_get, "schedule.get", "schedule.get") \
  X(schedule_create, "schedule.create", "schedule.create") \
  X(schedule_delete, "schedule.delete", "schedule.delete") \
  X(schedule_search, "schedule.search", "") \
  X(schedule_pause, "schedule.pause", "schedule.pause") \
  X(schedule_resume, "schedule.resume", "schedule.resume") \
  X(job_enqueue, "job.enqueue", "job.enqueue") \
  X(job_enqueue_many, "job.enqueue_many", "job.enqueue_many") \
  X(job_get, "job.get", "job.get") \
  X(job_claim, "job.claim", "job.claim") \
  X(job_start, "job.start", "job.start") \
  X(job_start_many, "job.start_many", "job.start_many") \
  X(job_heartbeat, "job.heartbeat", "job.heartbeat") \
  X(job_complete, "job.complete", "job.complete") \
  X(job_complete_many, "job.complete_many", "job.complete_many") \
  X(job_fail, "job.fail", "job.fail") \
  X(job_release, "job.release", "job.release") \
  X(job_snooze, "job.snooze", "job.snooze") \
  X(job_report, "job.report", "job.report") \
  X(job_suspend, "job.suspend", "job.suspend") \
  X(job_record, "job.record", "job.record") \
  X(job_receive, "job.receive", "job.receive") \
  X(job_send, "job.send", "job.send") \
  X(job_history, "job.history", "job.history") \
  X(job_start_over, "job.start_over", "job.start_over") \
  X(job_fork, "job.fork", "job.fork") \
  X(job_cancel, "job.cancel", "job.cancel") \
  X(job_run, "job.run", "job.run") \
  X(job_archive, "job.archive", "job.archive") \
  X(job_delete, "job.delete", "job.delete") \
  X(job_search, "job.search", "job.search") \
  X(job_stats, "job.stats", "job.stats") \
  X(queue_set, "queue.set", "queue.set") \
  X(queue_get, "queue.get", "queue.get") \
  X(queue_pause, "queue.pause", "queue.pause") \
  X(queue_resume, "queue.resume", "queue.resume") \
  X(queue_list, "queue.list", "queue.list") \
  X(debug_start, "debug.start", "") \
  X(debug_stop, "debug.stop", "") \
  X(debug_reset, "debug.reset", "") \
  X(debug_tick, "debug.tick", "") \
  X(debug_snap, "debug.snap", "")
// clang-format on

enum class Kind : std::uint8_t {
#define RESONATE_KIND_ENUMERATOR(identifier, name, older_name) identifier,
  RESONATE_KINDS(RESONATE_KIND_ENUMERATOR)
#undef RESONATE_KIND_ENUMERATOR
};
inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::debug_snap) + 1;
static_assert(std::variant_size_v<Operation> == static_cast<std::size_t>(Kind::debug_start));

constexpr Kind kind_of(const Operation& operation) noexcept { return static_cast<Kind>(operation.index()); }
namespace detail {
template <class Request, class... Requests>
constexpr Kind kind_in(const std::variant<Requests...>*) noexcept {
  std::size_t place = 0;
  (void)((std::is_same_v<Request, Requests> || (++place, false)) || ...);
  return static_cast<Kind>(place);
}
}  // namespace detail
template <class Request>
inline constexpr Kind kKindOf = detail::kind_in<Request>(static_cast<const Operation*>(nullptr));

constexpr bool is_job(Kind kind) noexcept { return kind >= Kind::job_enqueue && kind <= Kind::queue_list; }
constexpr bool is_debug(Kind kind) noexcept { return kind >= Kind::debug_start; }

// Empty if the dialect has no such kind.
std::string_view name_of(Kind kind, DialectId dialect) noexcept;
std::optional<Kind> kind_named(std::string_view name, DialectId dialect) noexcept;
std::optional<DialectId> dialect_named(std::string_view version) noexcept;

}  // namespace resonate
