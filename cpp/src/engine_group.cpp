// Group commit: callers that arrive while a commit is under way share the next one. It serves the threads of a process. The
// server's batcher does not replace it: that one collects the requests of an event loop before they cost a thread each, and calls
// here as one of several threads, beside ticks, deliveries and whoever else uses the store.
#include "engine_transaction.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {
// What shares one commit at most, beyond the first caller: a transaction keeps everybody else out until it ends.
constexpr std::size_t kSharedRequests = 1000;
constexpr std::size_t kSharedSteps = 256;
}  // namespace

// The first caller in the queue leads. It takes who has come by the time the engine is free, runs as many of them as fit into one
// transaction, and hands the next turn on. A lone caller waits for nobody.
void Engine::share_commit(Caller& caller) {
  mutex_.refuse_owner();  // the caller ahead would be the one that waits for this one
  std::unique_lock waiting(callers_mutex_);
  (last_caller_ ? last_caller_->next : first_caller_) = &caller;
  last_caller_ = &caller;
  caller.turn.wait(waiting, [&] { return caller.done || first_caller_ == &caller; });
  if (!caller.done) {
    waiting.unlock();
    Caller* last = &caller;
    {
      std::lock_guard lock(mutex_);
      waiting.lock();
      for (std::size_t requests = caller.requests.size(); last->next; last = last->next) {
        requests += last->next->requests.size();
        if (requests > kSharedRequests) break;
      }
      waiting.unlock();
      last = run_group(caller, last);
    }
    waiting.lock();
    first_caller_ = last->next;
    if (!first_caller_) last_caller_ = nullptr;
    for (Caller* one = caller.next; &caller != last && one;) {
      Caller* const after = one == last ? nullptr : one->next;  // once it is told, a caller may be gone
      one->done = true;
      one->turn.notify_one();
      one = after;
    }
    if (first_caller_) first_caller_->turn.notify_one();
  }
  waiting.unlock();
  if (caller.failure) std::rethrow_exception(caller.failure);
}

// Runs them in one transaction as far as it takes them, and gives the last that is done. Whatever goes wrong goes wrong for all of
// those: there is one commit. Only an interrupt is the first one's alone, in whose thread this is: the others wait for the next to
// lead.
Engine::Caller* Engine::run_group(Caller& first, Caller* last) {
  Caller* ran = last;
  try {
    std::optional<Scope> begun;
    try {
      begun.emplace(*this, Access::write);
    } catch (const Interrupted&) {
      first.failure = std::current_exception();
      return &first;
    }
    const Uninterrupted whole;
    Scope& transaction = *begun;
    const Instant before = present();
    Instant at = before;
    // The link of the last may be written meanwhile, by who comes now; it is not looked at.
    Plan plan;
    for (Caller* one = &first;; one = one->next) {
      plan.add(one->requests);
      if (one == last) break;
    }
    plan.load(transaction->set);
    for (ran = &first;; ran = ran->next) {
      at = run_batch(*transaction, *ran, at, Atomicity::independent);
      if (ran == last || transaction->steps >= kSharedSteps) break;
    }
    commit(*transaction);
    if (at > before) move_clock(at);
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    for (Caller* one = &first;; one = one->next) {
      one->failure = failure;
      if (one == ran) break;
    }
  }
  return ran;
}

}  // namespace resonate
