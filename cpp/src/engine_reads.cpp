// Long reads use a snapshot, beside the writer.
#include <algorithm>

#include "engine_transaction.hpp"
#include "machine/machine.hpp"
#include "machine/validate.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// The most rows that a search reads under the lock. Most searches need fewer, and then no snapshot.
constexpr std::size_t kRowsUnderLock = 500;
// The most new rows that are indexed before the lock is released once.
constexpr std::size_t kIndexedAtOnce = 5000;
// The most idle snapshots that are kept for reuse.
constexpr std::size_t kIdle = 3;

}  // namespace

void Engine::index_in_slices() {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (storage_->index_some(kIndexedAtOnce)) return;
    }
    allow_interrupt(Pause::working);
  }
}

std::unique_ptr<Storage> Engine::idle_snapshot() {
  std::lock_guard lock(idle_mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Storage> used = std::move(idle_.back());
  idle_.pop_back();
  return used;
}

// Call under the lock, inside a transaction. Returns null if the storage cannot be opened a second time.
std::unique_ptr<Storage> Engine::begin_snapshot() {
  try {
    return storage_->snapshot(idle_snapshot());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::storage) throw;
    return nullptr;
  }
}

Engine::Snapshot::Snapshot(Engine& engine) : engine_(engine) {
  engine.index_in_slices();
  lock_ = std::unique_lock(engine.mutex_);
  reading_.emplace(*engine.storage_, Access::read);
  begun_ = engine.begin_snapshot();
  if (!begun_) return;
  reading_.reset();
  lock_.unlock();
}

Engine::Snapshot::~Snapshot() {
  if (!begun_) return;
  begun_->end();
  if (!engine_.durable_) return;  // a snapshot in memory cannot be renewed, and costs almost nothing to make
  std::lock_guard lock(engine_.idle_mutex_);
  if (engine_.idle_.size() < kIdle) engine_.idle_.push_back(std::move(begun_));
}

// Searches a limited number of rows under the lock. If that does not suffice, searches again on a snapshot of the same state,
// without the lock. Call it if read_on_snapshot has not answered: the lock is free then, or no snapshot can be made.
Reply Engine::search(Request& request) {
  index_in_slices();
  std::unique_ptr<Storage> begun;
  Instant at = 0;
  {
    std::lock_guard lock(mutex_);
    Scope transaction(*this, Access::read);
    at = present();
    if (auto problem = refuse(request, options_.rules)) return refused(status::kInvalid, *std::move(problem), at);
    if (trace_) {  // a trace records requests in order
      Reply reply = run(*transaction, request, at);
      commit(*transaction);
      return reply;
    }
    for (const std::size_t most : {kRowsUnderLock, SIZE_MAX}) {
      transaction->set.limit_rows_read(most);
      Reply reply = Machine(transaction->set, at, request, options_).run(request.operation);
      if (!transaction->set.reached_row_limit()) return reply;
      if ((begun = begin_snapshot())) break;
    }
  }
  const Snapshot snapshot(*this, std::move(begun));
  WorkingSet set(snapshot.storage());
  return Machine(set, at, request, options_).run(request.operation);
}

// Returns null if the storage cannot be opened a second time.
std::unique_ptr<Storage> Engine::begin_snapshot_of(Plan& plan) {
  std::unique_ptr<Storage> begun = idle_snapshot();
  if (!begun) {  // no idle snapshot yet
    std::lock_guard lock(mutex_);
    const StorageTransaction reading(*storage_, Access::read);
    return begin_snapshot();
  }
  try {
    if (remote_) plan.expect(*begun);
    begun->begin(Access::read);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::storage) throw;
    return nullptr;  // fall back to the writer's connection, which reads or reports the error
  }
  return begun;
}

// Answers reads from a snapshot if they would otherwise wait for a commit; returns nothing if they would not, or if the
// storage or a trace needs the lock.
std::vector<Reply> Engine::read_on_snapshot(std::span<Request> requests) {
  mutex_.refuse_owner();
  if (!durable_ || traced_ || !mutex_.is_held()) return {};
  Plan plan;
  for (const Request& request : requests) plan.add(request.operation);
  std::unique_ptr<Storage> begun = begin_snapshot_of(plan);
  if (!begun) return {};
  const Snapshot snapshot(*this, std::move(begun));
  const Instant at = std::max(clock_->now(), snapshot.storage().counters().now);
  WorkingSet set(snapshot.storage());
  plan.load(set);
  std::vector<Reply> replies;
  replies.reserve(requests.size());
  for (Request& request : requests) {
    auto problem = refuse(request, options_.rules);
    replies.push_back(problem ? refused(status::kInvalid, *std::move(problem), at)
                              : Machine(set, at, request, options_).run(request.operation));
  }
  return replies;
}

// Chooses the jobs of a filter on a snapshot, so that the lock is held only while they change; each one is then examined again.
// With a trace or checks, the request chooses them itself.
void Engine::choose_on_snapshot(Request& request) {
  JobFilter* const filter = choosing_filter(request.operation);
  if (!filter || traced_ || options_.check || refuse(request, options_.rules)) return;
  const Snapshot snapshot(*this);
  const Instant at = std::max(clock_->now(), snapshot.storage().counters().now);
  WorkingSet set(snapshot.storage());
  filter->chosen_ids = Machine(set, at, request, options_).choose(request.operation);
}

}  // namespace resonate
