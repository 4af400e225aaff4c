// The kinds of requests, and what each dialect calls them (PROTOCOL 2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "resonate/requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

// The first ones are the alternatives of Operation, in their order.
enum class Kind : std::uint8_t {
  promise_get,
  promise_create,
  promise_settle,
  register_callback,
  register_listener,
  promise_search,
  task_get,
  task_create,
  task_acquire,
  task_release,
  task_suspend,
  task_fulfill,
  task_fence,
  task_heartbeat,
  task_halt,
  task_continue,
  task_search,
  schedule_get,
  schedule_create,
  schedule_delete,
  schedule_search,
  job_enqueue,
  job_enqueue_many,
  job_get,
  job_claim,
  job_start,
  job_start_many,
  job_heartbeat,
  job_complete,
  job_complete_many,
  job_fail,
  job_release,
  job_snooze,
  job_cancel,
  job_run,
  job_archive,
  job_delete,
  job_search,
  job_stats,
  queue_set,
  queue_get,
  queue_pause,
  queue_resume,
  queue_list,
  debug_start,
  debug_stop,
  debug_reset,
  debug_tick,
  debug_snap
};
inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::debug_snap) + 1;
static_assert(std::variant_size_v<Operation> == static_cast<std::size_t>(Kind::debug_start));

constexpr Kind kind_of(const Operation& operation) noexcept { return static_cast<Kind>(operation.index()); }
constexpr bool is_job(Kind kind) noexcept { return kind >= Kind::job_enqueue && kind <= Kind::queue_list; }
constexpr bool is_debug(Kind kind) noexcept { return kind >= Kind::debug_start; }

// What a dialect calls its own kinds, in their order; those of jobs and queues are the same in all.
inline constexpr std::size_t kJobKinds =
    static_cast<std::size_t>(Kind::queue_list) - static_cast<std::size_t>(Kind::job_enqueue) + 1;
using KindNames = std::array<std::string_view, kKindCount - kJobKinds>;

// Empty where the dialect has no such kind.
std::string_view name_of(Kind kind, DialectId dialect) noexcept;
std::optional<Kind> kind_named(std::string_view name, DialectId dialect) noexcept;
std::optional<DialectId> dialect_named(std::string_view version) noexcept;

}  // namespace resonate
