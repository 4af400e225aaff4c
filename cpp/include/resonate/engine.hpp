// Engine: the door of the core. Plans a batch, runs the machine over a working set, commits, and takes the internal steps that
// time makes due.
//
// Thread-safe: one lock, held for one transaction and handed on in order of arrival. What takes long (a long tick, a purge) is cut
// into transactions of a few ms between which others run; what only reads a lot (a search, a check, a snapshot) works on a snapshot
// of the storage, beside the writer, and so does what reads a little while a file is being written to. Where commits are durable,
// callers that arrive during one share the next (group commit). A call made by the thread that is inside another call of the same
// engine (by a trace sink, by an interrupt hook) is refused: Error (invalid). Nothing here reads a clock except through the Clock
// it was given. Long calls can be interrupted (interruption.hpp).
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
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

// Of what changes a state as a whole: whether it does, or only says what it would change.
enum class Extent : std::uint8_t { preview, change };

enum class Atomicity : std::uint8_t { independent, all_or_nothing };

// What happened, one record for every request that ran and every internal step, in order. Called under the engine's lock.
struct TraceEvent {
  Instant now = 0;
  const Request* request = nullptr;  // a request and its reply, or
  const Reply* reply = nullptr;
  const Fired* fired = nullptr;                    // a step, or
  const std::vector<MessageRef>* taken = nullptr;  // messages that were taken, or
  Storage* replaced = nullptr;                     // the whole state was replaced (restore, reset) by what is in here
};
using TraceSink = std::function<void(const TraceEvent&)>;

class WorkingSet;
struct ClockReset;

// What is ahead of the system's clock by less is the usual difference of two machines' clocks.
inline constexpr Duration kClockTolerance = 60'000;

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);
  ~Engine();
  static std::shared_ptr<Engine> create(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);

  const Options& options() const noexcept { return options_; }
  const std::shared_ptr<Clock>& clock() const noexcept { return clock_; }

  // One request, then the internal steps due at its instant. `now` empty: the clock's.
  Reply apply(Request request, std::optional<Instant> now = {});
  // Requests in order, each followed by its steps, in one transaction. `nows`: one instant for each, or fewer (none: the instant of
  // the request before). all_or_nothing: the first refusal undoes the batch; every other request answers 409 and names it.
  std::vector<Reply> apply(std::vector<Request> requests, const std::vector<std::optional<Instant>>& nows = {},
                           Atomicity atomicity = Atomicity::independent);

  // Fires what is due at `now`, to the last step or the `limit`-th. Error (invalid) for an instant earlier than one already seen.
  // In bounded transactions; an interrupt between two of them keeps what was committed.
  std::vector<Fired> tick(std::optional<Instant> now = {}, std::size_t limit = SIZE_MAX);
  // The next instant at which something is due, never earlier than what the store has seen.
  std::optional<Instant> next_due();

  // What waits and was queued after the message numbered `after`, in order of queueing; each with its row, of an unblock the
  // settled record that it carries.
  std::vector<std::pair<MessageRef, RowRef>> messages_with_records(std::size_t limit = SIZE_MAX);
  std::vector<std::pair<MessageRef, RowRef>> messages_with_records_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                                      std::int64_t after, std::size_t limit);
  // The same for messages to some addresses. It reads what waits for these, or the outbox from `after` on, whichever is less.
  std::vector<std::pair<MessageRef, RowRef>> messages_to(std::span<const AddressPattern> addresses, std::int64_t after,
                                                         std::size_t limit);
  // Removes the messages that wait when it begins: an acknowledged delivery. The timer of a task whose execute goes is armed
  // (PROTOCOL 4). In bounded transactions; where one of them fails, what was taken before it is the result.
  std::vector<std::pair<MessageRef, RowRef>> take_messages(std::size_t limit = SIZE_MAX);
  // The same for those that `wanted` accepts.
  std::vector<std::pair<MessageRef, RowRef>> take_messages_if(const std::function<bool(const OutboxMessage&)>& wanted,
                                                              std::size_t limit);
  std::vector<std::pair<MessageRef, RowRef>> take_messages_to(std::span<const AddressPattern> addresses, std::size_t limit);
  // Removes the messages of those numbers, as far as they still wait: their delivery was acknowledged. The numbers that did, so
  // that of several who want one message one gets it.
  std::vector<std::int64_t> acknowledge(std::span<const std::int64_t> numbers);

  // Rings at every commit that gives whoever watches something to do.
  std::shared_ptr<Watch> watch(int descriptor);

  // Deletes the promises that were settled before that instant and that nothing refers to which is still to be delivered or run;
  // how many. In bounded transactions; an interrupt between two of them keeps what was committed. Error (invalid): the instant is
  // not past.
  std::size_t purge(Instant settled_before);

  // Every violated property, each under its name; empty when all hold.
  std::vector<Violation> check();
  // What the store works around and somebody should mend, each under its name; the state is sound all the same.
  //   schedule_set_aside: a schedule that cannot be fired. Look::every: also one that could not if it were due now.
  //   clock_ahead: an instant was stored that the system's clock reaches in more than a minute.
  enum class Look : std::uint8_t { stored, every };
  std::vector<Violation> problems(Look look);
  // By how much the last instant that the store has seen is ahead of the system's clock; 0: not, or the clock is moved by hand.
  Duration clock_ahead();
  // Sets the stored instant back to the system's clock, with everything that was stored ahead of it. Error (invalid): the clock is
  // moved by hand. Error (invariant): a property of the state would hold no longer; nothing was changed.
  ClockReset reset_clock(Extent extent);

  std::shared_ptr<Engine> fork(std::shared_ptr<Clock> clock);
  void reset();

  // The whole state as of now, for whoever reads a lot: body(storage) runs without the lock, and others write meanwhile. A file
  // that cannot be opened a second time (the process gave up the right to) is read under the lock.
  template <class Body>
  auto with_snapshot(Body body) {
    Snapshot snapshot(*this);
    return body(snapshot.storage());
  }
  // The whole state under the lock.
  template <class Body>
  auto with_storage(Body body, Access access = Access::read) {
    std::lock_guard lock(mutex_);
    const StorageTransaction transaction(*storage_, access);
    return body(*storage_);
  }
  // Replaces the whole state by `contents`, in one step.
  void replace_storage(std::unique_ptr<Storage> contents);

  // Tells `sink` what the store holds, and from then on every event; ends the trace before it. What the sink throws costs no
  // request its reply, since the request has been done by then: the sink is told nothing more, and ending the trace throws it.
  void start_trace(TraceSink sink);
  // Throws what the sink threw; the trace is ended all the same.
  void stop_trace();

  // debug.start and debug.stop: whoever drives this engine in the background holds still while it is paused.
  void set_paused(bool paused) noexcept;
  bool paused() const noexcept { return paused_; }
  std::size_t promise_count();
  // Of the storage: the path of its file; empty: in memory.
  std::string location();
  // Gives the room of deleted rows back to the file system.
  void vacuum();

 private:
  static std::shared_ptr<Engine> attached(std::unique_ptr<Storage> storage, std::shared_ptr<Clock> clock, Options options);

  struct Transaction;
  struct Caller;
  class Scope;

  // What is stored now, for the thread that made it.
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
    std::unique_lock<OwnedMutex> lock_;  // these two where nothing could begin
    std::optional<StorageTransaction> reading_;
  };
  std::unique_ptr<Storage> begin_snapshot();
  std::unique_ptr<Storage> idle_snapshot();
  void index_in_slices();
  Reply search(Request& request);
  void choose_beside(Request& request);
  std::vector<Reply> read_beside(std::span<Request> requests);
  std::unique_ptr<Storage> begin_beside_writer();

  void share_commit(Caller& caller);
  Caller* run_group(Caller& first, Caller* last);
  Instant run_batch(Transaction& transaction, Caller& caller, Instant at, Atomicity atomicity);
  bool nothing_to_tick(Instant at);
  Reply run(Transaction& transaction, Request& request, Instant now);
  std::size_t run_steps(Transaction& transaction, Instant now, std::size_t most, std::vector<Fired>* fired = nullptr);
  void commit(Transaction& transaction);
  void require_properties(WorkingSet& set, Instant now, const Operation* request) const;
  std::unique_ptr<Storage> set_back(Storage& storage, ClockReset& done) const;
  Instant present();  // the clock's instant, never earlier than the last that the store has seen
  void move_clock(Instant to);
  std::optional<std::string> refuse_instant(std::optional<Instant> given, Instant earliest) const;
  std::vector<std::pair<MessageRef, RowRef>> select_messages(const std::function<bool(const OutboxMessage&)>& wanted,
                                                             std::int64_t after, std::size_t limit, bool every_row);
  std::vector<MessageRef> select_messages_to(std::span<const AddressPattern> addresses, std::int64_t after, std::size_t limit);
  template <class Select>
  std::vector<std::pair<MessageRef, RowRef>> take(Select select, std::size_t limit);
  template <class Select>
  std::vector<std::pair<MessageRef, RowRef>> take_some(Select select, std::int64_t after, std::size_t limit, std::int64_t& last);
  void remove_messages(Transaction& transaction, const std::vector<MessageRef>& messages);
  void ring(const Changes& changes) noexcept;
  void ring_all() noexcept;
  void tell(const TraceEvent& event) noexcept;
  void tell_replaced();
  void each_page(Access access, const std::function<void(WorkingSet&, std::span<const RowRef>)>& body);
  void end_trace();

  OwnedMutex mutex_{
      "a store cannot be used from inside a call of itself: this thread is in the write() of its recording, or in a signal handler "
      "during a long call; call it after that has returned"};
  std::unique_ptr<Storage> storage_;
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<Storage>> idle_;  // snapshots that were ended and can begin again; closed before their storage
  const bool durable_;                          // of the storage; never changes
  std::shared_ptr<Clock> clock_;
  Options options_;
  std::unique_ptr<Transaction> transaction_;
  Instant seen_ = 0;  // the last stored instant that was read
  TraceSink trace_;
  std::atomic<bool> traced_{false};  // for whoever does not hold the lock
  std::exception_ptr trace_problem_;
  std::vector<std::weak_ptr<Watch>> watches_;
  std::atomic<bool> paused_{false};
  std::mutex callers_mutex_;        // never held while mutex_ is being waited for
  Caller* first_caller_ = nullptr;  // in order of arrival; the first leads the next commit
  Caller* last_caller_ = nullptr;
};

}  // namespace resonate
