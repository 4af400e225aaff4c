// The properties of jobs (JOBS 1 to 3), each under its own name.
#pragma once

#include <vector>

#include "resonate/errors.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// Of one stored row that is a job.
void check_job(const Row& row, std::vector<Violation>& found);
// Of a row before and after a request or an internal step; one of them is a job.
void check_job_step(const Row& before, const Row& after, std::vector<Violation>& found);
// Of all queues, given how many jobs of each state were found in each.
void check_queue(const Queue& queue, const std::array<std::int64_t, kJobStates>& found_jobs, std::vector<Violation>& found);

}  // namespace resonate
