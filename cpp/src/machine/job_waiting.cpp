#include "machine/job_waiting.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"
#include "machine/keepers.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

std::string_view how_it_ended(PromiseState state) noexcept {
  switch (state) {
    case PromiseState::rejected_canceled: return "was cancelled";
    case PromiseState::rejected_timedout: return "timed out";
    default: return "was rejected";
  }
}

}  // namespace

JobError dependency_failed(const Row& settled, Instant now) {
  return {"DependencyFailed",
          "the awaited promise " + quoted(settled.id()) + " " + std::string(how_it_ended(settled.state_at(now))),
          {}};
}

std::vector<std::string> distinct(const std::vector<std::string>& ids) {
  if (ids.size() < 2) return ids;
  std::vector<std::string> kept;
  std::unordered_set<std::string_view> seen;
  for (const std::string& id : ids)
    if (seen.insert(id).second) kept.push_back(id);
  return kept;
}

std::vector<std::string> ids_of(const std::vector<RowEntry*>& entries) {
  std::vector<std::string> ids;
  ids.reserve(entries.size());
  for (const RowEntry* entry : entries) ids.push_back(entry->now->id());
  return ids;
}

void leave_awaits(WorkingSet& set, WorkingSet::Entry& job, bool cancelled) {
  const IdList awaits = job.now->job->awaits;
  if (awaits.empty()) return;
  std::vector<Lookup<RowRef>> rows;
  std::vector<EdgeLookup> edges;
  for (const std::string& id : awaits) {
    if (!set.knows(id)) rows.push_back({id});
    if (!set.knows_edge(EdgeKind::callback, id, job.now->id())) edges.push_back({EdgeKind::callback, id, job.now->id()});
  }
  if (rows.size() + edges.size() > 0) set.prefetch({.rows = rows, .edges = edges});
  for (const std::string& id : awaits) {
    const EdgeRef edge = set.follow_edge(EdgeKind::callback, id, job.now->id());
    if (!edge || (cancelled && edge->cancels)) continue;  // none: it has just been drained, or the job ends before it waits
    WorkingSet::Entry* const awaited = set.follow(id);
    if (awaited && is_drained(*awaited->now, *edge)) continue;
    if (awaited && awaited->now->job && is_child_of(*awaited->now, job.now->id())) continue;  // it awaits its child to the end
    set.remove_edge(edge);
    if (!awaited || awaited->now->callbacks == 0)
      throw Error(ErrorCode::storage, "a stored row is damaged: " + quoted(id) + " is awaited by job " + quoted(job.now->id()) +
                                          ", and does not count it");
    --set.edit(*awaited).callbacks;
    set.touched(*awaited);
  }
}

bool wake_job(WorkingSet& set, WorkingSet::Entry& waiting, const Row& settled, Instant now) {
  const Row& row = *waiting.now;
  const Job& job = *row.job;
  if (job.state != JobState::waiting || row.dead_at(now)) return false;
  const auto lacked = std::ranges::find(job.awaits, settled.id());
  if (lacked == job.awaits.end()) return false;
  const bool failed = settled.state != PromiseState::resolved;
  if (!job.until && failed && job.spec->after_failed == AfterFailed::cancel) {
    cancel_job(set, waiting, dependency_failed(settled, now), now);
    return false;
  }
  if (job.awaits.size() > 1 && job.until != Until::any && !(job.until && failed)) {
    const auto place = lacked - job.awaits.begin();
    IdList& awaits = edit_job(set.edit(waiting)).awaits;
    awaits.erase(awaits.begin() + place);
    set.touched(waiting);
  } else if (!job.until && job.process_at > now) {
    postpone_job(set, waiting);
  } else {
    // The job lacked this promise alone, and its callback has just been drained: make_ready() has no callback to take back.
    if (job.awaits.size() == 1) edit_job(set.edit(waiting)).awaits.clear();
    make_ready(set, waiting, JobEvent::wake, now);
  }
  return true;
}

void remove_job(WorkingSet& set, WorkingSet::Entry& entry) {
  if (entry.now->job->keepers > 0) forget_keepers(set, entry);
  count_deleted(set, *entry.now->job);
  set.remove(entry);
}

std::optional<Reply> Machine::find_awaited(const std::vector<std::string>& ids, Awaited& found) {
  for (const std::string& id : ids) {
    Entry* entry = set_.find(id);
    if (!entry) return refusal(status::kUnprocessable, "awaited promise " + quoted(id) + " does not exist");
    if (auto refused = internal_refusal(*entry->now)) return refused;
    const PromiseState state = entry->now->state_at(now_);
    (state == PromiseState::pending ? found.pending : found.settled).push_back(entry);
    if (!found.failed && state != PromiseState::pending && state != PromiseState::resolved) found.failed = entry;
  }
  return std::nullopt;
}

void Machine::keep_settled(const Awaited& awaited, const std::string& job) {
  for (Entry* settled : awaited.settled)
    if (may_have_keepers(*settled->now)) keep(set_, *settled, job);
}

Reply Machine::run(JobSuspend& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::suspend, "suspended"))
    return *std::move(refused);
  if (entry->now->job->batch)
    return refusal(status::kInvalid, "job " + quoted(request.id) + " is of a batch and cannot wait: its batch ends as one");
  Awaited awaited;
  if (auto refused = find_awaited(distinct(request.awaits), awaited)) return *std::move(refused);
  const Until until = request.until ? *until_named(*request.until) : Until::any;
  const bool goes_on = until == Until::any ? !awaited.settled.empty() : awaited.failed || awaited.pending.empty();
  if (goes_on) {
    Reply reply = answer(*entry);
    reply.status = status::kRedirect;
    return reply;
  }
  suspend_job(set_, *entry, ids_of(awaited.pending), until, now_);
  for (Entry* one : awaited.pending) add_callback(*one, *entry->now);
  keep_settled(awaited, request.id);
  return answer(*entry);
}

}  // namespace resonate
