// What can be refused of a request on jobs or queues without looking at the state.
#pragma once

#include <optional>
#include <string>

#include "resonate/job_requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

std::optional<std::string> refuse_order(const JobOrder& order, const Dialect& dialect);

// The job of a schedule; its promises have these tags.
std::optional<std::string> refuse_template(const JobOrder& order, const StringMap& tags, const Dialect& dialect);

std::optional<std::string> refuse_job_request(const JobEnqueueMany& request);
std::optional<std::string> refuse_job_request(const JobGet& request);
std::optional<std::string> refuse_job_request(const JobClaim& request);
std::optional<std::string> refuse_job_request(const JobStart& request);
std::optional<std::string> refuse_job_request(const JobStartMany& request);
std::optional<std::string> refuse_job_request(const JobHeartbeat& request);
std::optional<std::string> refuse_job_request(const JobComplete& request);
std::optional<std::string> refuse_job_request(const JobCompleteMany& request);
std::optional<std::string> refuse_job_request(const JobFail& request);
std::optional<std::string> refuse_job_request(const JobRelease& request);
std::optional<std::string> refuse_job_request(const JobSnooze& request);
std::optional<std::string> refuse_job_request(const JobCancel& request);
std::optional<std::string> refuse_job_request(const JobRun& request);
std::optional<std::string> refuse_job_request(const JobArchive& request);
std::optional<std::string> refuse_job_request(const JobDelete& request);
std::optional<std::string> refuse_job_request(const JobSearch& request);
std::optional<std::string> refuse_job_request(const JobStats& request);
std::optional<std::string> refuse_job_request(const QueueSet& request);
std::optional<std::string> refuse_job_request(const QueueGet& request);
std::optional<std::string> refuse_job_request(const QueuePause& request);
std::optional<std::string> refuse_job_request(const QueueResume& request);
std::optional<std::string> refuse_job_request(const QueueList& request);

}  // namespace resonate
