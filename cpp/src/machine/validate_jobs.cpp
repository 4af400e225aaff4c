#include "machine/validate_jobs.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "machine/derive.hpp"
#include "machine/job_transitions.hpp"
#include "machine/member_name.hpp"
#include "machine/quoted.hpp"
#include "machine/refusals.hpp"
#include "machine/refuse_fields.hpp"

namespace resonate {

namespace {

// A job cannot wait for itself.
Refusal refuse_itself(std::string_view member, const std::vector<std::string>& awaited, const std::string& id) {
  if (std::ranges::find(awaited, id) == awaited.end()) return std::nullopt;
  return std::string(member) + " must not have the job's own id, got " + quoted(id);
}

// `states`: those of which a filter must name one; null: it names no state.
Refusal refuse_filter(const JobFilter& which, const JobStates* states) {
  if (which.id) {
    if (which.queue || which.type || which.state || which.group || !which.tags.empty())
      return "give the id " + quoted(*which.id) + " or a filter, not both";
    return std::nullopt;
  }
  if (!states) {
    if (which.queue || which.type || which.group || !which.tags.empty()) return std::nullopt;
    return std::string("give an id, a queue, a type, a group or tags");
  }
  std::string names;
  for (std::size_t i = 0; i < kJobStates; ++i) {
    const auto state = static_cast<JobState>(i);
    if (!states->contains(state)) continue;
    if (which.state && *which.state == name_of(state)) return std::nullopt;
    names += (names.empty() ? "" : ", ") + std::string(name_of(state));
  }
  return "a filter must name a state, one of " + names + (which.state ? ", got " + quoted(*which.state) : "");
}

}  // namespace

namespace detail {
namespace {

// Of a value that is_outside() has found.
std::string outside(const std::string& name, std::int64_t value, const MemberRules& rules) {
  if (rules.most == std::numeric_limits<std::int64_t>::max()) return too_small(name, value, rules.least);
  return name + " must be within " + std::to_string(rules.least) + ".." + std::to_string(rules.most) + ", got " +
         std::to_string(value);
}

}  // namespace

void refuse_bad_text(const MemberRules& rules, std::string_view part, const std::string& value, Refusal& why) {
  why = refuse_text(name_in(rules, part), value);
}

void refuse_unknown(const MemberRules& rules, std::string_view part, const std::string& value, Refusal& why) {
  why = name_in(rules, part) + " must be " + std::string(rules.words) + ", got " + quoted(value);
}

void refuse_number(const MemberRules& rules, std::string_view part, std::int64_t value, Refusal& why) {
  why = outside(name_in(rules, part), value, rules);
}

void refuse_number(const MemberRules& rules, std::string_view part, double value, Refusal& why) {
  why = name_in(rules, part) + " must be within " + std::to_string(rules.least) + ".." + std::to_string(rules.most) + ", got " +
        std::to_string(value);
}

void refuse_size(const MemberRules& rules, std::int64_t size, Refusal& why) {
  why = outside("the number of " + std::string(name_of(rules.field)), size, rules);
}

void refuse_bad_element(const MemberRules& rules, const std::string& element, Refusal& why) {
  why = refuse_text(rules.element, element);
}

}  // namespace detail

Refusal refuse_between(const RetryPolicy& policy) {
  if (policy.kind == PolicyKind::exponential) return refuse_below("cap of retryPolicy", policy.cap, policy.base);
  if (policy.kind == PolicyKind::fixed)
    for (const Duration interval : policy.intervals)
      if (Refusal refused = refuse_below("an interval of retryPolicy", interval, 0)) return refused;
  return std::nullopt;
}

std::optional<std::string> refuse_order(const JobOrder& order, const Dialect& dialect) {
  if (Refusal refused = refuse_fields(order)) return refused;
  if (order.process_at && order.process_in) return std::string("give processAt or processIn, not both");
  if (order.good_until && order.good_for) return std::string("give goodUntil or goodFor, not both");
  if (order.unique_for && !order.unique_key) return std::string("uniqueFor needs a uniqueKey");
  if (order.tags.equals("resonate:timer", "true")) return std::string("a job is no timer: tag resonate:timer must not be true");
  if (const std::string* target = target_of(order.tags, dialect); target && target->empty())
    return std::string("tag resonate:target must not be empty");
  if (order.after_failed && !order.after) return std::string("afterFailed needs after");
  if (order.after && order.group) return std::string("give after or group, not both: a batch is ready when its group is");
  if (order.after && order.id)
    if (Refusal refused = refuse_itself("after", *order.after, *order.id)) return refused;
  if (order.parent && order.id && order.parent->id == *order.id)
    return "parent must not be the job itself, got " + quoted(*order.id);
  if (order.tags.find("resonate:delay")) return std::string("a job takes no tag resonate:delay: give processAt");
  return std::nullopt;
}

std::optional<std::string> refuse_template(const JobOrder& order, const StringMap& tags, const Dialect& dialect) {
  struct Member {
    bool given;
    std::string_view name;
    std::string_view instead;
  };
  for (const Member& member : {Member{order.id.has_value(), "id", "promiseId"},
                               {!order.payload.empty(), "payload", "promiseParam"},
                               {!order.tags.empty(), "tags", "promiseTags"},
                               {order.deadline != kNever, "deadline", "promiseTimeout"},
                               {order.process_at.has_value(), "processAt", "processIn"},
                               {order.good_until.has_value(), "goodUntil", "goodFor"}})
    if (member.given) return "job of a schedule takes no " + std::string(member.name) + ": give " + std::string(member.instead);
  if (order.after) return std::string("job of a schedule takes no after: its handler can enqueue jobs that wait");
  if (order.parent) return std::string("job of a schedule takes no parent: it is sent at its occurrence");
  if (order.sent_at) return std::string("job of a schedule takes no sentAt: it is sent at its occurrence");
  JobOrder tagged = order;
  tagged.tags = tags;
  if (Refusal refused = refuse_order(tagged, dialect)) return "job of a schedule: " + *refused;
  return std::nullopt;
}

std::optional<std::string> refuse_between(const JobClaim& request) {
  std::unordered_set<std::string_view> seen;
  for (const QueueChoice& queue : request.queues)
    if (!seen.insert(queue.name).second) return "queue " + quoted(queue.name) + " is named twice";
  return std::nullopt;
}

std::optional<std::string> refuse_between(const JobSuspend& request) { return refuse_itself("awaits", request.awaits, request.id); }

namespace {

// The id of a child that is no job.
Refusal refuse_child_id(const std::string& id, const std::string& job) {
  if (!id.starts_with(job + ":")) return "the id of a step must begin with " + quoted(job + ":") + ", got " + quoted(id);
  if (id.starts_with(job + ":@"))
    return "the id of a step must not begin with " + quoted(job + ":@") + ", as those of messages do, got " + quoted(id);
  return std::nullopt;
}

Refusal refuse_topic(const std::string& topic) {
  if (topic.find(':') == std::string::npos) return std::nullopt;
  return "topic must not have a colon, got " + quoted(topic);
}

}  // namespace

std::optional<std::string> refuse_between(const JobRecordSteps& request) {
  for (const JobStep& step : request.steps) {
    if (Refusal refused = refuse_child_id(step.id, request.id)) return refused;
    if ((!step.state || *step.state == "pending") && !step.value.empty())
      return "step " + quoted(step.id) + " is pending and takes no value";
    if (step.tags.find("resonate:delay")) return "step " + quoted(step.id) + " takes no tag resonate:delay";
  }
  return std::nullopt;
}

std::optional<std::string> refuse_between(const JobReceive& request) {
  if (Refusal refused = refuse_child_id(request.step, request.id)) return refused;
  return refuse_topic(request.topic);
}

std::optional<std::string> refuse_between(const JobSend& request) {
  if (request.key && request.key->starts_with("#")) return "key must not begin with #, got " + quoted(*request.key);
  return refuse_topic(request.topic);
}

std::optional<std::string> refuse_between(const JobHistory& request) {
  if (request.cursor.empty()) return std::nullopt;
  std::int64_t at = 0;
  const char* const end = request.cursor.data() + request.cursor.size();
  const auto [stop, problem] = std::from_chars(request.cursor.data(), end, at);
  if (problem == std::errc() && at >= 0 && stop != end && *stop == ':' && stop + 1 != end) return std::nullopt;
  return "cursor must be one that job.history returned, got " + quoted(request.cursor);
}

std::optional<std::string> refuse_between(const JobReport& request) {
  if (!request.progress && request.lines.empty()) return std::string("give progress, lines, or both");
  for (const std::string& line : request.lines)
    if (line.size() > kLineBytes)
      return "a line must have at most " + std::to_string(kLineBytes) + " bytes, got " + std::to_string(line.size());
  return std::nullopt;
}

std::optional<std::string> refuse_between(const JobCancel& request) {
  if (request.which.state) return std::string("job.cancel takes no state: it cancels what is not over");
  return refuse_filter(request.which, nullptr);
}

std::optional<std::string> refuse_between(const JobRun& request) {
  return refuse_filter(request.which, &transition(JobEvent::run).from);
}

std::optional<std::string> refuse_between(const JobArchive& request) {
  return refuse_filter(request.which, &transition(JobEvent::archive).from);
}

std::optional<std::string> refuse_between(const JobDelete& request) {
  return refuse_filter(request.which, &transition(JobEvent::remove).from);
}

}  // namespace resonate
