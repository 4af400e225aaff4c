// Which ids and queues a request names.
#include <variant>

#include "machine/schedules.hpp"
#include "protocol/admission.hpp"

namespace resonate {
namespace {

template <class... Bodies>
struct Cases : Bodies... {
  using Bodies::operator()...;
};

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

std::vector<std::string_view> touched_queues(const Operation& operation) {
  std::vector<std::string_view> queues;
  std::visit(Cases{
                 [&](const ScheduleCreate& request) {
                   for (const JobOrder& order : request.job) queues.emplace_back(order.queue);
                 },
                 [&](const JobEnqueue& request) { queues = {request.order.front().queue}; },
                 [&](const JobEnqueueMany& request) {
                   for (const JobOrder& order : request.orders) queues.emplace_back(order.queue);
                 },
                 [&](const JobClaim& request) {
                   for (const QueueChoice& queue : request.queues) queues.emplace_back(queue.name);
                 },
                 [&](const JobSearch& request) {
                   if (request.filter.queue) queues = {*request.filter.queue};
                 },
                 [&](const auto& request) {
                   if constexpr (requires { request.which; }) {
                     if (request.which.queue) queues = {*request.which.queue};
                   }
                 },
             },
             operation);
  return queues;
}

}  // namespace resonate
