#include "machine/validate.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "machine/derive.hpp"
#include "machine/quoted.hpp"
#include "machine/refusals.hpp"
#include "machine/refuse_fields.hpp"
#include "machine/validate_jobs.hpp"
#include "resonate/cron.hpp"

namespace resonate {

namespace {

// Only the scheme of an address is checked: messages to an unknown scheme stay in the outbox until a program takes them.
bool has_scheme_and_rest(std::string_view address) {
  const std::size_t colon = address.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return letter(address[0]) && std::all_of(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(colon), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

bool strict_address(std::string_view address) {
  for (std::string_view scheme : {"http://", "https://"})
    if (address.starts_with(scheme)) return address.size() > scheme.size();
  constexpr std::string_view kPoll = "poll://";
  return address.starts_with(kPoll) && address.find('@', kPoll.size()) != std::string_view::npos;
}

Refusal refuse_target(const StringMap& tags, const Dialect& dialect) {
  const std::string* target = target_of(tags, dialect);
  if (!target) return std::nullopt;
  return refuse_text(tags.find("resonate:target") ? "tag resonate:target" : "tag resonate:invoke", *target);
}

Refusal refuse_timer_target(const StringMap& tags, const Dialect& dialect, const Rules& rules) {
  if (rules.timer_may_have_target || !tags.equals("resonate:timer", "true") || !target_of(tags, dialect)) return std::nullopt;
  return "a timer must not have a target under the strict rules, got " + quoted(*target_of(tags, dialect));
}

Refusal refuse_delay(const PromiseCreate& create, const Dialect& dialect) {
  const std::string* delay = create.tags.find("resonate:delay");
  if (!delay) return std::nullopt;
  std::int64_t at = 0;
  const char* end = delay->data() + delay->size();
  const auto [stop, problem] = std::from_chars(delay->data(), end, at);
  if (delay->empty() || delay->front() == '-' || problem != std::errc() || stop != end)
    return "tag resonate:delay must be a non-negative integer (ms), got " + quoted(*delay);
  if (at >= create.timeout_at)
    return "tag resonate:delay must be below timeoutAt " + std::to_string(create.timeout_at) + ", got " + *delay;
  if (!target_of(create.tags, dialect)) return "tag resonate:delay needs a resonate:target";
  return std::nullopt;
}

Refusal refuse_tags(const PromiseCreate& create, const Dialect& dialect, const Rules& rules) {
  if (create.tags.empty()) return std::nullopt;
  if (Refusal refused = refuse_target(create.tags, dialect)) return refused;
  if (Refusal refused = refuse_timer_target(create.tags, dialect, rules)) return refused;
  return refuse_delay(create, dialect);
}

// What a schedule makes. (Rules that a store was opened with later do not end what was created.)
Refusal refuse_occurrences(const std::string& promise_id, Duration promise_timeout, const StringMap& tags, const JobOrder* job,
                           const Dialect& dialect) {
  if (Refusal refused = first(refuse_text("promiseId", promise_id), refuse_below("promiseTimeout", promise_timeout, 0),
                              refuse_target(tags, dialect)))
    return refused;
  if (tags.find("resonate:delay")) return std::string("promiseTags must not hold resonate:delay");
  return job ? refuse_template(*job, tags, dialect) : std::nullopt;
}

// The rules of a request that are no limit of one member: those of its dialect and rules, and those between members.
struct Checker {
  const Dialect& dialect;
  const Rules& rules;

  template <class Rest>
  Refusal operator()(const Rest&) const {
    return std::nullopt;
  }
  Refusal operator()(const JobEnqueue& r) const { return refuse_order(*r.order, dialect); }

  Refusal operator()(const JobRecordSteps& r) const {
    for (const JobStep& step : r.steps) {
      if (Refusal refused = refuse_target(step.tags, dialect)) return refused;
      if (Refusal refused = refuse_timer_target(step.tags, dialect, rules)) return refused;
    }
    return std::nullopt;
  }
  Refusal operator()(const PromiseCreate& r) const { return refuse_tags(r, dialect, rules); }
  Refusal operator()(const RegisterCallback& r) const {
    if (r.awaited == r.awaiter) return "a promise cannot await itself, got " + quoted(r.awaited) + " as awaited and awaiter";
    return std::nullopt;
  }
  Refusal operator()(const RegisterListener& r) const {
    if (rules.any_listener_scheme ? has_scheme_and_rest(r.address) : strict_address(r.address)) return std::nullopt;
    return "address must be " +
           std::string(rules.any_listener_scheme ? "scheme:rest" : "http://..., https://... or poll://... with an @") + ", got " +
           quoted(r.address);
  }

  Refusal operator()(const TaskCreate& r) const {
    if (Refusal refused = refuse_tags(r.action, dialect, rules)) return refused;
    if (dialect.task_needs_target && !target_of(r.action.tags, dialect))
      return "task.create needs the tag resonate:target, got none for " + quoted(r.action.id);
    if (r.action.tags.find("resonate:delay")) return std::string("task.create takes no tag resonate:delay");
    return std::nullopt;
  }
  Refusal operator()(const TaskSuspend& r) const {
    if (r.actions.empty()) return std::string("actions must name at least one awaited promise");
    std::unordered_set<std::string_view> seen;
    for (const RegisterCallback& action : r.actions) {
      if (Refusal refused = (*this)(action)) return refused;
      if (action.awaiter != r.id) return "awaiter must be the task " + quoted(r.id) + ", got " + quoted(action.awaiter);
      if (!seen.insert(action.awaited).second && !rules.suspend_merges_duplicates)
        return "awaited " + quoted(action.awaited) + " is named twice";
    }
    return std::nullopt;
  }
  Refusal operator()(const TaskFulfill& r) const {
    if (r.action.id == r.id) return std::nullopt;
    return "the action must settle the task's own promise " + quoted(r.id) + ", got " + quoted(r.action.id);
  }
  Refusal operator()(const TaskFence& r) const {
    const std::string& id = std::visit([](const auto& action) -> const std::string& { return action.id; }, r.action);
    if (id == r.id) return "a fenced action must not be on the task's own promise " + quoted(id);
    if (!rules.fenced_refusal_is_outer) return std::nullopt;
    if (const auto* create = std::get_if<PromiseCreate>(&r.action)) return refuse_action(*create, dialect, rules);
    return refuse_action(std::get<PromiseSettle>(r.action));
  }

  Refusal operator()(const ScheduleCreate& r) const {
    if (Refusal refused = first(refuse_occurrences(r.promise_id, r.promise_timeout, r.promise_tags, r.job.get(), dialect),
                                refuse_timer_target(r.promise_tags, dialect, rules)))
      return refused;
    try {
      CronExpression::parse(r.cron);
    } catch (const InvalidCron& problem) {
      return std::string(problem.what());
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::string> refuse_action(const PromiseCreate& create, const Dialect& dialect, const Rules& rules) {
  if (Refusal refused = refuse_fields(create)) return refused;
  return refuse_tags(create, dialect, rules);
}

std::optional<std::string> refuse_action(const PromiseSettle& settle) { return refuse_fields(settle); }

std::optional<std::string> refuse_stored(const Schedule& schedule) {
  return refuse_occurrences(schedule.promise_id, schedule.promise_timeout, schedule.promise_tags,
                            schedule.job ? &schedule.job->order : nullptr, dialect(schedule.dialect));
}

std::optional<std::string> refuse(const Request& request, RulesId rules_id) {
  const Dialect& its = dialect(request.dialect);
  const Checker rest{its, rules(rules_id, its)};
  return std::visit(
      [&]<class One>(const One& operation) -> Refusal {
        Refusal refused;
        if constexpr (Described<One>) detail::refuses(operation, {}, refused);  // an order has its own, with these
        if (!refused) refused = rest(operation);
        return refused;
      },
      request.operation);
}

}  // namespace resonate
