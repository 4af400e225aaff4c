// Arguments of the calls on jobs and queues to the requests of the core.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "resonate/job_requests.hpp"

namespace resonate::python {

using PolicyArgument = Shown<"collections.abc.Mapping[str, typing.Any] | None">;
using MembersArgument = Shown<"collections.abc.Mapping[str, typing.Any] | None">;
using RetentionArgument = Shown<"int | datetime.timedelta | typing.Literal['kept'] | None">;

// The optional arguments of a job. None: the queue's default, then the lifecycle's.
struct OrderArguments {
  const OptionalStr& queue;
  const StringMapping& tags;
  const OptionalInt& priority;
  const OptionalInt& process_at;
  const OptionalDuration& process_in;
  const OptionalInt& good_until;
  const OptionalDuration& good_for;
  const OptionalDuration& timeout;
  const OptionalInt& deadline;
  const RetentionArgument& retention;
  const OptionalInt& max_retries;
  const PolicyArgument& retry_policy;
  const OptionalStr& on_exhausted;
  const OptionalStr& lifecycle;
  const OptionalStr& unique_key;
  const OptionalDuration& unique_for;
  const OptionalStr& group;
  const OptionalInt& sent_at;
};
// Without id and payload.
JobOrder job_order(const Str& type, const OrderArguments& given);

std::optional<Duration> optional_duration(py::handle given, const char* argument);
RetryPolicy retry_policy_of(py::handle given, const char* argument);
GroupLimits groups_of(py::handle given, const char* argument);
// The job of a schedule, or none; a dict as the wire has it.
std::vector<JobOrder> template_of(py::handle given, const char* argument);
RateLimit rate_of(py::handle given, const char* argument);
JobDefaults defaults_of(py::handle given, const char* argument);

// A name, names, or weights by name.
std::vector<QueueChoice> queue_choices(py::handle given, const char* argument);

}  // namespace resonate::python
