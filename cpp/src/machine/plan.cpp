#include "machine/plan.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

#include "machine/job_groups.hpp"
#include "machine/request_members.hpp"

namespace resonate {
namespace {

// The edges that two members of a request name together.
void add_edges(const RegisterCallback& request, Plan& plan) { plan.edge(EdgeKind::callback, request.awaited, request.awaiter); }
void add_edges(const RegisterListener& request, Plan& plan) { plan.edge(EdgeKind::listener, request.awaited, request.address); }
void add_edges(const TaskSuspend& request, Plan& plan) {
  for (const RegisterCallback& action : request.actions) add_edges(action, plan);
}
void add_callbacks(const std::vector<std::string>& awaited, const std::string& awaiter, Plan& plan) {
  for (const std::string& id : awaited) plan.edge(EdgeKind::callback, id, awaiter);
}
void add_edges(const JobSuspend& request, Plan& plan) { add_callbacks(request.awaits, request.id, plan); }
void add_edges(const JobOrder& order, Plan& plan) {
  if (order.id && order.after) add_callbacks(*order.after, *order.id, plan);
}
void add_edges(const JobEnqueue& request, Plan& plan) { add_edges(*request.order, plan); }
void add_edges(const JobEnqueueMany& request, Plan& plan) {
  for (const JobOrder& order : request.orders) add_edges(order, plan);
}
template <class Rest>
void add_edges(const Rest&, Plan&) {}

}  // namespace

void Plan::add(const Operation& operation) {
  forget_generated();
  std::visit(
      [this](const auto& request) {
        each_name(request, [this](Names names, const std::string* text) { name(names, text); });
        add_edges(request, *this);
        using Asked = std::remove_cvref_t<decltype(request)>;
        any_job_ = any_job_ || is_of_holder<Asked> || is_any_of<Asked, JobEnqueue, JobEnqueueMany, JobClaim>;
        completes_all_ = completes_all_ && is_any_of<Asked, JobComplete, JobCompleteMany, JobClaim>;
        if constexpr (std::is_same_v<Asked, JobClaim>) claim(request);
        if constexpr (std::is_same_v<Asked, JobEnqueue>) key(*request.order);
        if constexpr (std::is_same_v<Asked, JobEnqueueMany>)
          for (const JobOrder& order : request.orders) key(order);
      },
      operation);
}

void Plan::name(Names names, const std::string* text) {
  switch (names) {
    case Names::row: return row(*text);
    case Names::row_or_new: return text ? row(*text) : job_without_id();
    case Names::schedule: return schedule(*text);
    case Names::queue:
    case Names::queue_of_jobs: return queue(*text);
    case Names::undecided:
    case Names::nothing:
    case Names::occurrences:  // made by later steps
    case Names::unique_key:   // found by its index
    case Names::addresses: return;
  }
}

// A batch names few queues.
void Plan::queue(std::string_view name) {
  if (std::ranges::find(queues_, name, &Lookup<QueueRef>::key) == queues_.end()) queues_.push_back({name});
}

void Plan::claim(const JobClaim& claim) {
  for (const QueueChoice& choice : claim.queues) {
    const auto known = std::ranges::find(claims_, choice.name, &ClaimLookup::queue);
    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(claim.count, 0, kMostAtOnce));  // not judged yet
    if (known == claims_.end()) {
      claims_.push_back({choice.name, count});
    } else {
      known->most += count;
    }
  }
}

void Plan::key(const JobOrder& order) {
  if (order.unique_key) keys_.push_back({order.queue, *order.unique_key});
}

void Plan::forget_generated() {
  rows_.resize(rows_.size() - generated_.size());
  generated_.clear();
  generated_after_ = -1;
}

// Adds the rows of the ids that the jobs without an id will get, since a caller may have used one of them already.
void Plan::generate_ids(std::int64_t after) {
  if (jobs_without_id_ == 0 || after == generated_after_) return;
  forget_generated();
  generated_.reserve(jobs_without_id_);  // rows_ has views of them
  generated_after_ = after;
  while (generated_.size() < jobs_without_id_) {
    after = saturating_add(after, 1);
    generated_.push_back(generated_name("job", after));
    row(generated_.back());
  }
}

// A transaction that shares takes its numbers while it begins, so that their ids are not known before. No request reads them: the
// commit finds out whether they are free.
void Plan::expect(Storage& storage, Access access) {
  if (is_beside_others(access)) {
    forget_generated();
  } else {
    generate_ids(storage.counters().jobs);
  }
  storage.expect(
      lookups(),
      {.any = any_job_, .completes_all = completes_all_, .without_id = jobs_without_id_, .claims = claims_, .keys = keys_});
}

void Plan::load(WorkingSet& set, Access access) {
  if (!is_beside_others(access)) generate_ids(set.counters().jobs);
  if (rows_.size() + schedules_.size() + queues_.size() + edges_.size() >= 2) set.prefetch(lookups());
}

}  // namespace resonate
