#include "machine/job_groups.hpp"

#include <algorithm>
#include <utility>

#include "machine/derive.hpp"
#include "machine/job_moves.hpp"

namespace resonate {

namespace {

GroupLimits limits_of(WorkingSet& set, const std::string& queue) {
  const Queue* const known = set.follow_queue(queue);
  return known && known->groups ? *known->groups : GroupLimits{};
}

Instant ready_at(const GroupState& group_state, const GroupLimits& limits) {
  Instant at = saturating_add(group_state.last_at, limits.grace);
  if (limits.max_delay) at = std::min(at, saturating_add(group_state.first_at, *limits.max_delay));
  return std::max(at, group_state.last_at);
}

void set_leader(WorkingSet& set, WorkingSet::Entry& entry, Shared<const GroupState> group_state, Instant ready_at) {
  Row& row = set.edit(entry);
  edit_job(row).group_state = std::move(group_state);
  row.retry_at = ready_at;
  set.touched(entry);
}

Shared<const GroupState> with_member_count(const GroupState& group_state, std::int64_t count) {
  Shared<GroupState> changed(new GroupState(group_state));
  changed->count = count;
  return changed;
}

}  // namespace

std::string generated_name(std::string_view prefix, std::int64_t number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name = std::string(prefix) + ":0000000000000000";
  for (std::size_t at = name.size(); number > 0; number >>= 4) name[--at] = kDigits[number & 15];
  return name;
}

void join_group(WorkingSet& set, WorkingSet::Entry& entry, Instant at) {
  const Shared<const JobSpec> spec = entry.now->job->spec;
  WorkingSet::Entry* leader = set.first_of(leaders_of_group(*spec));
  if (leader && leader->now->retry_at <= at) {  // the group is due, but its step has not run yet
    make_batch_ready(set, *leader, leader->now->retry_at);
    leader = nullptr;
  }
  Shared<GroupState> group_state(leader ? new GroupState(*leader->now->job->group_state) : new GroupState);
  if (leader) {
    group_state->last_at = std::max(group_state->last_at, at);
    group_state->count = saturating_add(group_state->count, 1);
  } else {
    group_state->first_at = group_state->last_at = at;
  }
  {
    Row& row = set.edit(entry);
    Job& job = edit_job(row);
    job.gathering = true;
    job.batch = leader ? leader->now->job->batch
                       : Shared<const SharedString>(new SharedString(generated_name("batch", ++set.counters().jobs)));
    row.retry_at = row.promise_spec->timeout_at;
    set.touched(entry);
  }
  if (!leader) leader = &entry;
  const GroupLimits limits = limits_of(set, spec->queue);
  const bool full = group_state->count >= limits.size;
  set_leader(set, *leader, group_state, ready_at(*group_state, limits));
  if (full) make_batch_ready(set, *leader, group_state->last_at);
}

void leave_group(Job& job) {
  if (!job.gathering) return;
  job.gathering = false;
  job.batch = nullptr;
  job.group_state = nullptr;
}

void leave_group(WorkingSet& set, WorkingSet::Entry& entry) {
  if (!entry.now->job || !entry.now->job->gathering) return;
  const Shared<const Job> left = entry.now->job;
  const Instant ready_at = entry.now->retry_at;
  leave_group(edit_job(set.edit(entry)));
  if (!left->group_state) {
    WorkingSet::Entry* const leader = set.first_of(leaders_of_group(*left->spec));
    if (!leader) return;  // possible only in a snapshot written by hand
    return set_leader(set, *leader,
                      with_member_count(*leader->now->job->group_state, saturating_sub(leader->now->job->group_state->count, 1)),
                      leader->now->retry_at);
  }
  if (WorkingSet::Entry* const next = set.first_of(jobs_of_batch(left->spec->queue, left->batch->text)))
    set_leader(set, *next, with_member_count(*left->group_state, saturating_sub(left->group_state->count, 1)), ready_at);
}

void make_batch_ready(WorkingSet& set, WorkingSet::Entry& leader, Instant at) {
  std::vector<WorkingSet::Entry*> jobs = set.all_of(jobs_of_batch(leader.now->job->spec->queue, leader.now->job->batch->text));
  jobs.push_back(&leader);
  for (WorkingSet::Entry* one : jobs) {
    Job& job = edit_job(set.edit(*one));
    job.gathering = false;
    job.group_state = nullptr;
    make_ready(set, *one, JobEvent::ready, at);
  }
}

}  // namespace resonate
