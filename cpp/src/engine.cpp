#include "resonate/engine.hpp"

#include <algorithm>
#include <utility>

#include "machine/invariants.hpp"
#include "machine/machine.hpp"
#include "machine/validate.hpp"
#include "machine/working_set.hpp"

namespace resonate {

namespace {

// What one transaction takes at most: internal steps after a request, and of a tick between two commits.
constexpr std::size_t kStepsAtOnce = 1000;

Reply refused(int status, std::string error, Instant now) {
  Reply reply;
  reply.status = status;
  reply.now = now;
  reply.error = std::move(error);
  return reply;
}

}  // namespace

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
};

// Begins the engine's transaction, and throws away what was not committed when it ends.
class Engine::Scope {
 public:
  explicit Scope(Engine& engine) : transaction_(*engine.transaction_) { transaction_.set.begin(*engine.storage_); }
  ~Scope() {
    transaction_.set.clear();
    transaction_.events.clear();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Transaction* operator->() const noexcept { return &transaction_; }
  Transaction& operator*() const noexcept { return transaction_; }

 private:
  Transaction& transaction_;
};

Engine::Engine(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options)
    : storage_(std::move(storage)), clock_(std::move(clock)), options_(options), transaction_(std::make_unique<Transaction>()) {}

Engine::~Engine() = default;

std::shared_ptr<Engine> Engine::attached(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options) {
  auto engine = std::make_shared<Engine>(std::move(storage), std::move(clock), options);
  if (engine->clock_->manual()) {
    engine->move_clock(engine->storage_->counters().now);  // what is there may have seen a later instant, and none goes back
    static_cast<ManualClock&>(*engine->clock_).attach(engine);
  }
  return engine;
}

std::shared_ptr<Engine> Engine::create(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options) {
  Changes born;
  born.counters = storage->counters();
  if (born.counters == Counters{}) {  // a state that nothing has happened to begins at its clock's instant
    born.counters.now = clock->now();
    storage->write(born);
  }
  return attached(std::move(storage), std::move(clock), options);
}

void Engine::commit(Transaction& transaction) {
  if (transaction.set.changed()) storage_->write(transaction.set.finish());
  if (!trace_) return;
  for (const Transaction::Event& event : transaction.events) {
    TraceEvent told;
    told.now = event.now;
    told.request = event.request ? &*event.request : nullptr;
    told.reply = event.request ? &event.reply : nullptr;
    told.fired = event.fired ? &*event.fired : nullptr;
    tell(told);
  }
}

void Engine::require_properties(WorkingSet& set, Instant now, const Operation* request) const {
  std::vector<Violation> found = check_step(set, {now, request}, rules(options_.rules));
  if (!found.empty()) throw InvariantError(std::move(found));
}

std::size_t Engine::run_steps(Transaction& transaction, Instant now, std::vector<Fired>* fired) {
  std::size_t taken = 0;
  for (; taken < kStepsAtOnce; ++taken) {
    if (options_.check) transaction.set.checkpoint();
    std::optional<Fired> step = take_step(transaction.set, now, options_);
    if (!step) break;
    if (options_.check) require_properties(transaction.set, now, nullptr);
    if (trace_) transaction.events.push_back({{}, {}, *step, now});
    if (fired) fired->push_back(*std::move(step));
  }
  return taken;
}

Reply Engine::run(Transaction& transaction, Request& request, Instant now) {
  const bool read = is_read(request.operation);
  WorkingSet& set = transaction.set;
  std::optional<Request> kept;
  if (trace_ || options_.check) kept = request;  // the machine moves what it stores out of the request
  if (!read) {
    set.counters().now = std::max(set.counters().now, now);
    set.drop_unblocks(saturating_add(now, -options_.unblock_retention));
    if (options_.check) set.checkpoint();
  }
  Reply reply = Machine(set, now, dialect(request.dialect), options_).run(request.operation);
  if (options_.check && !read) require_properties(set, now, &kept->operation);
  if (trace_) transaction.events.push_back({std::move(kept), reply, {}, now});
  if (!read) run_steps(transaction, now, nullptr);
  return reply;
}

std::optional<std::string> Engine::refuse_instant(std::optional<Instant> given, Instant earliest) const {
  if (!given) return std::nullopt;
  if (!clock_->manual()) return "now " + std::to_string(*given) + " was given, and only a manual clock can be moved";
  if (*given < earliest)
    return "a clock never runs backwards: now must be at least " + std::to_string(earliest) + ", got " + std::to_string(*given);
  return std::nullopt;
}

Instant Engine::present() { return std::max(clock_->now(), storage_->counters().now); }

void Engine::move_clock(Instant to) {
  if (clock_->manual()) static_cast<ManualClock&>(*clock_).set(to);
}

Reply Engine::apply(Request request, std::optional<Instant> now) {
  std::lock_guard lock(mutex_);
  const Instant earliest = present();
  if (auto problem = refuse(request, rules(options_.rules))) return refused(status::kInvalid, *std::move(problem), earliest);
  if (auto problem = refuse_instant(now, earliest)) return refused(status::kInvalid, *std::move(problem), earliest);
  const Instant at = now.value_or(earliest);
  // A body with one return: the reply is made where the caller wants it, and a large object is not moved.
  return [&] {
    Scope transaction(*this);
    Reply reply = run(*transaction, request, at);
    commit(*transaction);
    if (now) move_clock(at);
    return reply;
  }();
}

std::vector<Reply> Engine::apply(std::vector<Request> requests, const std::vector<std::optional<Instant>>& nows,
                                 Atomicity atomicity) {
  std::lock_guard lock(mutex_);
  Instant at = present();
  const Instant before = at;
  Scope transaction(*this);
  std::vector<Reply> replies;
  replies.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<Instant> now = i < nows.size() ? nows[i] : std::nullopt;
    std::optional<std::string> problem = refuse(requests[i], rules(options_.rules));
    if (!problem) problem = refuse_instant(now, at);
    if (problem) {
      replies.push_back(refused(status::kInvalid, *std::move(problem), at));
    } else {
      at = now.value_or(at);
      replies.push_back(run(*transaction, requests[i], at));
    }
    if (atomicity == Atomicity::all_or_nothing && !replies.back().ok()) {
      const std::string why = "undone: request " + std::to_string(i) + " of the batch was refused with " +
                              std::to_string(replies.back().status) + ": " + replies.back().error;
      for (std::size_t j = 0; j < requests.size(); ++j) {
        if (j == i) continue;
        if (j < i) {
          replies[j] = refused(status::kConflict, why, before);
        } else {
          replies.push_back(refused(status::kConflict, why, before));
        }
      }
      return replies;
    }
  }
  commit(*transaction);
  if (at > before) move_clock(at);
  return replies;
}

std::vector<Fired> Engine::tick(std::optional<Instant> now, const std::function<void()>& interrupt) {
  std::vector<Fired> fired;
  std::optional<Instant> at;
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (!at) {
        const Instant earliest = present();
        if (auto problem = refuse_instant(now, earliest)) throw Error(ErrorCode::invalid, *problem);
        at = now.value_or(earliest);
      }
      Scope transaction(*this);
      // Requests may have come between two transactions, and instants never go back.
      at = transaction->set.counters().now = std::max(transaction->set.counters().now, *at);
      transaction->set.drop_unblocks(saturating_add(*at, -options_.unblock_retention));
      const std::size_t taken = run_steps(*transaction, *at, &fired);
      commit(*transaction);
      move_clock(*at);  // not before: a tick that could not be committed has not happened
      if (taken < kStepsAtOnce) return fired;
    }
    if (interrupt) interrupt();
  }
}

std::optional<Instant> Engine::next_due() {
  std::lock_guard lock(mutex_);
  const std::vector<DueEntry> first = storage_->due(kNever, 1, nullptr);
  if (first.empty()) return std::nullopt;
  return std::max(first.front().due.at, present());
}

std::vector<std::pair<MessageRef, RowRef>> Engine::messages_with_records(std::size_t limit) {
  std::lock_guard lock(mutex_);
  return select_messages([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::select_messages(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                   std::size_t limit) {
  constexpr std::size_t kPage = 1024;
  std::vector<std::pair<MessageRef, RowRef>> found;
  for (std::int64_t after = 0; found.size() < limit;) {
    const std::vector<MessageRef> page = storage_->messages(after, kPage);
    for (const MessageRef& message : page) {
      if (found.size() == limit) break;
      if (wanted(*message))
        found.emplace_back(message, message->kind == MessageKind::unblock ? storage_->load(message->id) : RowRef());
    }
    if (page.size() < kPage) break;
    after = page.back()->seq;
  }
  return found;
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages(std::size_t limit) {
  return take_messages_if([](const OutboxMessage&) { return true; }, limit);
}

std::vector<std::pair<MessageRef, RowRef>> Engine::take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                    std::size_t limit) {
  std::lock_guard lock(mutex_);
  auto taken = select_messages(wanted, limit);
  if (taken.empty()) return taken;
  Changes changes;
  changes.counters = storage_->counters();
  std::vector<MessageRef> messages;
  for (const auto& [message, row] : taken) {
    changes.messages_removed.push_back(message->seq);
    messages.push_back(message);
  }
  storage_->write(changes);
  if (trace_) {
    TraceEvent told;
    told.now = changes.counters.now;
    told.taken = &messages;
    tell(told);
  }
  return taken;
}

std::vector<Violation> Engine::check() {
  std::lock_guard lock(mutex_);
  return check_state(*storage_, rules(options_.rules));
}

std::shared_ptr<Engine> Engine::fork(std::shared_ptr<Clock> clock) {
  std::unique_ptr<Storage> copy;
  {
    std::lock_guard lock(mutex_);
    copy = storage_->fork();
  }
  return attached(std::move(copy), std::move(clock), options_);
}

void Engine::reset() {
  std::lock_guard lock(mutex_);
  storage_->clear();
  Changes born;
  born.counters.now = clock_->now();
  storage_->write(born);
  paused_ = false;
  tell_replaced();
}

void Engine::replace_storage(std::unique_ptr<Storage> contents) {
  std::lock_guard lock(mutex_);
  storage_ = std::move(contents);
  move_clock(std::max(storage_->counters().now, clock_->now()));
  tell_replaced();
}

void Engine::tell(const TraceEvent& event) noexcept {
  if (!trace_) return;
  try {
    trace_(event);
  } catch (...) {
    trace_problem_ = std::current_exception();
    trace_ = nullptr;
  }
}

void Engine::tell_replaced() {
  if (!trace_) return;
  TraceEvent told;
  told.now = storage_->counters().now;
  told.replaced = storage_.get();
  tell(told);
}

void Engine::end_trace() {
  trace_ = nullptr;
  if (trace_problem_) std::rethrow_exception(std::exchange(trace_problem_, nullptr));
}

void Engine::start_trace(TraceSink sink) {
  std::lock_guard lock(mutex_);
  end_trace();
  trace_ = std::move(sink);
  tell_replaced();  // a trace begins with the state it starts from
}

void Engine::stop_trace() {
  std::lock_guard lock(mutex_);
  end_trace();
}

std::size_t Engine::promise_count() {
  std::lock_guard lock(mutex_);
  return storage_->row_count();
}

}  // namespace resonate
