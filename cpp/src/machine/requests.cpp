// Classifies requests: reads, searches, changes of jobs chosen by a filter.
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
  return is_one_of<PromiseGet, TaskGet, ScheduleGet, PromiseSearch, TaskSearch, ScheduleSearch, JobGet, JobSearch, JobStats,
                   QueueGet, QueueList>(operation);
}

bool may_read_many(const Operation& operation) noexcept {
  return is_one_of<PromiseSearch, TaskSearch, ScheduleSearch, JobSearch>(operation) || choosing_filter(operation);
}

const JobFilter* choosing_filter(const Operation& operation) noexcept { return filter_that_chooses(operation); }
JobFilter* choosing_filter(Operation& operation) noexcept { return filter_that_chooses(operation); }

}  // namespace resonate
