// Classifies requests: reads, searches, changes of jobs chosen by a filter, and how many records a request names.
#include "resonate/requests.hpp"

namespace resonate {

namespace {

template <class... Kinds>
bool is_one_of(const Operation& operation) noexcept {
  return (std::holds_alternative<Kinds>(operation) || ...);
}

template <class AnyOperation>
auto* filter_that_chooses(AnyOperation& operation) noexcept {
  std::conditional_t<std::is_const_v<AnyOperation>, const JobFilter, JobFilter>* filter = nullptr;
  if (auto* cancel = std::get_if<JobCancel>(&operation)) filter = &cancel->which;
  if (auto* run = std::get_if<JobRun>(&operation)) filter = &run->which;
  if (auto* archive = std::get_if<JobArchive>(&operation)) filter = &archive->which;
  if (auto* deletion = std::get_if<JobDelete>(&operation)) filter = &deletion->which;
  return filter && !filter->id ? filter : nullptr;
}

}  // namespace

bool is_read(const Operation& operation) noexcept {
  return is_one_of<PromiseGet, TaskGet, ScheduleGet, PromiseSearch, TaskSearch, ScheduleSearch, JobGet, JobHistory, JobSearch,
                   JobStats, QueueGet, QueueList>(operation);
}

bool may_read_many(const Operation& operation) noexcept {
  if (const auto* const stats = std::get_if<JobStats>(&operation)) return !stats->queue;
  return is_one_of<PromiseSearch, TaskSearch, ScheduleSearch, JobSearch, QueueList>(operation) || choosing_filter(operation);
}

std::size_t records_of(const Operation& operation) noexcept {
  return std::visit(
      []<class One>(const One& request) -> std::size_t {
        if constexpr (requires { request.orders; }) {
          return request.orders.size();
        } else if constexpr (requires { request.tasks; }) {
          return request.tasks.size();
        } else if constexpr (requires { request.jobs; }) {
          return request.jobs.size();
        } else if constexpr (requires { request.actions; }) {
          return 1 + request.actions.size();
        } else if constexpr (requires { request.steps; }) {
          return 1 + request.steps.size();
        } else if constexpr (requires { request.awaits; }) {
          return request.awaits.size();
        } else if constexpr (std::is_same_v<One, JobClaim>) {
          return static_cast<std::size_t>(request.count);
        } else {
          return 1;
        }
      },
      operation);
}

const JobFilter* choosing_filter(const Operation& operation) noexcept { return filter_that_chooses(operation); }
JobFilter* choosing_filter(Operation& operation) noexcept { return filter_that_chooses(operation); }

}  // namespace resonate
