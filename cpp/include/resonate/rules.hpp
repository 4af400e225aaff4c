// The differences between dialects (PROTOCOL 2) and rule sets (PROTOCOL 2.1) as data: the machine reads these members and never
// compares names.
#pragma once

#include <cstdint>
#include <string_view>

namespace resonate {

enum class DialectId : std::uint8_t { k2026_04_01, k2025_01_15 };

enum class ExistingTask : std::uint8_t { acquire, answer_promise };  // task.create on an id that exists

struct Dialect {
  DialectId id;
  std::string_view version;
  bool everything_external;       // every promise can be awaited, and its timeout is armed
  bool invoke_tag_is_target;      // `resonate:invoke` replaces a missing `resonate:target`
  bool version_counts_completed;  // an acquired or suspended task shows n - 1
  bool task_needs_target;         // task.create without a target is refused
  ExistingTask existing_task;
  bool acquire_clears_resumes;     // otherwise it removes `current` alone
  bool suspend_pops_resumes;       // rows 31-33 of the transition table
  bool missing_everywhere_is_404;  // a heartbeat in which all tasks are missing (row 46)
  bool unprocessable_is_invalid;   // 422 is answered as 400
  bool missing_awaiter_is_404;     // register by an awaiter that does not exist
  bool awaiter_needs_target;       // register by an awaiter without a target is refused
  bool preloads;
  bool messages_name_server;  // an execute names the server
  bool follows_rule_set;      // otherwise its requests follow kStrictElsewhere in a strict store (PROTOCOL 2.1)
};

inline constexpr Dialect kDialects[] = {
    {.id = DialectId::k2026_04_01,
     .version = "2026-04-01",
     .everything_external = false,
     .invoke_tag_is_target = false,
     .version_counts_completed = false,
     .task_needs_target = true,
     .existing_task = ExistingTask::acquire,
     .acquire_clears_resumes = true,
     .suspend_pops_resumes = false,
     .missing_everywhere_is_404 = false,
     .unprocessable_is_invalid = false,
     .missing_awaiter_is_404 = false,
     .awaiter_needs_target = true,
     .preloads = true,
     .messages_name_server = true,
     .follows_rule_set = true},
    {.id = DialectId::k2025_01_15,
     .version = "2025-01-15",
     .everything_external = true,
     .invoke_tag_is_target = true,
     .version_counts_completed = true,
     .task_needs_target = false,
     .existing_task = ExistingTask::answer_promise,
     .acquire_clears_resumes = false,
     .suspend_pops_resumes = true,
     .missing_everywhere_is_404 = true,
     .unprocessable_is_invalid = true,
     .missing_awaiter_is_404 = true,
     .awaiter_needs_target = false,
     .preloads = false,
     .messages_name_server = false,
     .follows_rule_set = false},
};

constexpr const Dialect& dialect(DialectId id) noexcept { return kDialects[static_cast<std::size_t>(id)]; }

enum class RulesId : std::uint8_t { compatible, strict };

struct Rules {
  RulesId id;
  std::string_view name;
  bool internal_may_be_awaited;  // a callback or listener turns an internal promise external; else 422
  bool timer_may_have_target;
  bool empty_heartbeat_renews_all;
  bool suspend_merges_duplicates;
  bool any_listener_scheme;
  int task_create_without_task_status;           // task.create if the promise has neither a task nor a target
  int task_create_without_targeted_task_status;  // the same if it has a target
  bool fenced_refusal_is_outer;                  // an action that violates its own rules: outer 400, otherwise 400 inside the 200
  bool occurrence_gets_lineage_tags;
};

inline constexpr Rules kRules[] = {
    {.id = RulesId::compatible,
     .name = "compatible",
     .internal_may_be_awaited = true,
     .timer_may_have_target = true,
     .empty_heartbeat_renews_all = true,
     .suspend_merges_duplicates = true,
     .any_listener_scheme = true,
     .task_create_without_task_status = 422,
     .task_create_without_targeted_task_status = 422,
     .fenced_refusal_is_outer = true,
     .occurrence_gets_lineage_tags = true},
    {.id = RulesId::strict,
     .name = "strict",
     .internal_may_be_awaited = false,
     .timer_may_have_target = false,
     .empty_heartbeat_renews_all = false,
     .suspend_merges_duplicates = false,
     .any_listener_scheme = false,
     .task_create_without_task_status = 422,
     .task_create_without_targeted_task_status = 409,
     .fenced_refusal_is_outer = false,
     .occurrence_gets_lineage_tags = false},
};

constexpr const Rules& rules(RulesId id) noexcept { return kRules[static_cast<std::size_t>(id)]; }

// The strict rules for a dialect that the formal model does not describe: the compatible ones, except two that its own text
// refuses, too.
inline constexpr Rules kStrictElsewhere = [] {
  Rules its = rules(RulesId::compatible);
  its.id = RulesId::strict;
  its.name = rules(RulesId::strict).name;
  its.empty_heartbeat_renews_all = false;
  its.occurrence_gets_lineage_tags = false;
  return its;
}();

// The rules for requests of a dialect, and for what they stored, in a store with the rule set `id`.
constexpr const Rules& rules(RulesId id, const Dialect& its) noexcept {
  return id == RulesId::strict && !its.follows_rule_set ? kStrictElsewhere : rules(id);
}

}  // namespace resonate
