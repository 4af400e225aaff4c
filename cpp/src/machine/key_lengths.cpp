#include "machine/key_lengths.hpp"

#include <initializer_list>
#include <limits>
#include <string_view>
#include <variant>

#include "machine/schedules.hpp"

namespace resonate {
namespace {

// Bytes of a key that are left for the worker that claims a job, beside the job's id.
constexpr std::size_t kWorkerBytes = 512;

struct Part {
  std::string_view name;
  std::string_view text;
};

// Records the first key that is too long.
class KeyCheck {
 public:
  explicit KeyCheck(std::size_t most) : most_(most) {}
  std::optional<std::string> take() { return std::move(problem_); }

  bool found() const noexcept { return problem_.has_value(); }

  void key(std::initializer_list<Part> parts) { key_of(most_, parts); }
  void id(std::string_view name, std::string_view text) { key_of(most_ - kWorkerBytes, {{name, text}}); }
  void worker(std::string_view text) { key_of(kWorkerBytes, {{"worker", text}}); }

 private:
  void key_of(std::size_t most, std::initializer_list<Part> parts) {
    if (problem_) return;
    std::size_t bytes = 0;
    std::string names;
    for (const Part& part : parts) {
      bytes += part.text.size();
      if (!part.text.empty()) names += (names.empty() ? "" : " and ") + std::string(part.name);
    }
    if (bytes <= most) return;
    problem_ = names + " must have at most " + std::to_string(most) + " bytes" +
               (names.find(" and ") == std::string::npos ? "" : " together") + ", which an index of PostgreSQL takes, got " +
               std::to_string(bytes);
  }

  std::size_t most_;
  std::optional<std::string> problem_;
};

std::string_view tag(const StringMap& tags, const char* name) {
  const std::string* found = tags.find(name);
  return found ? std::string_view(*found) : std::string_view();
}

void check_promise(KeyCheck& at, std::string_view name, std::string_view id, const StringMap& tags) {
  at.id(name, id);
  at.key({{name, id}, {"tag resonate:branch", tag(tags, "resonate:branch")}});
  for (const char* address : {"resonate:target", "resonate:invoke"}) at.key({{std::string("tag ") + address, tag(tags, address)}});
}

void check_order(KeyCheck& at, std::string_view name, std::string_view id, const JobOrder& order) {
  check_promise(at, name, id, order.tags);
  at.key({{name, id}, {"queue", order.queue}});
  if (order.unique_key) at.key({{name, id}, {"queue", order.queue}, {"uniqueKey", *order.unique_key}});
  if (order.group) at.key({{name, id}, {"queue", order.queue}, {"group", *order.group}});
  if (order.parent) at.key({{name, id}, {"the id of parent", order.parent->id}});
  if (order.after)
    for (const std::string& awaited : *order.after) at.key({{name, id}, {"an id of after", awaited}});
}

void check(KeyCheck& at, const PromiseCreate& request) { check_promise(at, "id", request.id, request.tags); }
void check(KeyCheck& at, const RegisterCallback& request) { at.key({{"awaited", request.awaited}, {"awaiter", request.awaiter}}); }
void check(KeyCheck& at, const RegisterListener& request) { at.key({{"awaited", request.awaited}, {"address", request.address}}); }
void check(KeyCheck& at, const TaskCreate& request) {
  check(at, request.action);
  at.key({{"id", request.action.id}, {"pid", request.pid}});
}
void check(KeyCheck& at, const TaskAcquire& request) { at.key({{"id", request.id}, {"pid", request.pid}}); }
void check(KeyCheck& at, const TaskSuspend& request) {
  for (const RegisterCallback& action : request.actions) check(at, action);
}
void check(KeyCheck& at, const JobSuspend& request) {
  for (const std::string& awaited : request.awaits) at.key({{"id", request.id}, {"an id of awaits", awaited}});
}
void check(KeyCheck& at, const JobRecordSteps& request) {
  for (const JobStep& step : request.steps) {
    check_promise(at, "the id of a step", step.id, step.tags);
    at.key({{"the id of a step", step.id}, {"id", request.id}});
  }
}
void check(KeyCheck& at, const JobReceive& request) {
  at.id("step", request.step);
  at.key({{"step", request.step}, {"id", request.id}, {"topic", request.topic}});
}
// The id of a message has the job's, and stands beside it in an index.
void check(KeyCheck& at, const JobSend& request) {
  const std::string message = request.id + ":@" + request.topic + ":" + request.key.value_or("#9223372036854775807");
  at.key({{"id, topic and key", message}, {"id and topic", request.id + ":@" + request.topic}});
}
void check(KeyCheck& at, const JobFork& request) { at.id("newId", request.new_id); }
void check(KeyCheck& at, const TaskFence& request) {
  if (const auto* const create = std::get_if<PromiseCreate>(&request.action)) check(at, *create);
}
void check(KeyCheck& at, const JobEnqueue& request) {
  check_order(at, "id", request.order->id ? *request.order->id : std::string(), *request.order);
}
void check(KeyCheck& at, const JobEnqueueMany& request) {
  for (const JobOrder& order : request.orders) check_order(at, "id", order.id ? *order.id : std::string(), order);
}
void check(KeyCheck& at, const JobClaim& request) {
  at.worker(request.worker);
  for (const QueueChoice& queue : request.queues) at.key({{"queue", queue.name}});
}
void check(KeyCheck& at, const QueueSet& request) { at.key({{"queue", request.queue}}); }
// Its occurrences are made later by a step, which has no caller to answer, so their longest keys are examined now.
void check(KeyCheck& at, const ScheduleCreate& request) {
  at.key({{"id", request.id}});
  at.key({{"promiseId", request.promise_id}});
  if (at.found()) return;
  Schedule schedule;
  schedule.id = request.id;
  schedule.promise_id = request.promise_id;
  const std::string id = occurrence_id(schedule, std::numeric_limits<Instant>::max());
  StringMap tags = request.promise_tags;
  if (!tags.find("resonate:branch")) tags.set("resonate:branch", id);
  check_promise(at, "promiseId", id, tags);
  if (request.job) check_order(at, "promiseId", id, *request.job);
}
// Other requests name records that exist.
template <class Rest>
void check(KeyCheck&, const Rest&) {}

}  // namespace

std::optional<std::string> exceeded_key(const Operation& operation, std::size_t most) {
  KeyCheck at(most);
  std::visit([&](const auto& request) { check(at, request); }, operation);
  return at.take();
}

}  // namespace resonate
