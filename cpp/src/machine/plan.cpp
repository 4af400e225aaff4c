#include "machine/plan.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

#include "machine/job_groups.hpp"

namespace resonate {
namespace {

void name(const RegisterCallback& request, Plan& plan) {
  plan.row(request.awaited);
  plan.row(request.awaiter);
  plan.edge(EdgeKind::callback, request.awaited, request.awaiter);
}
void name(const RegisterListener& request, Plan& plan) {
  plan.row(request.awaited);
  plan.edge(EdgeKind::listener, request.awaited, request.address);
}
void name(const TaskCreate& request, Plan& plan) { plan.row(request.action.id); }
void name(const TaskSuspend& request, Plan& plan) {
  plan.row(request.id);
  for (const RegisterCallback& action : request.actions) name(action, plan);
}
void name(const TaskFulfill& request, Plan& plan) {
  plan.row(request.id);
  plan.row(request.action.id);
}
void name(const TaskFence& request, Plan& plan) {
  plan.row(request.id);
  std::visit([&](const auto& action) { plan.row(action.id); }, request.action);
}
void name(const ScheduleGet& request, Plan& plan) { plan.schedule(request.id); }
void name(const ScheduleCreate& request, Plan& plan) { plan.schedule(request.id); }
void name(const ScheduleDelete& request, Plan& plan) { plan.schedule(request.id); }
void name(const SchedulePause& request, Plan& plan) { plan.schedule(request.id); }
void name(const ScheduleResume& request, Plan& plan) { plan.schedule(request.id); }
void name(const JobOrder& order, Plan& plan) {
  if (order.id) {
    plan.row(*order.id);
  } else {
    plan.job_without_id();
  }
  plan.queue(order.queue);
}
void name(const JobEnqueue& request, Plan& plan) { name(request.order.front(), plan); }
void name(const JobEnqueueMany& request, Plan& plan) {
  for (const JobOrder& order : request.orders) name(order, plan);
}
void name(const JobClaim& request, Plan& plan) {
  for (const QueueChoice& choice : request.queues) plan.queue(choice.name);
}
template <class Request>
requires(std::is_same_v<Request, QueueSet> || std::is_same_v<Request, QueueGet> || std::is_same_v<Request, QueuePause> ||
         std::is_same_v<Request, QueueResume>) void name(const Request& request, Plan& plan) {
  plan.queue(request.queue);
}
// All other requests: one id, several, a filter, or none.
template <class Rest>
void name(const Rest& request, Plan& plan) {
  if constexpr (requires { request.tasks; }) {
    for (const TaskRef& task : request.tasks) plan.row(task.id);
  } else if constexpr (requires { request.jobs; }) {
    for (const auto& job : request.jobs) plan.row(job.id);
  } else if constexpr (requires { request.which; }) {
    if (request.which.id) plan.row(*request.which.id);
  } else if constexpr (requires { request.id; }) {
    plan.row(request.id);
  }
}

}  // namespace

void Plan::add(const Operation& operation) {
  forget_generated();
  std::visit([this](const auto& request) { name(request, *this); }, operation);
}

// A batch names few queues.
void Plan::queue(std::string_view name) {
  if (std::ranges::find(queues_, name, &Lookup<QueueRef>::key) == queues_.end()) queues_.push_back({name});
}

void Plan::forget_generated() {
  rows_.resize(rows_.size() - generated_.size());
  generated_.clear();
  generated_after_ = -1;
}

// Adds the rows of the ids that the jobs without an id will get, since a caller may have used one of them already.
void Plan::generate_ids(std::int64_t after) {
  if (jobs_without_id_ == 0 || after == generated_after_) return;
  forget_generated();
  generated_.reserve(jobs_without_id_);  // rows_ has views of them
  generated_after_ = after;
  while (generated_.size() < jobs_without_id_) {
    after = saturating_add(after, 1);
    generated_.push_back(generated_name("job", after));
    row(generated_.back());
  }
}

void Plan::expect(Storage& storage) {
  generate_ids(storage.counters().jobs);
  storage.expect(lookups());
}

void Plan::load(WorkingSet& set) {
  generate_ids(set.counters().jobs);
  if (rows_.size() + schedules_.size() + queues_.size() + edges_.size() >= 2) set.prefetch(lookups());
}

}  // namespace resonate
