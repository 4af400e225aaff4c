// Group commit: callers that arrive while a commit is under way share the next one.
#include "engine_transaction.hpp"

namespace resonate {

namespace {
// How many requests share one commit at most.
constexpr std::size_t kSharedRequests = 10'000;
}  // namespace

// The first caller in the queue leads. It takes everybody who has come by the time the engine is free, runs all of them
// in one transaction, and hands the next turn on. A lone caller waits for nobody.
void Engine::share_commit(Caller& caller) {
  std::unique_lock waiting(callers_mutex_);
  callers_.push_back(&caller);
  caller.turn.wait(waiting, [&] { return caller.done || callers_.front() == &caller; });
  if (!caller.done) {
    waiting.unlock();
    std::vector<Caller*> group;
    {
      std::lock_guard lock(mutex_);
      waiting.lock();
      std::size_t requests = 0;
      for (Caller* one : callers_) {
        if (!group.empty() && requests + one->requests.size() > kSharedRequests) break;
        requests += one->requests.size();
        group.push_back(one);
      }
      waiting.unlock();
      run_group(group);
    }
    waiting.lock();
    callers_.erase(callers_.begin(), callers_.begin() + static_cast<std::ptrdiff_t>(group.size()));
    for (Caller* one : group) {
      one->done = true;
      if (one != &caller) one->turn.notify_one();
    }
    if (!callers_.empty()) callers_.front()->turn.notify_one();
  }
  waiting.unlock();
  if (caller.failure) std::rethrow_exception(caller.failure);
}

// Whatever goes wrong goes wrong for all of them: there is one commit.
void Engine::run_group(std::span<Caller* const> group) {
  try {
    Scope transaction(*this, Access::write);
    const Instant before = present();
    Instant at = before;
    for (Caller* caller : group) at = run_batch(*transaction, *caller, at, Atomicity::independent);
    commit(*transaction);
    if (at > before) move_clock(at);
  } catch (...) {
    for (Caller* caller : group) caller->failure = std::current_exception();
  }
}

}  // namespace resonate
