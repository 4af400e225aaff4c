#include "protocol/admission.hpp"

#include <algorithm>
#include <variant>

#include "machine/quoted.hpp"
#include "machine/schedules.hpp"

namespace resonate {
namespace {

template <class... Bodies>
struct Cases : Bodies... {
  using Bodies::operator()...;
};

// Notes the first limit that anything is beyond.
class Measure {
 public:
  explicit Measure(const RequestLimits& limits) : limits_(limits) {}
  std::optional<std::string> take() { return std::move(problem_); }

  void text(const char* what, std::string_view given) {
    if (problem_ || given.size() <= limits_.id_bytes) return;
    std::size_t shown = std::min<std::size_t>(40, given.size() - 1);
    while (shown > 0 && (static_cast<unsigned char>(given[shown]) & 0xC0) == 0x80) --shown;  // not within a character
    problem_ = std::string(what) + " " + quoted(std::string(given.substr(0, shown)) + "...") + " has " +
               std::to_string(given.size()) + " bytes; at most " + std::to_string(limits_.id_bytes) + " are taken";
  }
  void list(const char* what, std::size_t size) { count(what, size, limits_.list_length); }
  void strings(const char* what, const StringMap& map) {
    count(what, map.size(), limits_.tags);
    for (const auto& entry : map) text("the name", entry.first);
  }
  // Tags, and the addresses that are among them.
  void tags(const StringMap& map) {
    strings("tags", map);
    for (const char* address : {"resonate:target", "resonate:invoke"})
      if (const std::string* given = map.find(address)) text(address, *given);
  }
  void value(const Value& value) {
    if (value.headers) strings("headers", *value.headers);
  }

 private:
  void count(const char* what, std::size_t size, std::size_t limit) {
    if (problem_ || size <= limit) return;
    problem_ = std::string(what) + " has " + std::to_string(size) + " entries; at most " + std::to_string(limit) + " are taken";
  }

  const RequestLimits& limits_;
  std::optional<std::string> problem_;
};

void measure(Measure& at, const PromiseCreate& request) {
  at.text("id", request.id);
  at.value(request.param);
  at.tags(request.tags);
}
void measure(Measure& at, const PromiseSettle& request) {
  at.text("id", request.id);
  at.value(request.value);
}
void measure(Measure& at, const RegisterCallback& request) {
  at.text("awaited", request.awaited);
  at.text("awaiter", request.awaiter);
}
void measure(Measure& at, const RegisterListener& request) {
  at.text("awaited", request.awaited);
  at.text("address", request.address);
}
void measure(Measure& at, const SearchQuery& query) {
  if (query.filter.id) at.text("id", *query.filter.id);
  if (query.filter.target) at.text("target", *query.filter.target);
  at.text("cursor", query.cursor);
  at.strings("tags", query.filter.tags);
}
void measure(Measure& at, const TaskCreate& request) {
  at.text("pid", request.pid);
  measure(at, request.action);
}
void measure(Measure& at, const TaskAcquire& request) {
  at.text("id", request.id);
  at.text("pid", request.pid);
}
void measure(Measure& at, const TaskSuspend& request) {
  at.text("id", request.id);
  at.list("actions", request.actions.size());
  for (const RegisterCallback& action : request.actions) measure(at, action);
}
void measure(Measure& at, const TaskFulfill& request) {
  at.text("id", request.id);
  measure(at, request.action);
}
void measure(Measure& at, const TaskFence& request) {
  at.text("id", request.id);
  std::visit([&](const auto& action) { measure(at, action); }, request.action);
}
void measure(Measure& at, const TaskHeartbeat& request) {
  at.text("pid", request.pid);
  at.list("tasks", request.tasks.size());
  for (const TaskRef& task : request.tasks) at.text("id", task.id);
}
void measure(Measure& at, const JobOrder& order) {
  if (order.id) at.text("id", *order.id);
  at.text("queue", order.queue);
  at.text("type", order.type);
  if (order.unique_key) at.text("uniqueKey", *order.unique_key);
  if (order.group) at.text("group", *order.group);
  at.value(order.payload);
  at.tags(order.tags);
  if (order.policy && order.policy->codes) {
    at.list("codes", order.policy->codes->size());
    for (const std::string& code : *order.policy->codes) at.text("code", code);
  }
}
void measure(Measure& at, const ScheduleCreate& request) {
  at.text("id", request.id);
  at.text("promiseId", request.promise_id);
  at.text("cron", request.cron);
  at.value(request.promise_param);
  at.tags(request.promise_tags);
  for (const JobOrder& order : request.job) measure(at, order);
}
void measure(Measure& at, const JobEnqueue& request) { measure(at, request.order.front()); }
void measure(Measure& at, const JobEnqueueMany& request) {
  at.list("jobs", request.orders.size());
  for (const JobOrder& order : request.orders) measure(at, order);
}
void measure(Measure& at, const JobClaim& request) {
  at.list("queues", request.queues.size());
  for (const QueueChoice& queue : request.queues) at.text("queue", queue.name);
  at.text("worker", request.worker);
}
void measure(Measure& at, const std::vector<JobRef>& jobs) {
  at.list("jobs", jobs.size());
  for (const JobRef& job : jobs) at.text("id", job.id);
}
void measure(Measure& at, const JobStartMany& request) { measure(at, request.jobs); }
void measure(Measure& at, const JobHeartbeat& request) {
  at.text("worker", request.worker);
  measure(at, request.jobs);
}
void measure(Measure& at, const JobComplete& request) {
  at.text("id", request.id);
  at.value(request.result);
}
void measure(Measure& at, const JobCompleteMany& request) {
  at.list("jobs", request.jobs.size());
  for (const JobComplete& one : request.jobs) measure(at, one);
}
void measure(Measure& at, const JobFail& request) {
  at.text("id", request.id);
  at.text("code", request.error.code);
}
void measure(Measure& at, const JobFilter& filter) {
  if (filter.id) at.text("id", *filter.id);
  if (filter.queue) at.text("queue", *filter.queue);
  if (filter.type) at.text("type", *filter.type);
  if (filter.group) at.text("group", *filter.group);
  at.strings("tags", filter.tags);
}
void measure(Measure& at, const JobSearch& request) {
  measure(at, request.filter);
  if (request.unique_key) at.text("uniqueKey", *request.unique_key);
  at.text("cursor", request.cursor);
}
void measure(Measure& at, const JobStats& request) {
  if (request.queue) at.text("queue", *request.queue);
}
void measure(Measure&, const QueueList&) {}
// The rest: searches, and requests that name an id and nothing else of any length.
template <class Rest>
void measure(Measure& at, const Rest& request) {
  if constexpr (requires { request.query; }) {
    measure(at, request.query);
  } else if constexpr (requires { request.which; }) {
    measure(at, request.which);
  } else if constexpr (requires { request.queue; }) {
    at.text("queue", request.queue);
  } else {
    at.text("id", request.id);
  }
}

// A job without an id gets one that begins so. A unique key shuts others out, and a refusal names its holder.
void touch(std::vector<std::string_view>& ids, const JobOrder& order) {
  ids.emplace_back(order.id ? std::string_view(*order.id) : std::string_view("job:"));
  if (order.unique_key) ids.emplace_back(*order.unique_key);
}

}  // namespace

std::vector<std::string_view> touched_ids(const Operation& operation, std::string& room) {
  std::vector<std::string_view> ids;
  std::visit(Cases{
                 [&](const RegisterCallback& request) {
                   ids = {request.awaited, request.awaiter};
                 },
                 [&](const RegisterListener& request) { ids = {request.awaited}; },
                 [](const PromiseSearch&) {},
                 [](const TaskSearch&) {},
                 [](const ScheduleSearch&) {},
                 [&](const TaskCreate& request) { ids = {request.action.id}; },
                 [&](const TaskSuspend& request) {
                   ids = {request.id};
                   for (const RegisterCallback& action : request.actions) {
                     ids.emplace_back(action.awaited);
                     ids.emplace_back(action.awaiter);
                   }
                 },
                 [&](const TaskFulfill& request) {
                   ids = {request.id, request.action.id};
                 },
                 [&](const TaskFence& request) {
                   ids = {request.id, std::visit([](const auto& action) -> std::string_view { return action.id; }, request.action)};
                 },
                 [&](const TaskHeartbeat& request) {
                   for (const TaskRef& task : request.tasks) ids.emplace_back(task.id);
                 },
                 [&](const ScheduleCreate& request) {
                   room = fixed_beginning(request.promise_id, request.id);
                   ids = {request.id, room};
                   for (const JobOrder& order : request.job)
                     if (order.unique_key) ids.emplace_back(*order.unique_key);
                 },
                 [&](const JobEnqueue& request) { touch(ids, request.order.front()); },
                 [&](const JobEnqueueMany& request) {
                   for (const JobOrder& order : request.orders) touch(ids, order);
                 },
                 [](const JobClaim&) {},
                 [&](const JobStartMany& request) {
                   for (const JobRef& job : request.jobs) ids.emplace_back(job.id);
                 },
                 [&](const JobHeartbeat& request) {
                   for (const JobRef& job : request.jobs) ids.emplace_back(job.id);
                 },
                 [&](const JobCompleteMany& request) {
                   for (const JobComplete& one : request.jobs) ids.emplace_back(one.id);
                 },
                 [](const JobSearch&) {},
                 [&](const JobStats& request) {
                   if (request.queue) ids = {*request.queue};
                 },
                 [](const QueueList&) {},
                 [&](const auto& request) {
                   if constexpr (requires { request.which; }) {
                     if (request.which.id) ids = {*request.which.id};
                   } else if constexpr (requires { request.queue; }) {
                     ids = {request.queue};
                   } else {
                     ids = {request.id};
                   }
                 },
             },
             operation);
  return ids;
}

std::optional<std::string> beyond(const Operation& operation, const RequestLimits& limits) {
  Measure at(limits);
  std::visit([&](const auto& request) { measure(at, request); }, operation);
  return at.take();
}

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
