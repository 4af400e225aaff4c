// The task lifecycle as a table (PROTOCOL 3 and 4): for each event and state, the next state. For a pair that is not listed a
// request is refused and an internal step has no effect.
#pragma once

#include <array>
#include <optional>

#include "resonate/records.hpp"

namespace resonate {

enum class TaskEvent : std::uint8_t {
  enqueue,  // promise.create with a target
  create,   // task.create of a new promise
  acquire,
  release,
  suspend,
  redirect,  // suspend that continues at once (300)
  fulfill,
  heartbeat,
  fence,
  halt,
  resume_halted,  // task.continue
  resume,         // an awaited promise was settled
  buffer_resume,  // the same, for a task that is not suspended
  expire_lease,
  dispatch,
  settle,  // the promise was settled by a client or by its deadline
};

struct TaskTransition {
  TaskEvent event;
  TaskState from;
  TaskState to;
  bool internal;  // an internal step; settle is both
};

inline constexpr std::array kTaskTransitions = {
    TaskTransition{TaskEvent::enqueue, TaskState::none, TaskState::pending, false},
    TaskTransition{TaskEvent::create, TaskState::none, TaskState::acquired, false},
    TaskTransition{TaskEvent::acquire, TaskState::pending, TaskState::acquired, false},
    TaskTransition{TaskEvent::release, TaskState::acquired, TaskState::pending, false},
    TaskTransition{TaskEvent::suspend, TaskState::acquired, TaskState::suspended, false},
    TaskTransition{TaskEvent::redirect, TaskState::acquired, TaskState::acquired, false},
    TaskTransition{TaskEvent::fulfill, TaskState::acquired, TaskState::fulfilled, false},
    TaskTransition{TaskEvent::heartbeat, TaskState::acquired, TaskState::acquired, false},
    TaskTransition{TaskEvent::fence, TaskState::acquired, TaskState::acquired, false},
    TaskTransition{TaskEvent::halt, TaskState::pending, TaskState::halted, false},
    TaskTransition{TaskEvent::halt, TaskState::acquired, TaskState::halted, false},
    TaskTransition{TaskEvent::halt, TaskState::suspended, TaskState::halted, false},
    TaskTransition{TaskEvent::halt, TaskState::halted, TaskState::halted, false},
    TaskTransition{TaskEvent::resume_halted, TaskState::halted, TaskState::pending, false},
    TaskTransition{TaskEvent::resume, TaskState::suspended, TaskState::pending, true},
    TaskTransition{TaskEvent::buffer_resume, TaskState::pending, TaskState::pending, true},
    TaskTransition{TaskEvent::buffer_resume, TaskState::acquired, TaskState::acquired, true},
    TaskTransition{TaskEvent::buffer_resume, TaskState::halted, TaskState::halted, true},
    TaskTransition{TaskEvent::expire_lease, TaskState::acquired, TaskState::pending, true},
    TaskTransition{TaskEvent::dispatch, TaskState::pending, TaskState::pending, true},
    TaskTransition{TaskEvent::settle, TaskState::pending, TaskState::fulfilled, true},
    TaskTransition{TaskEvent::settle, TaskState::acquired, TaskState::fulfilled, true},
    TaskTransition{TaskEvent::settle, TaskState::suspended, TaskState::fulfilled, true},
    TaskTransition{TaskEvent::settle, TaskState::halted, TaskState::fulfilled, true},
};

// Returns the state that the event leads to, or none if it does not apply.
constexpr std::optional<TaskState> next_state(TaskEvent event, TaskState from) noexcept {
  for (const TaskTransition& row : kTaskTransitions)
    if (row.event == event && row.from == from) return row.to;
  return std::nullopt;
}

// Returns whether any event can lead from one state to the other: requests and internal steps, or internal steps alone.
constexpr bool edge_allowed(TaskState from, TaskState to, bool internal_only) noexcept {
  if (from == to) return true;
  for (const TaskTransition& row : kTaskTransitions)
    if (row.from == from && row.to == to && (row.internal || !internal_only)) return true;
  return false;
}

static_assert(!next_state(TaskEvent::acquire, TaskState::suspended));
static_assert(!edge_allowed(TaskState::fulfilled, TaskState::pending, false));
static_assert(edge_allowed(TaskState::halted, TaskState::fulfilled, true));

}  // namespace resonate
