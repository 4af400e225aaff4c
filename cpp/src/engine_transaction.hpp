// The state of an engine while a transaction runs.
#pragma once

#include <condition_variable>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/plan.hpp"
#include "machine/working_set.hpp"
#include "resonate/engine.hpp"

namespace resonate {

// The most records that the requests of several callers, or several submissions, name in one transaction: all other callers wait
// for it. A single request may name more, up to kMostAtOnce.
inline constexpr std::size_t kRecordsOfCommit = 2000;

// The reply to a request that was refused before it ran.
inline Reply refused(int status, std::string error, Instant now) {
  Reply reply;
  reply.status = status;
  reply.now = now;
  reply.error = std::move(error);
  return reply;
}

// `long_work`: more may wait, and the transaction ended because they would have made it long.
enum class Engine::Submitted : std::uint8_t { none, more, long_work };

// One transaction: its working set, and the events that the trace receives after the commit. The engine reuses one object under its
// lock.
struct Engine::Transaction {
  struct Event {
    std::optional<Request> request;
    Reply reply;
    std::optional<Fired> fired;
    Instant now = 0;
  };
  WorkingSet set;
  std::vector<Event> events;
  std::size_t steps = 0;  // internal steps run so far
  bool shared = false;    // is_beside_others()
};

// The requests of one call, and its replies. If it shares a commit, it waits in a queue.
struct Engine::Caller {
  std::span<Request> requests;
  std::span<const std::optional<Instant>> nows;
  std::vector<Reply> replies;
  std::exception_ptr failure;
  bool done = false;
  std::condition_variable ready;
  Caller* next = nullptr;  // the next in the queue; the callers are its links, so that joining cannot fail
};

// Begins the engine's transaction; the destructor discards uncommitted changes.
class Engine::Scope {
 public:
  Scope(Engine& engine, Access access) : stored_(*engine.storage_, access), transaction_(*engine.transaction_) {
    if (engine.trace_ && engine.storage_->changed_elsewhere()) engine.emit_state();
    transaction_.set.begin(*engine.storage_);
    transaction_.shared = is_beside_others(access);
  }
  ~Scope() {
    transaction_.set.clear();
    transaction_.events.clear();
    transaction_.steps = 0;
    transaction_.shared = false;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Transaction* operator->() const noexcept { return &transaction_; }
  Transaction& operator*() const noexcept { return transaction_; }

 private:
  StorageTransaction stored_;
  Transaction& transaction_;
};

}  // namespace resonate
