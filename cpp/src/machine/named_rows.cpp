#include "machine/named_rows.hpp"

#include <variant>

namespace resonate {
namespace {

using Ids = std::vector<std::string_view>;

void name(const RegisterCallback& request, Ids& ids) { ids.insert(ids.end(), {request.awaited, request.awaiter}); }
void name(const RegisterListener& request, Ids& ids) { ids.emplace_back(request.awaited); }
void name(const TaskCreate& request, Ids& ids) { ids.emplace_back(request.action.id); }
void name(const TaskSuspend& request, Ids& ids) {
  ids.emplace_back(request.id);
  for (const RegisterCallback& action : request.actions) name(action, ids);
}
void name(const TaskFulfill& request, Ids& ids) { ids.insert(ids.end(), {request.id, request.action.id}); }
void name(const TaskFence& request, Ids& ids) {
  ids.emplace_back(request.id);
  std::visit([&](const auto& action) { ids.emplace_back(action.id); }, request.action);
}
void name(const ScheduleGet&, Ids&) {}
void name(const ScheduleCreate&, Ids&) {}
void name(const ScheduleDelete&, Ids&) {}
void name(const JobOrder& order, Ids& ids) {
  if (order.id) ids.emplace_back(*order.id);
}
void name(const JobEnqueue& request, Ids& ids) { name(request.order.front(), ids); }
void name(const JobEnqueueMany& request, Ids& ids) {
  for (const JobOrder& order : request.orders) name(order, ids);
}
// All other requests: those with one id, several ids, a filter, or none.
template <class Rest>
void name(const Rest& request, Ids& ids) {
  if constexpr (requires { request.tasks; }) {
    for (const TaskRef& task : request.tasks) ids.emplace_back(task.id);
  } else if constexpr (requires { request.jobs; }) {
    for (const auto& job : request.jobs) ids.emplace_back(job.id);
  } else if constexpr (requires { request.which; }) {
    if (request.which.id) ids.emplace_back(*request.which.id);
  } else if constexpr (requires { request.id; }) {
    ids.emplace_back(request.id);
  }
}

}  // namespace

void name_rows(const Operation& operation, std::vector<std::string_view>& ids) {
  std::visit([&](const auto& request) { name(request, ids); }, operation);
}

}  // namespace resonate
