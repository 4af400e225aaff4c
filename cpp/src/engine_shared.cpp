// Requests that run beside those of other processes (decision 51): in a transaction that locks the rows that they name.
//
// The storage guards the rule: whatever else a request reads or changes ends the transaction, and the request runs again, alone. So
// what may_share() lets pass decides the speed, and never what is right.
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "engine_transaction.hpp"
#include "machine/derive.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// Whether a request mostly needs the row that it names, and nothing else. A promise with a target is dispatched by a message, and a
// cancelled one looks for jobs that are cancelled with it.
bool is_local(const Request& request) {
  if (std::holds_alternative<PromiseGet>(request.operation)) return true;
  if (const auto* const create = std::get_if<PromiseCreate>(&request.operation))
    return target_of(create->tags, dialect(request.dialect)) == nullptr;
  if (const auto* const settle = std::get_if<PromiseSettle>(&request.operation))
    return promise_state_named(settle->state) != PromiseState::rejected_canceled;
  return false;
}

}  // namespace

bool Engine::may_share(const Caller& first, const Caller& last) const {
  if (!storage_->shares_writes() || trace_) return false;  // a recording has the states that other processes have made
  for (const Caller* one = &first;; one = one->next) {
    if (!std::ranges::all_of(one->requests, is_local)) return false;
    if (std::ranges::any_of(one->nows, [](const auto& now) { return now.has_value(); })) return false;
    if (one == &last) return true;
  }
}

// Runs the callers in one transaction beside others. Returns false, and has changed nothing, if they must run alone: they need more
// than their rows, or a step or a submission is due, which runs before the next request as it always does.
bool Engine::run_shared(Caller& first, const Caller& last, Plan& plan) {
  constexpr int kTries = 3;  // others may create the same rows
  for (int left = kTries; left > 0; --left) {
    try {
      plan.expect(*storage_);
      Scope transaction(*this, Access::shared);
      const Uninterrupted uninterrupted;
      const Instant now = present();
      if (storage_->first_due() <= now) return false;
      plan.load(transaction->set);
      std::vector<std::vector<Reply>> replies;
      for (const Caller* one = &first;; one = one->next) {
        std::vector<Request> copies(one->requests.begin(), one->requests.end());  // the machine moves values out of them
        Caller copy{.requests = copies, .nows = {}, .replies = {}, .failure = {}, .ready = {}};
        run_batch(*transaction, copy, now, Atomicity::independent);
        replies.push_back(std::move(copy.replies));
        if (one == &last) break;
      }
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
