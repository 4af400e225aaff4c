// Collects the ids and queues that a request names.
#include <variant>

#include "machine/plan.hpp"
#include "machine/schedules.hpp"
#include "protocol/admission.hpp"

namespace resonate {
namespace {

template <class... Bodies>
struct Cases : Bodies... {
  using Bodies::operator()...;
};

// The generated id of a job begins with "job:". A unique key counts as an id: it blocks other jobs, and a refusal names its holder.
void enqueued(Named& named, const JobOrder& order) {
  if (!order.id) named.ids.emplace_back("job:");
  if (order.unique_key) named.ids.emplace_back(*order.unique_key);
  named.queues.emplace_back(order.queue);
}

}  // namespace

Named named_by(const Operation& operation, std::string& buffer) {
  Named named;
  Plan plan;
  plan.add(operation);
  for (const auto& row : plan.rows()) named.ids.emplace_back(row.key);
  for (const auto& schedule : plan.schedules()) named.ids.emplace_back(schedule.key);
  std::visit(Cases{
                 [&](const ScheduleCreate& request) {
                   buffer = fixed_beginning(request.promise_id, request.id);
                   named.ids.emplace_back(buffer);
                   for (const JobOrder& order : request.job) {
                     if (order.unique_key) named.ids.emplace_back(*order.unique_key);
                     named.queues.emplace_back(order.queue);
                   }
                 },
                 [&](const JobEnqueue& request) { enqueued(named, request.order.front()); },
                 [&](const JobEnqueueMany& request) {
                   for (const JobOrder& order : request.orders) enqueued(named, order);
                 },
                 [&](const JobClaim& request) {
                   for (const QueueChoice& queue : request.queues) named.queues.emplace_back(queue.name);
                 },
                 [&](const JobSearch& request) {
                   if (request.filter.queue) named.queues.emplace_back(*request.filter.queue);
                 },
                 [&](const JobStats& request) {
                   if (request.queue) named.ids.emplace_back(*request.queue);
                 },
                 [&](const auto& request) {
                   if constexpr (requires { request.which; }) {
                     if (request.which.queue) named.queues.emplace_back(*request.which.queue);
                   } else if constexpr (requires { request.queue; }) {
                     named.ids.emplace_back(request.queue);
                   }
                 },
             },
             operation);
  return named;
}

}  // namespace resonate
