// Converts complete jobs, queues and their hours, and the job orders of schedules, to the JSON texts of storage and back.
#pragma once

#include <string>
#include <string_view>

#include "resonate/job_requests.hpp"
#include "resonate/queues.hpp"

namespace resonate {

// `holder`: who holds the job, or null.
std::string job_to_json(const Job& job, const SharedString* holder);
std::string queue_to_json(const Queue& queue);
std::string hour_to_json(const QueueHour& hour);
std::string order_to_json(const JobOrder& order);
// Throws Error (storage) for a damaged text.
struct StoredJob {
  Shared<Job> job;
  Shared<const SharedString> holder;
};
StoredJob job_of_json(std::string_view json);
QueueRef queue_of_json(std::string_view json);
HourRef hour_of_json(std::string_view queue, std::string_view json);
Shared<const JobTemplate> order_of_json(std::string_view json);

}  // namespace resonate
