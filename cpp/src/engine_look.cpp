// Looks by a read whether a request would change anything, before it waits for the write lock, which other processes may hold.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine_transaction.hpp"
#include "machine/machine.hpp"

namespace resonate {

// Reads first: a tick that changes nothing does not wait for the write lock, which another process may hold.
bool Engine::nothing_to_tick(Instant at) {
  Scope transaction(*this, Access::read);
  WorkingSet& set = transaction->set;
  const std::int64_t dropped = set.counters().dropped;
  observe_instant(set, at, options_);
  if (set.counters().dropped != dropped || storage_->first_due() <= at) return false;
  if (shares_manual_clock_ && storage_->counters().now < at) return false;
  commit(*transaction);
  return true;
}

// Returns the replies to claims that find no job; none if the requests must run, since they contain another request, or a job may
// be claimable. Every idle worker of a fleet claims after each commit that brings work, and at most one of them finds it: if each
// of them took the write lock, they would keep the others out.
//
// A claim does not look if the last one found as many jobs as it asked for, or this process has made work since: it finds some.
std::vector<Reply> Engine::look_before_claims(std::span<const Request> requests) {
  const auto claims = [](const Request& one) { return std::holds_alternative<JobClaim>(one.operation); };
  if (!remote_ || requests.empty() || !std::ranges::all_of(requests, claims)) return {};
  std::lock_guard lock(mutex_);
  if (claim_may_find_ || trace_) return {};  // a recording has all requests that write
  for (const Request& request : requests)
    if (refuse_request(request)) return {};
  Plan plan;
  for (const Request& request : requests) plan.add(request.operation);
  plan.expect(*storage_);
  Scope transaction(*this, Access::read);
  const Instant now = present();
  if (storage_->first_due() <= now) return {};
  if (shares_manual_clock_ && storage_->counters().now < now) return {};
  plan.load(transaction->set);
  std::vector<Reply> replies;
  for (const Request& request : requests) {
    Request copy = request;  // the machine moves values out of it
    Reply reply = Machine(transaction->set, now, copy, options_).run(copy.operation);
    if (!reply.rows.empty()) return {};
    replies.push_back(std::move(reply));
  }
  return replies;
}

}  // namespace resonate
