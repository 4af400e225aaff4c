// Requests of operators: search jobs and queues; cancel, run, archive, delete and pause (JOBS 5).
#include <algorithm>
#include <utility>
#include <variant>

#include "machine/glob.hpp"
#include "machine/job_children.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"

namespace resonate {

namespace {

constexpr std::size_t kChangedAtOnce = 1000;
constexpr std::size_t kMostMessages = 10'000;  // that go with a job which is deleted before its end

// The event that a request raises on each job it changes.
constexpr JobEvent event_of(const JobCancel&) noexcept { return JobEvent::cancel; }
constexpr JobEvent event_of(const JobRun&) noexcept { return JobEvent::run; }
constexpr JobEvent event_of(const JobArchive&) noexcept { return JobEvent::archive; }
constexpr JobEvent event_of(const JobDelete&) noexcept { return JobEvent::remove; }

}  // namespace

bool Machine::matches(const JobFilter& filter, const Row& row) const {
  if (!row.job || !in_scope(row.id())) return false;
  if (filter.queue && *filter.queue != row.job->spec->queue) return false;
  if (filter.type && *filter.type != row.job->spec->type) return false;
  if (filter.group && !(row.job->spec->group && row.job->spec->group->text == *filter.group)) return false;
  if (filter.state && *filter.state != name_of(job_state_at(row, now_))) return false;
  return row.promise_spec->tags.contains(filter.tags);
}

// Returns a range that contains the filter's jobs. A job past its deadline or good_until counts as failed or expired before its
// step has run, and is indexed under its stored state: so the index of these states serves only while no step is due.
RowRange Machine::range_for(const JobFilter& filter) {
  const std::optional<JobState> state = filter.state ? job_state_named(*filter.state) : std::nullopt;
  if (!state || !has_state_index(*state)) return {};
  const bool by_instant = *state == JobState::failed || *state == JobState::expired;
  if (by_instant && set_.next_due(now_)) return {};
  return jobs_in_state(*state);
}

// Returns the jobs that match the filter and that `wanted` accepts: at most the number that one request changes, plus one if there
// are more.
std::vector<RowRef> Machine::chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted) {
  const auto fits = [&](const Row& row) { return matches(filter, row) && wanted(row); };
  if (!filter.chosen_ids) {
    RowRange range = range_for(filter);
    range.limit = kChangedAtOnce + 1;
    return scan_by_id(std::move(range), fits);
  }
  std::vector<RowRef> rows;
  for (const std::string& id : *filter.chosen_ids)
    if (const Entry* entry = set_.follow(id); entry && fits(*entry->now)) rows.push_back(entry->now);
  return rows;
}

template <class Change>
Reply Machine::change_chosen(const JobFilter& filter, const std::function<bool(const Row&)>& wanted, Change change) {
  std::vector<RowRef> rows = chosen(filter, wanted);
  Shared<JobReply> job_reply(new JobReply);
  job_reply->more = std::max(rows.size(), filter.chosen_ids ? filter.chosen_ids->size() : 0) > kChangedAtOnce;
  if (rows.size() > kChangedAtOnce) rows.pop_back();
  job_reply->count = static_cast<std::int64_t>(rows.size());
  for (const RowRef& row : rows) change(*set_.follow(row->id()));
  Reply reply = ok();
  reply.jobs = std::move(job_reply);
  return reply;
}

template <class Request, class Change>
Reply Machine::change_jobs(const Request& request, std::string_view action, Change change) {
  constexpr JobEvent kEvent = event_of(Request());
  if (!request.which.id) return change_chosen(request.which, applicable(kEvent), change);
  Entry* entry = set_.find(*request.which.id);
  if (auto refused = job_refusal(entry, *request.which.id, kEvent, action)) return *std::move(refused);
  change(*entry);
  return answer(*entry);
}

std::function<bool(const Row&)> Machine::applicable(JobEvent event) const {
  if (event == JobEvent::remove) return [this](const Row& row) { return may_be_deleted(row); };
  return [this, event](const Row& row) { return applies(event, job_state_at(row, now_)); };
}

std::vector<std::string> Machine::choose(const Operation& operation) {
  std::vector<RowRef> rows;
  std::visit(
      [&](const auto& request) {
        if constexpr (requires { event_of(request); }) rows = chosen(request.which, applicable(event_of(request)));
      },
      operation);
  std::vector<std::string> ids;
  ids.reserve(rows.size());
  for (const RowRef& row : rows) ids.push_back(row->id());
  return ids;
}

Reply Machine::run(JobCancel& request) {
  return change_jobs(request, "cancelled", [this](Entry& entry) { cancel_job(set_, entry, now_); });
}

Reply Machine::run(JobRun& request) {
  return change_jobs(request, "run", [this](Entry& entry) { make_ready(set_, entry, JobEvent::run, now_); });
}

Reply Machine::run(JobArchive& request) {
  return change_jobs(request, "archived", [this](Entry& entry) { archive_job(set_, entry); });
}

std::vector<RowRef> Machine::messages_of(const Row& job, std::size_t most) {
  if (!job.job->has_family()) return {};
  RowRange range = children_of(job.id());
  range.limit = most;
  return set_.scan(std::move(range), [](const Row& row) { return row.is_message(); });
}

std::optional<Reply> Machine::delete_refusal(const Entry& entry) {
  const Row& row = *entry.now;
  const JobState state = job_state_at(row, now_);
  if (!applies(JobEvent::remove, state))
    return refusal(status::kConflict, "job " + quoted(row.id()) + " is " + std::string(name_of(state)) +
                                          " and cannot be deleted: cancel it, or wait until its worker has finished");
  if (!is_terminal(state) && (row.callbacks || row.listeners))
    return refusal(status::kConflict, "job " + quoted(row.id()) + " is awaited and cannot be deleted: cancel it");
  if (!is_terminal(state) && row.job->steps > 0)
    return refusal(status::kConflict, "job " + quoted(row.id()) + " has children and cannot be deleted: cancel it first");
  if (!is_terminal(state) && messages_of(row, kMostMessages + 1).size() > kMostMessages)
    return refusal(status::kConflict, "job " + quoted(row.id()) + " has more than " + std::to_string(kMostMessages) +
                                          " messages and cannot be deleted at once: cancel it first");
  return std::nullopt;
}

// Deletes a job without awaiters or listeners at once. A settled job is marked; its retention step deletes it when all are
// notified.
void Machine::delete_job(Entry& entry) {
  if (entry.now->dead_at(now_)) run_last_step(set_, entry);
  if (entry.now->state == PromiseState::pending) {
    leave_group(set_, entry);
    leave_awaits(set_, entry);
    for (const RowRef& message : messages_of(*entry.now, kMostMessages)) remove_row(set_, *set_.follow(message->id()));
    return remove_row(set_, entry);
  }
  mark_deleted(set_, entry, now_);
}

Reply Machine::run(JobDelete& request) {
  if (request.which.id) {
    Entry* entry = set_.find(*request.which.id);
    if (!entry || !entry->now->job) return no_job(*request.which.id);
    if (auto refused = delete_refusal(*entry)) return *std::move(refused);
    delete_job(*entry);
    return ok();
  }
  return change_chosen(request.which, applicable(event_of(request)), [this](Entry& entry) { delete_job(entry); });
}

bool Machine::may_be_deleted(const Row& row) const {
  const bool needed = row.pending_at(now_) && (row.callbacks || row.listeners || row.job->has_family());  // one by one, by id
  return !row.job->deleted && !needed;
}

// Returns whether the queues' counts show that no job matches queue and state, so that no search is needed. Failed and expired are
// not decided by counts: an instant can end jobs before a step counts them.
bool Machine::counts_exclude(const JobFilter& filter) {
  const std::optional<JobState> state = filter.state ? job_state_named(*filter.state) : std::nullopt;
  if (state == JobState::failed || state == JobState::expired) return false;
  const auto some = [&](const Queue& queue) {
    if (state) return queue.counts[static_cast<std::size_t>(*state)] > 0;
    return std::any_of(queue.counts.begin(), queue.counts.end(), [](std::int64_t count) { return count > 0; });
  };
  if (filter.queue) {
    const Queue* queue = set_.find_queue(*filter.queue);
    return !queue || !some(*queue);
  }
  // Under the lock, a store with many queues is searched without their counts; the search itself is limited there.
  const std::optional<std::vector<QueueRef>> queues = set_.queues_within_limit();
  return queues && std::none_of(queues->begin(), queues->end(), [&](const QueueRef& queue) { return some(*queue); });
}

Reply Machine::run(JobSearch& request) {
  const auto limit = static_cast<std::size_t>(request.limit.value_or(100));
  RowRange range = range_for(request.filter);
  range.after.id = request.cursor;
  range.limit = limit + 1;
  Reply reply = ok();
  if (counts_exclude(request.filter)) return reply;
  const std::optional<Glob> glob = request.filter.id ? std::optional<Glob>(*request.filter.id) : std::nullopt;
  reply.rows = scan_by_id(std::move(range), [&](const Row& row) {
    if (!matches(request.filter, row)) return false;
    if (request.unique_key && row.job->spec->unique_key != request.unique_key) return false;
    return !glob || glob->matches(row.id());
  });
  if (reply.rows.size() > limit) {
    reply.rows.pop_back();
    reply.cursor = reply.rows.back()->id();
  }
  return reply;
}

}  // namespace resonate
