// Requests that first run in a transaction that costs less, and run again if it proves wrong: beside those of other processes,
// where it locks the rows that they name (decision 51), without a look at the database (decision 53), or both (decision 58).
//
// The storage guards the rules: whatever a request may not read or change ends the transaction, and the request runs again, alone.
// So what may_share() and may_be_optimistic() let pass decides the speed, and never what is right.
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "engine_transaction.hpp"
#include "machine/derive.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// Whether a new job needs its own row alone, the settings of its queue, and that its unique key is free.
bool is_local_order(const JobOrder& order) { return !order.after && !order.parent && !order.group; }

// Whether a request mostly needs the row that it names, and nothing else. A promise with a target is dispatched by a message, and a
// cancelled one looks for jobs that are cancelled with it. A claim of one queue decides between no two, and one without a scope
// takes all jobs that it locks.
bool is_local(const Request& request) {
  if (std::holds_alternative<PromiseGet>(request.operation)) return true;
  if (const auto* const create = std::get_if<PromiseCreate>(&request.operation))
    return target_of(create->tags, dialect(request.dialect)) == nullptr;
  if (const auto* const settle = std::get_if<PromiseSettle>(&request.operation))
    return promise_state_named(settle->state) != PromiseState::rejected_canceled;
  if (const auto* const enqueue = std::get_if<JobEnqueue>(&request.operation)) return is_local_order(*enqueue->order);
  if (const auto* const many = std::get_if<JobEnqueueMany>(&request.operation)) {
    // An atomic one looks for the ids that it is about to make if it also names some.
    const auto named = std::ranges::count_if(many->orders, [](const JobOrder& order) { return order.id.has_value(); });
    const bool judged = !many->atomic || named == 0 || std::cmp_equal(named, many->orders.size());
    return judged && std::ranges::all_of(many->orders, is_local_order);
  }
  if (const auto* const claim = std::get_if<JobClaim>(&request.operation))
    return claim->queues.size() == 1 && request.scope.empty();
  return std::visit([]<class Asked>(const Asked&) { return is_of_holder<Asked>; }, request.operation);
}

// Whether the request creates a row or makes a job claimable. In a transaction that claims it would come after others by one and
// before them by the other.
bool makes_rows(const Operation& operation) {
  return std::holds_alternative<PromiseCreate>(operation) || std::holds_alternative<JobEnqueue>(operation) ||
         std::holds_alternative<JobEnqueueMany>(operation) || std::holds_alternative<JobRelease>(operation);
}

// Whether this holds for each caller of a transaction.
template <class Caller, class Holds>
bool all_callers(const Caller& first, const Caller& last, Holds holds) {
  for (const Caller* one = &first;; one = one->next) {
    if (!holds(*one)) return false;
    if (one == &last) return true;
  }
}

bool has_instants(std::span<const std::optional<Instant>> nows) {
  return std::ranges::any_of(nows, [](const auto& now) { return now.has_value(); });
}

bool only_creates(std::span<const Request> requests) {
  return std::ranges::all_of(requests, [](const Request& one) { return std::holds_alternative<PromiseCreate>(one.operation); });
}

}  // namespace

bool Engine::may_share(const Caller& first, const Caller& last) const {
  if (!storage_->shares_writes() || trace_) return false;  // a recording has the states that other processes have made
  const std::string* claimed = nullptr;
  bool makes = false;
  return all_callers(first, last, [&](const Caller& one) {
    for (const Request& request : one.requests) {
      if (!is_local(request)) return false;
      const auto* const claim = std::get_if<JobClaim>(&request.operation);
      if (claim && claimed && *claimed != claim->queues.front().name) return false;  // claims are in one order only in one queue
      if (claim) claimed = &claim->queues.front().name;
      makes = makes || makes_rows(request.operation);
    }
    if (claimed && makes) return false;
    return !has_instants(one.nows);
  });
}

bool Engine::may_be_optimistic(const Caller& first, const Caller& last) const {
  if (!storage_->knows_state() || trace_ || options_.check) return false;  // a check reads more than the requests
  return all_callers(first, last, [](const Caller& one) {
    for (const Request& request : one.requests)
      if (std::holds_alternative<JobClaim>(request.operation)) return false;  // it reads a range
    return !has_instants(one.nows);
  });
}

// Of callers that may share.
bool Engine::may_create_at_once(const Caller& first, const Caller& last) const {
  return storage_->creates_at_once() && all_callers(first, last, [](const Caller& one) { return only_creates(one.requests); });
}

// Runs the callers in one transaction that is optimistic or beside others. Returns false, and has changed nothing, if they must run
// alone.
bool Engine::run_first(Caller& first, const Caller& last, Plan& plan, Atomicity atomicity) {
  if (may_be_optimistic(first, last)) return run_copies(first, last, plan, Access::optimistic, atomicity);
  if (!may_share(first, last)) return false;
  const bool created = may_create_at_once(first, last) && run_copies(first, last, plan, Access::creating, atomicity);
  return created || run_copies(first, last, plan, Access::shared, atomicity);
}

// The same with this access. They must run in another way, too, if a step or a submission is due, which runs before the next
// request as it always does. A batch of which all or none run is that of one caller; if it is refused, it is judged again alone,
// since what it would have created is not protected.
bool Engine::run_copies(Caller& first, const Caller& last, Plan& plan, Access access, Atomicity atomicity) {
  constexpr int kTries = 3;  // others may create the same rows
  for (int left = kTries; left > 0; --left) {
    try {
      plan.expect(*storage_, access);
      Scope transaction(*this, access);
      const Uninterrupted uninterrupted;
      const Instant now = present();
      if (storage_->first_due() <= now) return false;
      plan.load(transaction->set, access);
      std::vector<std::vector<Reply>> replies;
      for (const Caller* one = &first;; one = one->next) {
        std::vector<Request> copies(one->requests.begin(), one->requests.end());  // the machine moves values out of them
        Caller copy{.requests = copies, .nows = {}, .replies = {}, .failure = {}, .ready = {}};
        run_batch(*transaction, copy, now, atomicity);
        if (atomicity == Atomicity::all_or_nothing && !copy.replies.back().ok()) return false;
        replies.push_back(std::move(copy.replies));
        if (one == &last) break;
      }
      if (access != Access::shared && !transaction->set.changed()) return false;  // no commit would check the replies
      commit(*transaction);
      auto its = replies.begin();
      for (Caller* one = &first;; one = one->next) {
        one->replies = std::move(*its++);
        if (one == &last) return true;
      }
    } catch (const RunAgain& again) {
      if (again.alone()) return false;
    }
  }
  return false;
}

}  // namespace resonate
