// Group commit: callers that arrive during a commit share the next one; those that arrive while its transaction begins join it. It
// serves the threads of a process. The server's batcher does not replace it: the batcher collects the requests of an event loop
// before they cost a thread each, and it is only one of the threads that use the store, beside ticks and deliveries.
#include <numeric>
#include <span>

#include "engine_transaction.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {
// A limit of one commit beyond the first caller, beside kRecordsOfCommit.
constexpr std::size_t kSharedSteps = 256;

std::size_t records_of_all(std::span<const Request> requests) {
  return std::accumulate(requests.begin(), requests.end(), std::size_t{0},
                         [](std::size_t sum, const Request& one) { return sum + records_of(one.operation); });
}
}  // namespace

// The first caller in the queue leads. When the engine is free, the leader runs as many queued callers as fit into one transaction,
// commits, and makes the next caller the leader. A caller that is alone does not wait.
void Engine::share_commit(Caller& caller) {
  mutex_.refuse_owner();  // a caller inside the engine would wait for itself
  std::unique_lock waiting(callers_mutex_);
  (last_caller_ ? last_caller_->next : first_caller_) = &caller;
  last_caller_ = &caller;
  caller.ready.wait(waiting, [&] { return caller.done || first_caller_ == &caller; });
  if (!caller.done) {
    waiting.unlock();
    Caller* last = nullptr;
    {
      std::lock_guard lock(mutex_);
      last = run_group(caller);
    }
    waiting.lock();
    first_caller_ = last->next;
    if (!first_caller_) last_caller_ = nullptr;
    for (Caller* one = caller.next; &caller != last && one;) {
      Caller* const after = one == last ? nullptr : one->next;  // a notified caller may be destroyed at once
      one->done = true;
      one->ready.notify_one();
      one = after;
    }
    if (first_caller_) first_caller_->ready.notify_one();
  }
  waiting.unlock();
  if (caller.failure) std::rethrow_exception(caller.failure);
}

// The callers that share a transaction: the first one, and those that wait behind it. New callers join the queue meanwhile, so a
// link is read under the mutex of the queue, or if it is that of a caller before the last one.
class Engine::Group {
 public:
  Group(Engine& engine, Caller& first) : engine_(engine), last_(&first), records_(records_of_all(first.requests)) {
    plan_all(first);
    admit();
  }
  // Adds the callers that wait by now, and names their records in the plan.
  void admit() {
    Caller* const before = last_;
    {
      std::lock_guard lock(engine_.callers_mutex_);
      for (; last_->next; last_ = last_->next) {
        records_ += records_of_all(last_->next->requests);
        if (records_ > kRecordsOfCommit) break;
      }
    }
    for (Caller* one = before; one != last_; one = one->next) plan_all(*one->next);
  }
  Caller* last() const noexcept { return last_; }
  Plan& plan() noexcept { return plan_; }

 private:
  void plan_all(const Caller& caller) {
    for (const Request& request : caller.requests) plan_.add(request.operation);
  }

  Engine& engine_;
  Caller* last_;
  std::size_t records_;
  Plan plan_;
};

// Runs the callers in one transaction until its limit, and returns the last one that ran. They share the commit, so a failure fails
// all of them. An interrupt fails only the first caller, whose thread runs this; the next caller then leads.
//
// A transaction may begin late, since another process writes. The callers that arrive until then join it: otherwise each process
// would commit the few callers that came first, and then wait again with the others.
Engine::Caller* Engine::run_group(Caller& first) {
  Caller* ran = &first;
  try {
    Group group(*this, first);
    ran = group.last();
    std::optional<Scope> begun;
    try {
      if (run_first(first, *group.last(), group.plan())) return ran;
      if (remote_) group.plan().expect(*storage_);
      begun.emplace(*this, Access::write);
    } catch (const Interrupted&) {
      first.failure = std::current_exception();
      return &first;
    }
    const Uninterrupted uninterrupted;
    Scope& transaction = *begun;
    group.admit();
    ran = group.last();
    const Instant before = present();
    Instant at = before;
    (void)run_submissions(*transaction, before);
    group.plan().load(transaction->set);  // after them: they may have taken the next ids of jobs
    for (ran = &first;; ran = ran->next) {
      at = run_batch(*transaction, *ran, at, Atomicity::independent);
      if (ran == group.last() || transaction->steps >= kSharedSteps) break;
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
