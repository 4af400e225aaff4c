#include "resonate/engine.hpp"

#include <algorithm>
#include <utility>

#include "engine_transaction.hpp"
#include "machine/invariants.hpp"
#include "machine/key_lengths.hpp"
#include "machine/machine.hpp"
#include "machine/news.hpp"
#include "machine/validate.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// The most steps of a tick in one transaction, which takes a few ms in a file. While another caller waits, it takes fewer, as many
// as a request.
constexpr std::size_t kStepsOfTick = 256;

Access access_of(const Request& request) { return is_read(request.operation) ? Access::read : Access::write; }

Access access_of(std::span<const Request> requests) {
  const bool writes =
      std::any_of(requests.begin(), requests.end(), [](const Request& one) { return access_of(one) == Access::write; });
  return writes ? Access::write : Access::read;
}

// Replaces the replies to an all-or-nothing batch whose last reply is a refusal: each other request answers 409.
void undo(std::vector<Reply>& replies, std::size_t requests, Instant now) {
  const std::size_t refusal = replies.size() - 1;
  const std::string why = "undone: request " + std::to_string(refusal) + " of the batch was refused with " +
                          std::to_string(replies.back().status) + ": " + replies.back().error;
  for (std::size_t i = 0; i < refusal; ++i) replies[i] = refused(status::kConflict, why, now);
  while (replies.size() < requests) replies.push_back(refused(status::kConflict, why, now));
}

}  // namespace

Engine::Engine(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options)
    : storage_(std::move(storage)),
      location_(storage_->location()),
      durable_(storage_->durable()),
      clock_(std::move(clock)),
      remote_(storage_->remote()),
      shares_manual_clock_(clock_->manual() && remote_),
      options_(options),
      transaction_(std::make_unique<Transaction>()) {}

Engine::~Engine() = default;

std::shared_ptr<Engine> Engine::attached(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options) {
  auto engine = std::make_shared<Engine>(std::move(storage), std::move(clock), options);
  if (engine->clock_->manual()) {
    // The stored state may have seen a later instant, and a clock never goes back.
    engine->move_clock(engine->storage_->counters().now);
    static_cast<ManualClock&>(*engine->clock_).attach(engine);
  }
  return engine;
}

std::shared_ptr<Engine> Engine::create(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options) {
  {
    const StorageTransaction opening(*storage, Access::read);
    Changes initial;
    initial.counters = storage->counters();
    if (initial.counters == Counters{}) {  // an unused state starts at its clock's instant
      initial.counters.now = clock->now();
      storage->write(initial);
    }
  }
  return attached(std::move(storage), std::move(clock), options);
}

void Engine::commit(Transaction& transaction) {
  // One that shares asks even if it has changed nothing: a reply may be by what nothing protects.
  if (transaction.set.changed() || transaction.shared) {
    Changes& changes = transaction.set.finish();
    changes.stores_instant = shares_manual_clock_;
    storage_->write(changes);
    claim_may_find_ = claim_may_find_ || (remote_ && brings_work(changes));
    if (watches_->any()) watches_->notify(changes);
  }
  if (!trace_) return;
  for (const Transaction::Event& event : transaction.events) {
    TraceEvent trace_event;
    trace_event.now = event.now;
    trace_event.request = event.request ? &*event.request : nullptr;
    trace_event.reply = event.request ? &event.reply : nullptr;
    trace_event.fired = event.fired ? &*event.fired : nullptr;
    emit(trace_event);
  }
}

void Engine::require_properties(WorkingSet& set, Instant now, const Operation* request) const {
  std::vector<Violation> found = check_step(set, {now, request}, options_.rules);
  if (!found.empty()) throw InvariantError(std::move(found));
}

std::size_t Engine::run_steps(Transaction& transaction, Instant now, std::size_t most, std::vector<Fired>* fired) {
  std::size_t taken = 0;
  for (; taken < most; ++taken) {
    if (options_.check) transaction.set.checkpoint();
    std::optional<Fired> step = run_step(transaction.set, now, options_);
    if (!step) break;
    if (options_.check) require_properties(transaction.set, now, nullptr);
    if (trace_) transaction.events.push_back({{}, {}, *step, now});
    if (fired && step->kind != StepKind::job_retention_put_off) fired->push_back(*std::move(step));
  }
  transaction.steps += taken;
  return taken;
}

// Runs the request, and checks that it loads by name only what its plan has. `given` is a copy of its operation: the machine moves
// values out of the operation itself.
Reply Engine::run_planned(WorkingSet& set, Request& request, const Operation& given, Instant now) const {
  Plan plan;
  plan.add(given);
  set.require_planned(plan.lookups());
  Reply reply = Machine(set, now, request, options_).run(request.operation);
  set.require_planned({});
  return reply;
}

Reply Engine::run(Transaction& transaction, Request& request, Instant now) {
  const bool read = is_read(request.operation);
  WorkingSet& set = transaction.set;
  if (trace_)
    if (JobFilter* const filter = choosing_filter(request.operation)) filter->chosen_ids.reset();
  if (trace_) request.statuses_only = false;  // a trace has whole replies
  std::optional<Request> kept;
  if (trace_ || options_.check) kept = request;  // the machine moves values out of the request
  if (!read && transaction.shared) {
    set.counters().now = std::max(set.counters().now, now);  // the retention of unblocks is for those that are alone, and ticks
  } else if (!read) {
    observe_instant(set, now, options_);
    if (const std::size_t most = steps_before(request.operation)) run_steps(transaction, now, most);
    if (options_.check) set.checkpoint();
  }
  Reply reply = options_.check ? run_planned(set, request, kept->operation, now)
                               : Machine(set, now, request, options_).run(request.operation);
  if (options_.check && !read) require_properties(set, now, &kept->operation);
  if (const auto* const claim = std::get_if<JobClaim>(&request.operation))
    claim_may_find_ = reply.rows.size() >= static_cast<std::size_t>(claim->count);
  if (trace_) transaction.events.push_back({std::move(kept), reply, {}, now});
  if (!read) run_steps(transaction, now, steps_after(request.operation));
  return reply;
}

std::optional<std::string> Engine::refuse_request(const Request& request) const {
  std::optional<std::string> problem = refuse(request, options_.rules);
  const std::size_t most = storage_->key_bytes();
  if (!problem && most != SIZE_MAX) problem = exceeded_key(request.operation, most);
  return problem;
}

std::optional<std::string> Engine::refuse_instant(std::optional<Instant> given, Instant earliest) const {
  if (!given) return std::nullopt;
  if (!clock_->manual()) return "now must be absent unless the store has a manual clock, got " + std::to_string(*given);
  if (*given < earliest)
    return "now must be at least " + std::to_string(earliest) + ", got " + std::to_string(*given) + ": a clock never goes back";
  return std::nullopt;
}

Instant Engine::present() {
  const Instant stored = storage_->counters().now;
  if (stored < seen_) clock_->start_over();  // another process has set the file's clock back
  seen_ = stored;
  if (shares_manual_clock_) move_clock(stored);
  return std::max(clock_->now(), stored);
}

Instant Engine::now() {
  if (!shares_manual_clock_) return clock_->now();
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  return present();
}

void Engine::move_clock(Instant to) {
  if (clock_->manual()) static_cast<ManualClock&>(*clock_).set(to);
}

// Runs the requests of a caller from instant `at` on, and returns the instant of the last. An all-or-nothing batch stops at the
// first refusal.
Instant Engine::run_batch(Transaction& transaction, Caller& caller, Instant at, Atomicity atomicity) {
  caller.replies.reserve(caller.requests.size());
  for (std::size_t i = 0; i < caller.requests.size(); ++i) {
    const std::optional<Instant> now = i < caller.nows.size() ? caller.nows[i] : std::nullopt;
    std::optional<std::string> problem = refuse_request(caller.requests[i]);
    if (!problem) problem = refuse_instant(now, at);
    if (problem) {
      caller.replies.push_back(refused(status::kInvalid, *std::move(problem), at));
    } else {
      at = now.value_or(at);
      caller.replies.push_back(run(transaction, caller.requests[i], at));
    }
    if (atomicity == Atomicity::all_or_nothing && !caller.replies.back().ok()) break;
  }
  return at;
}

// Chooses how the request runs:
// - A change of the jobs that match a filter: they are chosen on a snapshot; then it runs as the write that it is.
// - A claim from a database looks first whether there is a job to claim: if not, it does not wait for the write lock.
// - A write to a durable store shares a commit with other writes.
// - A read of few records from a server is a batch of one.
// - A read of a durable store whose lock is held runs on a snapshot.
// - A read of many rows (a search, all queues) examines some of them under the lock, then all on a snapshot.
// - Every other request, and each read at an instant that the caller gives, has a transaction of its own.
Reply Engine::apply(Request request, std::optional<Instant> now) {
  const Access access = access_of(request);
  if (!now && access == Access::write && choosing_filter(request.operation)) choose_on_snapshot(request);
  if (access == Access::write && !now)
    if (std::vector<Reply> none = look_before_claims({&request, 1}); !none.empty()) return std::move(none.front());
  if (access == Access::write && shares_commits()) return apply_in_group(request, now);
  if (access == Access::read && !now) {
    const bool many = may_read_many(request.operation);
    if (remote_ && !many) return apply_as_batch(std::move(request));
    if (durable_) {
      std::vector<Reply> replies = read_on_snapshot({&request, 1});
      if (!replies.empty()) return std::move(replies.front());
    }
    if (many) return search(request);
  }
  return apply_alone(request, now, access);
}

Reply Engine::apply_in_group(Request& request, std::optional<Instant> now) {
  Caller caller{.requests = {&request, 1}, .nows = {&now, 1}, .replies = {}, .failure = {}, .ready = {}};
  share_commit(caller);
  return std::move(caller.replies.front());
}

// A batch loads its rows while its transaction begins, which saves a round trip.
Reply Engine::apply_as_batch(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  return std::move(apply(std::move(one), {}, Atomicity::independent).front());
}

Reply Engine::apply_alone(Request& request, std::optional<Instant> now, Access access) {
  std::lock_guard lock(mutex_);
  return apply_locked(request, now, access);
}

std::optional<Reply> Engine::try_apply(Request& request) {
  if (durable_ || options_.check || !mutex_.try_lock()) return std::nullopt;
  const std::lock_guard lock(mutex_, std::adopt_lock);
  if (trace_) return std::nullopt;
  return apply_locked(request, {}, access_of(request));
}

Reply Engine::apply_locked(Request& request, std::optional<Instant> now, Access access) {
  Scope transaction(*this, access);
  const Instant earliest = present();
  if (auto problem = refuse_request(request)) return refused(status::kInvalid, *std::move(problem), earliest);
  if (auto problem = refuse_instant(now, earliest)) return refused(status::kInvalid, *std::move(problem), earliest);
  const Instant at = now.value_or(earliest);
  if (durable_ && access == Access::write) (void)run_submissions(*transaction, earliest);
  // The lambda has a single return statement, so the reply is constructed in the caller's object and a large reply is not moved.
  return [&] {
    Reply reply = run(*transaction, request, at);
    if (access == Access::write || trace_) commit(*transaction);
    if (now) move_clock(at);
    return reply;
  }();
}

std::vector<Reply> Engine::apply(std::vector<Request> requests, const std::vector<std::optional<Instant>>& nows,
                                 Atomicity atomicity) {
  Caller caller{.requests = requests, .nows = nows, .replies = {}, .failure = {}, .ready = {}};
  const Access access = access_of(requests);
  if (access == Access::write && nows.empty())
    if (std::vector<Reply> none = look_before_claims(requests); !none.empty()) return none;
  if (access == Access::write && shares_commits() && atomicity == Atomicity::independent) {
    share_commit(caller);
    return std::move(caller.replies);
  }
  if (access == Access::read && std::none_of(nows.begin(), nows.end(), [](const auto& one) { return one.has_value(); })) {
    std::vector<Reply> replies = read_on_snapshot(requests);
    if (!replies.empty()) return replies;
  }
  std::lock_guard lock(mutex_);
  Plan plan;
  if (durable_)  // in memory, loading rows ahead saves nothing
    for (const Request& request : requests) plan.add(request.operation);
  if (access == Access::write && shares_commits() && !requests.empty() && run_first(caller, caller, plan, atomicity))
    return std::move(caller.replies);
  if (remote_) plan.expect(*storage_);
  Scope transaction(*this, access);
  const Instant before = present();
  if (durable_ && access == Access::write) (void)run_submissions(*transaction, before);
  plan.load(transaction->set);  // after them: they may have taken the next ids of jobs
  const Instant at = run_batch(*transaction, caller, before, atomicity);
  if (atomicity == Atomicity::all_or_nothing && !caller.replies.empty() && !caller.replies.back().ok()) {
    undo(caller.replies, requests.size(), before);
    return std::move(caller.replies);
  }
  commit(*transaction);
  if (at > before) move_clock(at);
  return std::move(caller.replies);
}

void Engine::accept_submissions(SubmissionDecoder decode, std::size_t longest) {
  std::lock_guard lock(mutex_);
  decode_submission_ = std::move(decode);
  longest_submission_ = longest;
}

std::vector<Fired> Engine::tick(std::optional<Instant> now, std::size_t limit) {
  std::vector<Fired> fired;
  std::optional<Instant> at;
  for (;;) {
    Submitted left = Submitted::none;
    {
      std::lock_guard lock(mutex_);
      if (!at) {
        const StorageTransaction reading(*storage_, Access::read);
        const Instant earliest = present();
        if (auto problem = refuse_instant(now, earliest)) throw Error(ErrorCode::invalid, *problem);
        at = now.value_or(earliest);
      }
      if (durable_ && nothing_to_tick(*at)) {
        storage_->catch_up();
        move_clock(*at);
        return fired;
      }
      Scope transaction(*this, Access::write);
      // Requests may have run between two transactions, and instants never go back.
      at = observe_instant(transaction->set, *at, options_);
      left = run_submissions(*transaction, *at);
      const std::size_t end = fired.size() + std::min(kStepsOfTick, limit - fired.size());
      bool more = true;
      do {
        const std::size_t portion = std::min(kStepsPerRequest, end - fired.size());
        more = run_steps(*transaction, *at, portion, &fired) == portion;
      } while (more && fired.size() < end && !mutex_.is_waited_for());
      commit(*transaction);
      move_clock(*at);  // after the commit: a tick that failed must not move the clock
      if ((!more || fired.size() == limit) && left == Submitted::none) return fired;
    }
    allow_interrupt(Pause::working);
    if (left == Submitted::long_work) storage_->let_others_write();
  }
}

void Engine::repeat_step(Instant now) {
  std::lock_guard lock(mutex_);
  Scope transaction(*this, Access::write);
  const Instant at = observe_instant(transaction->set, now, options_);
  run_steps(*transaction, at, 1);
  commit(*transaction);
  move_clock(at);
}

std::optional<Instant> Engine::next_due() {
  std::lock_guard lock(mutex_);
  const std::optional<Instant> due = [&]() -> std::optional<Instant> {
    const StorageTransaction reading(*storage_, Access::read);
    const Instant first = storage_->first_due();
    RowRange last = rows_by_due();  // finds a row that is due at kNever itself
    last.limit = 1;
    if (first == kNever && storage_->rows(last).empty()) return std::nullopt;
    return std::max(first, present());
  }();
  storage_->catch_up();  // a server that is idle asks for no more than this
  return due;
}

std::vector<Violation> Engine::check() {
  return with_snapshot([this](Storage& storage) { return check_state(storage, options_.rules); });
}

std::shared_ptr<Engine> Engine::fork(std::shared_ptr<Clock> clock) {
  return attached(with_snapshot([](Storage& storage) { return storage.fork(); }), std::move(clock), options_);
}

void Engine::reset() {
  std::lock_guard lock(mutex_);
  {
    const StorageTransaction writing(*storage_, Access::write);
    Changes initial;
    initial.replaces_all = true;
    initial.counters.sequence =
        storage_->counters().sequence;  // message numbers are never reused: deliveries are identified by them
    initial.counters.now = clock_->now();
    storage_->write(initial);
  }
  emit_replaced();
}

void Engine::replace_storage(std::unique_ptr<Storage> contents) {
  std::lock_guard lock(mutex_);
  move_clock(std::max(contents->counters().now, clock_->now()));
  if (durable_) {
    const StorageTransaction writing(*storage_, Access::write);
    const std::int64_t last = storage_->counters().sequence;
    copy_state(*contents, *storage_, last);
  } else if (const std::int64_t last = storage_->counters().sequence; last > 0) {
    std::unique_ptr<Storage> renumbered = make_memory_storage();
    copy_state(*contents, *renumbered, last);
    storage_ = std::move(renumbered);
  } else {
    storage_ = std::move(contents);
  }
  emit_replaced();
}

void Engine::emit(const TraceEvent& event) noexcept {
  if (!trace_) return;
  const Uninterrupted uninterrupted;  // the event has happened, so its report must not be interrupted
  try {
    trace_(event);
  } catch (...) {
    trace_problem_ = std::current_exception();
    trace_ = nullptr;
  }
}

void Engine::emit_replaced() {
  watches_->notify_all();
  if (!trace_) return;
  const StorageTransaction reading(*storage_, Access::read);
  (void)storage_->changed_elsewhere();
  emit_state();
}

// Inside a transaction. A trace contains the whole state where it begins, and wherever another call or process has changed it.
void Engine::emit_state() noexcept {
  TraceEvent trace_event;
  trace_event.now = storage_->counters().now;
  trace_event.replaced = storage_.get();
  emit(trace_event);
}

void Engine::end_trace() {
  trace_ = nullptr;
  traced_ = false;
  if (trace_problem_) std::rethrow_exception(std::exchange(trace_problem_, nullptr));
}

void Engine::start_trace(TraceSink sink) {
  std::lock_guard lock(mutex_);
  end_trace();
  trace_ = std::move(sink);
  traced_ = true;
  emit_replaced();  // a trace begins with the whole state
}

void Engine::stop_trace() {
  std::lock_guard lock(mutex_);
  end_trace();
}

std::size_t Engine::promise_count() {
  return with_few_rows([](Storage& storage) { return storage.count(Table::rows); });
}

void Engine::set_paused(bool paused) noexcept {
  paused_ = paused;
  std::lock_guard lock(mutex_);
  watches_->notify_all();
}

void Engine::vacuum() {
  std::lock_guard lock(mutex_);
  storage_->vacuum();
}

void Engine::index_newest() {
  std::lock_guard lock(mutex_);
  storage_->index_newest();
}

}  // namespace resonate
