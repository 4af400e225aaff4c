#include "protocol/admission.hpp"

#include <algorithm>
#include <charconv>
#include <variant>

#include "machine/quoted.hpp"

namespace resonate {
namespace {

// Records the first exceeded limit.
class LimitCheck {
 public:
  LimitCheck(const RequestLimits& limits, std::optional<Instant> now) : limits_(limits), now_(now) {}
  std::optional<std::string> take() { return std::move(problem_); }

  void text(const char* what, std::string_view given) {
    if (problem_ || given.size() <= limits_.id_bytes) return;
    std::size_t shown = std::min<std::size_t>(40, given.size() - 1);
    while (shown > 0 && (static_cast<unsigned char>(given[shown]) & 0xC0) == 0x80) --shown;  // do not cut a UTF-8 character
    problem_ = std::string(what) + " must have at most " + std::to_string(limits_.id_bytes) + " bytes, got " +
               std::to_string(given.size()) + ": " + quoted(std::string(given.substr(0, shown)) + "...");
  }
  void list(const char* what, std::size_t size) { count(what, size, limits_.list_length); }
  void strings(const char* what, const StringMap& map) {
    count(what, map.size(), limits_.tags);
    for (const auto& entry : map) text("the name", entry.first);
  }
  // Checks tags, and the addresses among them.
  void tags(const StringMap& map) {
    strings("tags", map);
    for (const char* address : {"resonate:target", "resonate:invoke"})
      if (const std::string* given = map.find(address)) text(address, *given);
  }
  void value(const Value& value) {
    if (value.headers) strings("headers", *value.headers);
  }
  void lease(const char* what, Duration given) { duration(what, given, limits_.lease, "limits.lease_ms"); }
  void ttl(Duration given) { duration("ttl", given, limits_.ttl, "limits.ttl_ms"); }
  void delay(const char* what, Duration given) { duration(what, given, limits_.delay, "limits.delay_ms"); }
  void delay_until(const char* what, Instant given) {
    if (problem_ || !now_ || limits_.delay == kNever) return;
    const Instant latest = saturating_add(*now_, limits_.delay);
    if (given <= latest) return;
    problem_ = std::string(what) + " must be at most " + std::to_string(limits_.delay) + " ms ahead, which is " +
               std::to_string(latest) + " (limits.delay_ms of this server), got " + std::to_string(given);
  }

 private:
  void duration(const char* what, Duration given, Duration limit, const char* setting) {
    if (problem_ || given <= limit) return;
    problem_ = std::string(what) + " must be at most " + std::to_string(limit) + " ms (" + setting + " of this server), got " +
               std::to_string(given);
  }
  void count(const char* what, std::size_t size, std::size_t limit) {
    if (problem_ || size <= limit) return;
    problem_ = std::string(what) + " must have at most " + std::to_string(limit) + " entries, got " + std::to_string(size);
  }

  const RequestLimits& limits_;
  std::optional<Instant> now_;
  std::optional<std::string> problem_;
};

void check_limits(LimitCheck& at, const PromiseCreate& request) {
  at.text("id", request.id);
  at.value(request.param);
  at.tags(request.tags);
  if (const std::string* delay = request.tags.find("resonate:delay")) {
    Instant until = 0;  // the machine refuses a text that is not an integer
    const auto [end, problem] = std::from_chars(delay->data(), delay->data() + delay->size(), until);
    if (problem == std::errc() && end == delay->data() + delay->size()) at.delay_until("tag resonate:delay", until);
  }
}
void check_limits(LimitCheck& at, const PromiseSettle& request) {
  at.text("id", request.id);
  at.value(request.value);
}
void check_limits(LimitCheck& at, const RegisterCallback& request) {
  at.text("awaited", request.awaited);
  at.text("awaiter", request.awaiter);
}
void check_limits(LimitCheck& at, const RegisterListener& request) {
  at.text("awaited", request.awaited);
  at.text("address", request.address);
}
void check_limits(LimitCheck& at, const SearchQuery& query) {
  if (query.filter.id) at.text("id", *query.filter.id);
  if (query.filter.target) at.text("target", *query.filter.target);
  at.text("cursor", query.cursor);
  at.strings("tags", query.filter.tags);
}
void check_limits(LimitCheck& at, const TaskCreate& request) {
  at.text("pid", request.pid);
  at.ttl(request.ttl);
  check_limits(at, request.action);
}
void check_limits(LimitCheck& at, const TaskAcquire& request) {
  at.text("id", request.id);
  at.text("pid", request.pid);
  at.ttl(request.ttl);
}
void check_limits(LimitCheck& at, const TaskSuspend& request) {
  at.text("id", request.id);
  at.list("actions", request.actions.size());
  for (const RegisterCallback& action : request.actions) check_limits(at, action);
}
void check_limits(LimitCheck& at, const TaskFulfill& request) {
  at.text("id", request.id);
  check_limits(at, request.action);
}
void check_limits(LimitCheck& at, const TaskFence& request) {
  at.text("id", request.id);
  std::visit([&](const auto& action) { check_limits(at, action); }, request.action);
}
void check_limits(LimitCheck& at, const TaskHeartbeat& request) {
  at.text("pid", request.pid);
  at.list("tasks", request.tasks.size());
  for (const TaskRef& task : request.tasks) at.text("id", task.id);
}
void check_limits(LimitCheck& at, const RetryPolicy& policy) {
  if (policy.codes) {
    at.list("codes", policy.codes->size());
    for (const std::string& code : *policy.codes) at.text("code", code);
  }
  for (const Duration interval : policy.intervals) at.delay("an interval of retryPolicy", interval);
  if (policy.kind == PolicyKind::exponential) {
    at.delay("base of retryPolicy", policy.base);
    at.delay("cap of retryPolicy", policy.cap);
  }
}
void check_limits(LimitCheck& at, const JobOrder& order) {
  if (order.id) at.text("id", *order.id);
  at.text("queue", order.queue);
  at.text("type", order.type);
  if (order.unique_key) at.text("uniqueKey", *order.unique_key);
  if (order.group) at.text("group", *order.group);
  at.value(order.payload);
  at.tags(order.tags);
  if (order.policy) check_limits(at, *order.policy);
  if (order.process_in) at.delay("processIn", *order.process_in);
  if (order.process_at) at.delay_until("processAt", *order.process_at);
}
void check_limits(LimitCheck& at, const ScheduleCreate& request) {
  at.text("id", request.id);
  at.text("promiseId", request.promise_id);
  at.text("cron", request.cron);
  at.value(request.promise_param);
  at.tags(request.promise_tags);
  for (const JobOrder& order : request.job) check_limits(at, order);
}
void check_limits(LimitCheck& at, const JobEnqueue& request) { check_limits(at, request.order.front()); }
void check_limits(LimitCheck& at, const JobEnqueueMany& request) {
  at.list("jobs", request.orders.size());
  for (const JobOrder& order : request.orders) check_limits(at, order);
}
void check_limits(LimitCheck& at, const JobClaim& request) {
  at.list("queues", request.queues.size());
  for (const QueueChoice& queue : request.queues) at.text("queue", queue.name);
  at.text("worker", request.worker);
  at.lease("lease", request.lease);
  if (request.run_lease) at.lease("runLease", *request.run_lease);
}
void check_limits(LimitCheck& at, const std::vector<JobRef>& jobs) {
  at.list("jobs", jobs.size());
  for (const JobRef& job : jobs) at.text("id", job.id);
}
void check_limits(LimitCheck& at, const JobStart& request) {
  at.text("id", request.id);
  if (request.lease) at.lease("lease", *request.lease);
}
void check_limits(LimitCheck& at, const JobStartMany& request) {
  check_limits(at, request.jobs);
  if (request.lease) at.lease("lease", *request.lease);
}
void check_limits(LimitCheck& at, const JobHeartbeat& request) {
  at.text("worker", request.worker);
  check_limits(at, request.jobs);
}
void check_limits(LimitCheck& at, const JobComplete& request) {
  at.text("id", request.id);
  at.value(request.result);
}
void check_limits(LimitCheck& at, const JobCompleteMany& request) {
  at.list("jobs", request.jobs.size());
  for (const JobComplete& one : request.jobs) check_limits(at, one);
}
void check_limits(LimitCheck& at, const JobFail& request) {
  at.text("id", request.id);
  at.text("code", request.error.code);
  if (request.retry_after) at.delay("retryAfter", *request.retry_after);
}
void check_limits(LimitCheck& at, const JobSnooze& request) {
  at.text("id", request.id);
  at.delay("delay", request.delay);
}
void check_limits(LimitCheck& at, const JobReport& request) { at.text("id", request.id); }
void check_limits(LimitCheck& at, const JobFilter& filter) {
  if (filter.id) at.text("id", *filter.id);
  if (filter.queue) at.text("queue", *filter.queue);
  if (filter.type) at.text("type", *filter.type);
  if (filter.group) at.text("group", *filter.group);
  at.strings("tags", filter.tags);
}
void check_limits(LimitCheck& at, const JobSearch& request) {
  check_limits(at, request.filter);
  if (request.unique_key) at.text("uniqueKey", *request.unique_key);
  at.text("cursor", request.cursor);
}
void check_limits(LimitCheck& at, const JobStats& request) {
  if (request.queue) at.text("queue", *request.queue);
}
void check_limits(LimitCheck& at, const QueueSet& request) {
  at.text("queue", request.queue);
  if (request.groups.value) {
    at.delay("grace of groups", request.groups.value->grace);
    if (request.groups.value->max_delay) at.delay("maxDelay of groups", *request.groups.value->max_delay);
  }
  if (request.defaults.value && request.defaults.value->policy) check_limits(at, *request.defaults.value->policy);
}
void check_limits(LimitCheck&, const QueueList&) {}
// All other requests: searches, and requests whose only text is an id.
template <class Rest>
void check_limits(LimitCheck& at, const Rest& request) {
  if constexpr (requires { request.query; }) {
    check_limits(at, request.query);
  } else if constexpr (requires { request.which; }) {
    check_limits(at, request.which);
  } else if constexpr (requires { request.queue; }) {
    at.text("queue", request.queue);
  } else {
    at.text("id", request.id);
  }
}

}  // namespace

std::optional<std::string> exceeded_limit(const Operation& operation, const RequestLimits& limits, std::optional<Instant> now) {
  LimitCheck at(limits, now);
  std::visit([&](const auto& request) { check_limits(at, request); }, operation);
  return at.take();
}

std::string nests_too_deep(std::size_t limit) { return "the JSON nests deeper than " + std::to_string(limit) + " levels"; }

bool nests_deeper(std::string_view json, std::size_t limit) noexcept {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char sign = json[i];
    if (in_text) {
      if (sign == '\\') {
        ++i;
      } else if (sign == '"') {
        in_text = false;
      }
    } else if (sign == '"') {
      in_text = true;
    } else if (sign == '{' || sign == '[') {
      if (++depth > limit) return true;
    } else if ((sign == '}' || sign == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace resonate
