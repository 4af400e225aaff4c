#include "job_arguments.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "codec/jobs_decode_order.hpp"
#include "gil.hpp"
#include "python_node.hpp"

namespace resonate::python {

namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kPolicy[] = {"kind", "intervals", "base", "factor", "cap", "jitter", "codes"};
constexpr std::string_view kRate[] = {"limit", "per", "burst"};
constexpr std::string_view kGroups[] = {"size", "grace", "maxDelay"};
constexpr std::string_view kDefaults[] = {"maxRetries", "retryPolicy", "onExhausted", "retention", "timeout", "priority"};
constexpr std::string_view kOrder[] = {"id",        "queue",      "type",        "payload",     "tags",      "deadline",
                                       "priority",  "processAt",  "processIn",   "goodUntil",   "goodFor",   "timeout",
                                       "retention", "maxRetries", "retryPolicy", "onExhausted", "lifecycle", "uniqueKey",
                                       "uniqueFor", "group",      "sentAt"};

// What is misspelt on the wire is ignored, as newer members are; what a program of this version passes is not.
void require_known(const py::dict& members, const std::string& argument, Names known) {
  for (const auto& item : members) {
    const std::string_view name = text(item.first, "name of a member");
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string names;
    for (const std::string_view one : known) names += (names.empty() ? "" : ", ") + std::string(one);
    raise(ErrorClass::invalid, argument + " has no member '" + std::string(name) + "'; there are " + names);
  }
  if (const char* const policy = "retryPolicy"; members.contains(policy) && PyDict_Check(members[policy].ptr()))
    require_known(members[policy], argument + "." + policy, kPolicy);
}

// A dict as the wire has it, read by the decoder of the wire.
template <class Read>
auto members_of(py::handle given, const char* argument, Names known, Read read) {
  if (!py::hasattr(given, "keys")) wrong_type(argument, "a mapping", given);
  const py::dict copy = call(reinterpret_cast<PyObject*>(&PyDict_Type), given);  // of any mapping
  require_known(copy, argument, known);
  try {
    return read(PythonNode(copy.ptr()), Path(std::string_view(argument), nullptr));
  } catch (const Malformed& malformed) {
    raise(ErrorClass::invalid, malformed.message);
  }
}

std::optional<Duration> retention_of(const RetentionArgument& given) {
  if (given.is_none()) return std::nullopt;
  if (!PyUnicode_Check(given.ptr())) {
    const Duration retention = duration(given, "retention");
    if (retention < 0)
      raise(ErrorClass::invalid, "retention is " + std::to_string(retention) + " ms; it has to be 0 or more, or 'kept'");
    return retention;
  }
  if (const std::string_view word = text(given, "retention"); word != "kept")
    raise(ErrorClass::invalid, "retention is '" + std::string(word) + "'; it has to be a duration or 'kept'");
  return kKept;
}

}  // namespace

std::optional<Duration> optional_duration(py::handle given, const char* argument) {
  if (given.is_none()) return std::nullopt;
  return duration(given, argument);
}

RetryPolicy retry_policy_of(py::handle given, const char* argument) {
  return members_of(given, argument, kPolicy, [](const PythonNode& node, const Path& at) { return detail::read_policy(node, at); });
}

GroupLimits groups_of(py::handle given, const char* argument) {
  return members_of(given, argument, kGroups, [](const PythonNode& node, const Path& at) { return detail::read_groups(node, at); });
}

std::vector<JobOrder> template_of(py::handle given, const char* argument) {
  if (given.is_none()) return {};
  return {
      members_of(given, argument, kOrder, [](const PythonNode& node, const Path& at) { return detail::decode_order(node, at); })};
}

RateLimit rate_of(py::handle given, const char* argument) {
  return members_of(given, argument, kRate, [](const PythonNode& node, const Path& at) { return detail::read_rate(node, at); });
}

JobDefaults defaults_of(py::handle given, const char* argument) {
  return members_of(given, argument, kDefaults,
                    [](const PythonNode& node, const Path& at) { return detail::read_defaults(node, at); });
}

JobOrder job_order(const Str& type, const OrderArguments& given) {
  JobOrder order;
  order.type = std::string(text(type, "type"));
  if (!given.queue.is_none()) order.queue = std::string(text(given.queue, "queue"));
  order.tags = string_map(given.tags, "tags");
  order.priority = optional_integer(given.priority, "priority");
  order.process_at = optional_integer(given.process_at, "process_at");
  order.process_in = optional_duration(given.process_in, "process_in");
  order.good_until = optional_integer(given.good_until, "good_until");
  order.good_for = optional_duration(given.good_for, "good_for");
  order.timeout = optional_duration(given.timeout, "timeout");
  order.deadline = optional_integer(given.deadline, "deadline").value_or(kNever);
  order.retention = retention_of(given.retention);
  order.max_retries = optional_integer(given.max_retries, "max_retries");
  if (!given.retry_policy.is_none()) order.policy = retry_policy_of(given.retry_policy, "retry_policy");
  order.on_exhausted = optional_text(given.on_exhausted, "on_exhausted");
  order.lifecycle = optional_text(given.lifecycle, "lifecycle");
  order.unique_key = optional_text(given.unique_key, "unique_key");
  order.unique_for = optional_duration(given.unique_for, "unique_for");
  order.group = optional_text(given.group, "group");
  order.sent_at = optional_integer(given.sent_at, "sent_at");
  return order;
}

std::vector<QueueChoice> queue_choices(py::handle given, const char* argument) {
  std::vector<QueueChoice> choices;
  if (PyUnicode_Check(given.ptr())) {
    choices.push_back({std::string(text(given, argument)), {}});
  } else if (PyMapping_Check(given.ptr()) && py::hasattr(given, "items")) {
    for (py::handle item : list_of(call_method(given, "items"))) {
      const auto pair = py::reinterpret_borrow<py::sequence>(item);
      const py::object name = pair[0];
      const py::object weight = pair[1];
      choices.push_back({std::string(text(name, argument)), optional_integer(weight, argument)});
    }
  } else {
    for (std::string& name : texts(given, argument)) choices.push_back({std::move(name), {}});
  }
  return choices;
}

}  // namespace resonate::python
