// What reads a lot works beside the writer, on a snapshot.
#include <algorithm>

#include "engine_transaction.hpp"
#include "machine/machine.hpp"
#include "machine/validate.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// Rows that a search looks at under the lock: most find what they want among fewer, and cost no snapshot.
constexpr std::size_t kRowsUnderLock = 500;
// New rows that are put into the order of ids between two chances for others.
constexpr std::size_t kIndexedAtOnce = 5000;
// Snapshots that are kept for the next that read a lot at one time.
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

// Under the lock, inside a transaction. Null where the storage cannot be read twice.
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
  if (!engine_.durable_) return;  // one in memory goes out of date, and is made in no time
  std::lock_guard lock(engine_.idle_mutex_);
  if (engine_.idle_.size() < kIdle) engine_.idle_.push_back(std::move(begun_));
}

// What it finds soon it finds under the lock. Else it begins again on a snapshot of that state, without the lock.
Reply Engine::search(Request& request) {
  index_in_slices();
  std::unique_ptr<Storage> begun;
  Instant at = 0;
  {
    std::lock_guard lock(mutex_);
    Scope transaction(*this, Access::read);
    at = present();
    if (auto problem = refuse(request, options_.rules)) return refused(status::kInvalid, *std::move(problem), at);
    if (trace_) {  // a trace tells what happened in order
      Reply reply = run(*transaction, request, at);
      commit(*transaction);
      return reply;
    }
    for (const std::size_t most : {kRowsUnderLock, SIZE_MAX}) {
      transaction->set.look_at_most(most);
      Reply reply = Machine(transaction->set, at, dialect(request.dialect), options_, request.scope).run(request.operation);
      if (!transaction->set.has_more_to_look_at()) return reply;
      if ((begun = begin_snapshot())) break;
    }
  }
  const Snapshot snapshot(*this, std::move(begun));
  WorkingSet set(snapshot.storage());
  return Machine(set, at, dialect(request.dialect), options_, request.scope).run(request.operation);
}

// A file that is being written to. Null: nobody does, or this storage or trace has everybody wait.
std::unique_ptr<Storage> Engine::begin_beside_writer() {
  mutex_.refuse_owner();
  if (!durable_ || traced_ || !mutex_.is_held()) return nullptr;
  std::unique_ptr<Storage> begun = idle_snapshot();
  if (!begun) {  // the first time
    std::lock_guard lock(mutex_);
    const StorageTransaction reading(*storage_, Access::read);
    return begin_snapshot();
  }
  try {
    begun->begin(Access::read);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::storage) throw;
    return nullptr;  // the writer's connection says what is wrong, or reads
  }
  return begun;
}

// The replies to what reads a few rows, where it would have to wait for a commit; none where it would not.
std::vector<Reply> Engine::read_beside(std::span<Request> requests) {
  std::unique_ptr<Storage> begun = begin_beside_writer();
  if (!begun) return {};
  const Snapshot snapshot(*this, std::move(begun));
  const Instant at = std::max(clock_->now(), snapshot.storage().counters().now);
  WorkingSet set(snapshot.storage());
  Plan plan;
  plan.add(requests);
  plan.load(set);
  std::vector<Reply> replies;
  replies.reserve(requests.size());
  for (Request& request : requests) {
    auto problem = refuse(request, options_.rules);
    replies.push_back(problem ? refused(status::kInvalid, *std::move(problem), at)
                              : Machine(set, at, dialect(request.dialect), options_, request.scope).run(request.operation));
  }
  return replies;
}

// Which jobs a filter chooses is looked for on a snapshot: the lock is held for those that it changes only, each of which is judged
// again by then. With a trace or checks it is one step.
void Engine::choose_beside(Request& request) {
  JobFilter* const filter = choosing_filter(request.operation);
  if (!filter || traced_ || options_.check || refuse(request, options_.rules)) return;
  const Snapshot snapshot(*this);
  const Instant at = std::max(clock_->now(), snapshot.storage().counters().now);
  WorkingSet set(snapshot.storage());
  filter->among = Machine(set, at, dialect(request.dialect), options_, request.scope).choose(request.operation);
}

}  // namespace resonate
