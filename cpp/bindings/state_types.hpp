// The types of states in signatures, and the names in them at run time: PromiseState, TaskState, JobState.
#pragma once

#include <cstddef>
#include <string_view>

#include "gil.hpp"
#include "shown.hpp"

namespace resonate::python {

using PromiseStateName = Shown<"resonate_core._core.PromiseState">;
using PromiseStateNames = Shown<"builtins.list[resonate_core._core.PromiseState]">;
using TaskStateName = Shown<"resonate_core._core.TaskState">;
using JobStateName = Shown<"resonate_core._core.JobState">;
using OptionalPromiseState = Shown<"resonate_core._core.PromiseState | None">;
using OptionalTaskState = Shown<"resonate_core._core.TaskState | None">;
using OptionalJobState = Shown<"resonate_core._core.JobState | None">;
using SettledState = Shown<"typing.Literal['resolved', 'rejected', 'rejected_canceled']">;

// typing.Literal["pending", ...] of the states from `first` on.
template <class State>
py::object states_literal(State first, State last) {
  py::list names;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i)
    names.append(py::str(name_of(static_cast<State>(i))));
  return member_of_module("typing", "Literal")[py::tuple(names)];
}

}  // namespace resonate::python
