// Engine: the interface of the core. It loads the rows that a batch names, runs the machine and due internal steps over a working
// set, and commits.
//
// Thread-safe: each transaction holds one lock, which callers get in order of arrival. Long work (a long tick, a purge) is divided
// into transactions of a few ms, and other callers run in between. Long reads (a search, a check, a snapshot) use a snapshot of the
// storage beside the writer, and so do short reads while a file is being written. If commits are durable, callers that arrive
// during a commit share the next one (group commit). A call from inside another call of the same engine (from a trace sink or an
// interrupt hook) is refused: Error (invalid). The engine reads time only from its Clock. Long calls can be interrupted
// (interruption.hpp).
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resonate/clock.hpp"
#include "resonate/errors.hpp"
#include "resonate/options.hpp"
#include "resonate/owned_mutex.hpp"
#include "resonate/requests.hpp"
#include "resonate/rules.hpp"
#include "resonate/storage.hpp"
#include "resonate/watch.hpp"

namespace resonate {

// Whether an operation on the whole state changes it or only reports what it would change.
enum class Extent : std::uint8_t { preview, change };

enum class Atomicity : std::uint8_t { independent, all_or_nothing };

// A report of one request or one internal step, in order. The sink is called under the engine's lock.
struct TraceEvent {
  Instant now = 0;
  const Request* request = nullptr;  // a request and its reply, or
  const Reply* reply = nullptr;
  const Fired* fired = nullptr;                    // a step, or
  const std::vector<MessageRef>* taken = nullptr;  // messages that were removed, or
  Storage* replaced = nullptr;                     // the new state after the whole state was replaced (restore, reset)
};
using TraceSink = std::function<void(const TraceEvent&)>;

// How many records a purge deleted.
struct Purged {
  std::size_t promises = 0;                    // those of no job
  std::array<std::size_t, kJobStates> jobs{};  // by state

  std::size_t total() const { return std::accumulate(jobs.begin(), jobs.end(), promises); }
  bool operator==(const Purged&) const = default;
};

class Plan;
class WorkingSet;
struct ClockReset;

// A stored instant that is ahead of the system's clock by at most this is normal: the clocks of two machines differ.
inline constexpr Duration kClockTolerance = 60'000;

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);
  ~Engine();
  static std::shared_ptr<Engine> create(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);

  const Options& options() const noexcept { return options_; }
  const std::shared_ptr<Clock>& clock() const noexcept { return clock_; }

  // The instant of its clock. A manual clock that machines share is read from the storage.
  Instant now();

  // Decodes the text of a submission that runs at `now`. Returns the request, or its refusal.
  using SubmissionDecoder = std::function<std::variant<Request, Reply>(const std::string& text, Instant now)>;
  // Until then, submissions wait. A text of more than `longest` bytes is refused and not read.
  void accept_submissions(SubmissionDecoder decode, std::size_t longest);

  // Runs one request, then internal steps that are due at its instant, a limited number. If `now` is empty, the clock gives the
  // instant.
  Reply apply(Request request, std::optional<Instant> now = {});
  // The same, if it need not wait: the state is in memory, and no other thread uses it. Otherwise it returns nothing, and leaves
  // the request as it is. The caller may hold a lock that a trace sink takes, since it does not run while one is set.
  std::optional<Reply> try_apply(Request& request);
  // Runs requests in order, each followed by its steps, in one transaction. `nows` has an instant for each request, or fewer; a
  // request without one uses the instant of the request before. With all_or_nothing, the first refusal undoes the batch, and every
  // other request answers 409 and names it.
  std::vector<Reply> apply(std::vector<Request> requests, const std::vector<std::optional<Instant>>& nows = {},
                           Atomicity atomicity = Atomicity::independent);

  // Runs the steps due at `now`, at most `limit`. It uses several short transactions; an interrupt between two of them keeps the
  // committed ones. Error (invalid): `now` is earlier than an instant already seen.
  std::vector<Fired> tick(std::optional<Instant> now = {}, std::size_t limit = SIZE_MAX);
  // Runs at most one step that is due at `now`, for replay: of those that only a recording has, too.
  void repeat_step(Instant now);
  // Returns the next instant at which a step is due, at least the last instant that the store has seen.
  std::optional<Instant> next_due();

  // Returns the queued messages with a number greater than `after`, in order of queueing, each with its row: for an unblock, the
  // settled promise that it carries.
  std::vector<std::pair<MessageRef, RowRef>> messages_with_records(std::size_t limit = SIZE_MAX);
  std::vector<std::pair<MessageRef, RowRef>> messages_with_records_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                      std::int64_t after, std::size_t limit);
  // The same for messages to the given addresses. The cost is that of reading the messages to them or the outbox from `after` on,
  // whichever is less.
  std::vector<std::pair<MessageRef, RowRef>> messages_to(std::span<const AddressPattern> addresses, std::int64_t after,
                                                         std::size_t limit);
  // Removes the messages that are queued when the call begins, as acknowledged deliveries. Removing a task's execute arms the
  // task's timer (PROTOCOL 4). It uses several short transactions; if a later one fails, the call returns the messages removed
  // before.
  std::vector<std::pair<MessageRef, RowRef>> take_messages(std::size_t limit = SIZE_MAX);
  // The same for the messages that `wanted` accepts.
  std::vector<std::pair<MessageRef, RowRef>> take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                              std::size_t limit);
  std::vector<std::pair<MessageRef, RowRef>> take_messages_to(std::span<const AddressPattern> addresses, std::size_t limit);
  // Removes the queued messages with the given numbers, as acknowledged deliveries. Returns the numbers that were still queued: if
  // several callers acknowledge one message, exactly one of them gets its number.
  std::vector<std::int64_t> acknowledge(std::span<const std::int64_t> numbers);

  // Leases the queued messages with the given numbers to `holder`, which delivers them: no other holder gets them until the lease
  // ends. A holder may renew its leases, and a lease of 0 ends them. Returns the numbers that were queued, and free or the holder's
  // own. Error (invalid): the holder is empty, or the lease is negative.
  std::vector<std::int64_t> lease_messages(std::span<const std::int64_t> numbers, const std::string& holder, Duration lease);

  // Returns a watch that writes a byte to `descriptor` after each commit that may have created work for its owner.
  std::shared_ptr<Watch> watch(int descriptor, Settlements settlements = Settlements::ignored) {
    return watches_->add(descriptor, settlements);
  }

  // Deletes the promises that were settled before that instant, unless an undelivered message or an unfinished task still needs
  // them. Returns what was deleted. It uses several short transactions; an interrupt between two of them keeps the committed
  // ones. Error (invalid): the instant is in the future.
  Purged purge(Instant settled_before);

  // Returns every violated invariant with its name; empty if all hold.
  std::vector<Violation> check();
  // Returns the problems that the store works around and that an operator should fix. The state itself is sound.
  //   schedule_set_aside: a schedule that cannot be fired. ProblemScope::every also finds schedules that could not be fired if they
  //   were
  //     due.
  //   clock_ahead: a stored instant is more than a minute ahead of the clock.
  //   submission_refused: a submitted request was refused when it ran; of these the first 100.
  enum class ProblemScope : std::uint8_t { stored, every };
  std::vector<Violation> problems(ProblemScope scope);
  // Returns by how much the last stored instant is ahead of the clock; 0 if it is not, or if the clock is manual.
  Duration clock_ahead();
  // Sets the stored instant back to the system's clock, and all stored instants that are later. Error (invalid): the clock is
  // manual. Error (invariant): an invariant would be violated; nothing was changed.
  ClockReset reset_clock(Extent extent);

  std::shared_ptr<Engine> fork(std::shared_ptr<Clock> clock);
  void reset();

  // Calls body(storage) on the whole present state without the lock, so that others can write during a long read. A file that
  // cannot be opened a second time (the process has lost the right to) is read under the lock.
  template <class Body>
  auto with_snapshot(Body body) {
    Snapshot snapshot(*this);
    return body(snapshot.storage());
  }
  // Calls body(storage) on the whole state under the lock.
  template <class Body>
  auto with_storage(Body body, Access access = Access::read) {
    std::lock_guard lock(mutex_);
    const StorageTransaction transaction(*storage_, access);
    return body(*storage_);
  }
  // Calls body(storage), which reads some thousand rows at most, and searches by no index that is_entered_late(). In memory it runs
  // under the lock, which takes less time than a snapshot, since that enters all new rows into such indexes first.
  template <class Body>
  auto with_few_rows(Body body) {
    return durable_ ? with_snapshot(body) : with_storage(body);
  }
  // Replaces the whole state by `contents` in one step.
  void replace_storage(std::unique_ptr<Storage> contents);

  // Reports the present state to `sink`, and from then on every event; ends the previous trace. An exception from the sink does not
  // fail the request, which is already committed: the sink gets no further events, and ending the trace throws the exception.
  void start_trace(TraceSink sink);
  // Ends the trace, then throws the exception of its sink, if there was one.
  void stop_trace();

  // debug.start and debug.stop set this: background loops that drive the engine do nothing while it is paused.
  void set_paused(bool paused) noexcept;
  bool paused() const noexcept { return paused_; }
  std::size_t promise_count();
  // The path of the storage's file, or the URL of its database; empty for a store in memory.
  const std::string& location() const noexcept { return location_; }
  // Returns the space of deleted rows to the file system.
  void vacuum();
  // Makes the indexes that views read, unless the storage has them.
  void index_newest();

 private:
  static std::shared_ptr<Engine> attached(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);

  struct Transaction;
  struct Caller;
  class Scope;
  class Group;

  // The state at one instant, used by the thread that creates it.
  class Snapshot {
   public:
    explicit Snapshot(Engine& engine);
    Snapshot(Engine& engine, std::unique_ptr<Storage> begun) noexcept : engine_(engine), begun_(std::move(begun)) {}
    ~Snapshot();
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    Storage& storage() const noexcept { return begun_ ? *begun_ : *engine_.storage_; }

   private:
    Engine& engine_;
    std::unique_ptr<Storage> begun_;
    std::unique_lock<OwnedMutex> lock_;  // these two are set if no snapshot could begin
    std::optional<StorageTransaction> reading_;
  };
  std::unique_ptr<Storage> begin_snapshot();
  std::unique_ptr<Storage> idle_snapshot();
  void index_in_slices();
  Reply search(Request& request);
  void choose_on_snapshot(Request& request);
  std::vector<Reply> read_on_snapshot(std::span<Request> requests);
  std::unique_ptr<Storage> begin_snapshot_of(Plan& plan);

  // Callers wait for each other only where a commit takes long. Checks look at one request at a time.
  bool shares_commits() const noexcept { return durable_ && !options_.check; }
  Reply apply_in_group(Request& request, std::optional<Instant> now);
  Reply apply_as_batch(Request request);
  Reply apply_alone(Request& request, std::optional<Instant> now, Access access);
  Reply apply_locked(Request& request, std::optional<Instant> now, Access access);
  void share_commit(Caller& caller);
  Caller* run_group(Caller& first);
  bool may_share(const Caller& first, const Caller& last) const;
  bool may_be_optimistic(const Caller& first, const Caller& last) const;
  bool may_create_at_once(const Caller& first, const Caller& last) const;
  bool run_first(Caller& first, const Caller& last, Plan& plan, Atomicity atomicity = Atomicity::independent);
  bool run_copies(Caller& first, const Caller& last, Plan& plan, Access access, Atomicity atomicity);
  Instant run_batch(Transaction& transaction, Caller& caller, Instant at, Atomicity atomicity);
  bool nothing_to_tick(Instant at);
  std::vector<Reply> look_before_claims(std::span<const Request> requests);
  enum class Submitted : std::uint8_t;  // what is left of the requests that programs have submitted
  Submitted run_submissions(Transaction& transaction, Instant now);
  std::variant<Request, Reply> decode(const Submission& submission, Instant now) const;
  Reply run(Transaction& transaction, Request& request, Instant now);
  Reply run_planned(WorkingSet& set, Request& request, const Operation& given, Instant now) const;
  std::size_t run_steps(Transaction& transaction, Instant now, std::size_t most, std::vector<Fired>* fired = nullptr);
  void commit(Transaction& transaction);
  void require_properties(WorkingSet& set, Instant now, const Operation* request) const;
  std::unique_ptr<Storage> set_back(Storage& storage, ClockReset& done) const;
  Instant present();  // the clock's instant, at least the last instant that the store has seen
  void move_clock(Instant to);
  // Returns why a request cannot run in any state of this store; nothing if it may run.
  std::optional<std::string> refuse_request(const Request& request) const;
  std::optional<std::string> refuse_instant(std::optional<Instant> given, Instant earliest) const;
  std::vector<std::pair<MessageRef, RowRef>> select_messages(const std::function<bool(const OutboxMessage&)>& wanted,
                                                             std::int64_t after, std::size_t limit, bool every_row);
  std::vector<MessageRef> select_messages_to(std::span<const AddressPattern> addresses, std::int64_t after, std::size_t limit);
  std::vector<std::pair<MessageRef, RowRef>> with_rows(const std::vector<MessageRef>& messages, bool every_row);
  template <class Select>
  std::vector<std::pair<MessageRef, RowRef>> take(Select select, std::size_t limit);
  template <class Select>
  std::vector<std::pair<MessageRef, RowRef>> take_some(Select select, std::int64_t after, std::size_t limit, std::int64_t& last);
  void remove_messages(Transaction& transaction, const std::vector<MessageRef>& messages);
  void emit(const TraceEvent& event) noexcept;
  void emit_replaced();
  void emit_state() noexcept;
  void each_page(Access access, const std::function<void(WorkingSet&, std::span<const RowRef>)>& body);
  void end_trace();

  OwnedMutex mutex_{
      "a store cannot be used from inside a call of itself: this thread is in the write() of its recording, or in a signal handler "
      "during a long call; call it after that has returned"};
  std::unique_ptr<Storage> storage_;
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<Storage>> idle_;  // ended snapshots for reuse; destroyed before their storage
  const std::string location_;                  // storage_->location(), which may be read without the lock
  const bool durable_;                          // storage_->durable()
  std::shared_ptr<Clock> clock_;
  const bool remote_;               // as Storage::remote
  const bool shares_manual_clock_;  // with other machines: every move is stored
  Options options_;
  SubmissionDecoder decode_submission_;
  std::size_t longest_submission_ = 0;
  std::unique_ptr<Transaction> transaction_;
  Instant seen_ = 0;            // the last stored instant that was read
  bool claim_may_find_ = true;  // since the last claim that found fewer jobs than it asked for, this engine has made work
  TraceSink trace_;
  std::atomic<bool> traced_{false};  // whether trace_ is set; can be read without the lock
  std::exception_ptr trace_problem_;
  const std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();  // with a lock of its own: none waits for a commit
  std::atomic<bool> paused_{false};
  std::mutex callers_mutex_;        // not held while waiting for mutex_
  Caller* first_caller_ = nullptr;  // in order of arrival; the first leads the next commit
  Caller* last_caller_ = nullptr;
};

}  // namespace resonate
