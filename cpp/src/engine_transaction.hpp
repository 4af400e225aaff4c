// What an engine works on while a transaction runs.
#pragma once

#include <condition_variable>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/named_rows.hpp"
#include "machine/working_set.hpp"
#include "resonate/engine.hpp"

namespace resonate {

// The reply to a request that is not run.
inline Reply refused(int status, std::string error, Instant now) {
  Reply reply;
  reply.status = status;
  reply.now = now;
  reply.error = std::move(error);
  return reply;
}

// One transaction: its working set, and what the trace is told once it has been committed. The engine has one, which it uses again
// and again under its lock.
struct Engine::Transaction {
  struct Event {
    std::optional<Request> request;
    Reply reply;
    std::optional<Fired> fired;
    Instant now = 0;
  };
  WorkingSet set;
  std::vector<Event> events;
  std::size_t steps = 0;  // internal ones, taken so far
};

// A batch that waits to be run, or for the commit that it shares.
struct Engine::Caller {
  std::span<Request> requests;
  std::span<const std::optional<Instant>> nows;
  std::vector<Reply> replies;
  std::exception_ptr failure;
  bool done = false;
  std::condition_variable turn;
  Caller* next = nullptr;  // who came after; the queue is made of the callers themselves, so that joining it cannot fail
};

// Begins the engine's transaction, and throws away what was not committed when it ends.
class Engine::Scope {
 public:
  Scope(Engine& engine, Access access) : stored_(*engine.storage_, access), transaction_(*engine.transaction_) {
    transaction_.set.begin(*engine.storage_);
  }
  ~Scope() {
    transaction_.set.clear();
    transaction_.events.clear();
    transaction_.steps = 0;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Transaction* operator->() const noexcept { return &transaction_; }
  Transaction& operator*() const noexcept { return transaction_; }

 private:
  StorageTransaction stored_;
  Transaction& transaction_;
};

// Loads what a batch of requests names before it runs.
class Plan {
 public:
  void add(std::span<const Request> requests) {
    for (const Request& request : requests) name_rows(request.operation, ids_);
  }
  void load(WorkingSet& set) const {
    if (ids_.size() > 1) set.prefetch(ids_);
  }

 private:
  std::vector<std::string_view> ids_;
};

}  // namespace resonate
