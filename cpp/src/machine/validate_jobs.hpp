// Checks of requests on jobs and queues that need no state, in addition to the limits of single members.
#pragma once

#include <optional>
#include <string>

#include "resonate/job_family_requests.hpp"
#include "resonate/job_requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

// With the limits of its members.
std::optional<std::string> refuse_order(const JobOrder& order, const Dialect& dialect);

// The job of a schedule; its promises have these tags.
std::optional<std::string> refuse_template(const JobOrder& order, const StringMap& tags, const Dialect& dialect);

std::optional<std::string> refuse_between(const JobClaim& request);
std::optional<std::string> refuse_between(const JobSuspend& request);
std::optional<std::string> refuse_between(const JobRecordSteps& request);
std::optional<std::string> refuse_between(const JobReceive& request);
std::optional<std::string> refuse_between(const JobSend& request);
std::optional<std::string> refuse_between(const JobHistory& request);
std::optional<std::string> refuse_between(const JobReport& request);
std::optional<std::string> refuse_between(const JobCancel& request);
std::optional<std::string> refuse_between(const JobRun& request);
std::optional<std::string> refuse_between(const JobArchive& request);
std::optional<std::string> refuse_between(const JobDelete& request);

}  // namespace resonate
