// How a transaction of a PostgresStorage begins and ends: the locks, the counters, and what is known of the state.
//
// There are three kinds (decision 51). A read is a snapshot. An exclusive transaction keeps out all other writers. A shared one
// keeps out the exclusive ones; it locks the rows that it names, and changes nothing else. An optimistic transaction is exclusive,
// and a creating one is shared. These two send nothing before their commit, and then the beginning, the changes and the commit
// together (postgres_optimistic.cpp).
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "resonate/steady_time.hpp"
#include "storage/postgres_notices.hpp"
#include "storage/postgres_storage.hpp"
#include "storage/record_checks.hpp"

namespace resonate {

namespace {

constexpr Duration kShortestLimit = 1000;  // of longest_pause()
constexpr Duration kLongestLimit = 2000;

// How long an exclusive transaction waits at a time for the shared ones, which meanwhile queue behind it: some round trips. Then it
// lets them pass, for a part of the same time.
constexpr Duration kWaitForSharing = 100;

// Whether the server has ended a wait for a lock.
bool is_lock_timeout(const PostgresError& error) { return error.is("55P03"); }

}  // namespace

void PostgresStorage::begin(Access access) {
  const JobLookups jobs = std::exchange(expected_jobs_, {});
  const Lookups expected = std::exchange(expected_, {});  // also if this fails: the keys are valid for this call alone
  if (access != Access::read) require_writable();
  if (commits_at_once(access)) return begin_at_once(access, expected);
  if (access == Access::shared && jobs.claims.size() > 1) run_again(true);  // such a transaction may claim from one queue
  guarded("begin", [&] {
    bool restarted = connection_ != nullptr;  // the server may have been, since the last call
    for (int left = kTriesWithinLimits;; --left) {
      try {
        if (!connection_) connect();
        return access == Access::write ? begin_alone(expected, jobs) : begin_once(access, expected, jobs);
      } catch (const PostgresError& error) {
        // Nothing was begun, so a new connection loses nothing.
        const bool lost = !connection_ || connection_->lost();
        const bool limited = !address_.prepared && error.by_limit() && left > 1;  // before the transaction has lifted the limit
        if (!limited && !(restarted && lost)) throw;
        if (lost) forget_connection();
        restarted = false;
      }
    }
  });
}

// Begins an exclusive transaction. It waits at most busy_timeout for other writers, and for shared ones a moment at a time: one of
// them may stand still, and the other shared ones queue behind this wait.
void PostgresStorage::begin_alone(const Lookups& expected, const JobLookups& jobs) {
  const auto begun = steady_time();
  const auto left = [&] {
    return longest_wait() - std::chrono::duration_cast<std::chrono::milliseconds>(steady_time() - begun).count();
  };
  for (;;) {
    try {
      return begin_once(Access::write, expected, jobs);
    } catch (const PostgresError& error) {
      if (!is_lock_timeout(error) || connection_->lost() || left() <= 0) throw;
    }
    const Duration differs = 1 + connection_->backend() % kWaitForSharing;  // from process to process
    std::this_thread::sleep_for(std::chrono::milliseconds(std::clamp<Duration>(left(), 1, differs)));
    wait_left_ = std::max<Duration>(1, left());
  }
}

// How long this process may stand still in a transaction, in ms: less than the others wait for it, if they have the same
// busy_timeout, and no longer than the role or the database allows, but long enough for a busy machine.
Duration PostgresStorage::longest_pause() const noexcept {
  const Duration wanted = options_.busy_timeout / 5 * 2;
  return std::clamp<Duration>(limit_of_pauses_ > 0 ? std::min(wanted, limit_of_pauses_) : wanted, kShortestLimit, kLongestLimit);
}

// 0 would mean: wait without an end.
Duration PostgresStorage::longest_wait() const noexcept { return std::max<Duration>(1, options_.busy_timeout); }

bool PostgresStorage::shares_writes() const noexcept {
  using Writers = PostgresAddress::Writers;
  if (!may_share_ || wants_fold_ || address_.writers == Writers::alone || address_.writers == Writers::optimistic) return false;
  return address_.writers == Writers::shared || others_write_ > 0;
}

std::size_t PostgresStorage::send_lock(Access access) {
  PostgresParameters parameters;
  parameters.text(std::to_string(longest_pause()));
  if (access == Access::shared) return send(PostgresQuery::lock_shared, parameters.text(address_.schema));
  const std::string moment = std::to_string(std::min(kWaitForSharing, longest_wait()));
  const std::string longest = std::to_string(longest_wait());
  if (access == Access::creating)
    return send(PostgresQuery::lock_shared_at_once, parameters.text(moment).text(address_.schema).text(longest));
  const bool waits = access != Access::optimistic;
  if (waits && wait_left_ > 0)
    send(PostgresQuery::lock_timeout, PostgresParameters().text(std::to_string(wait_left_)).text("true"));
  if (waits) wait_left_ = 0;
  return send(waits ? PostgresQuery::lock : PostgresQuery::lock_at_once,
              parameters.text(moment).text(address_.schema).text(longest));
}

// One round trip: the locks, the counters, and the records that the transaction is going to read. If no other process writes, most
// of them are known; a shared transaction reads all of them again.
void PostgresStorage::begin_once(Access access, const Lookups& expected, const JobLookups& jobs) {
  const bool writes = access != Access::read;
  const bool shares = access == Access::shared;
  count_transaction();
  const bool alone = others_write_ == 0 && !shares && known_.version != KnownState::kUnknown;
  access_ = access;
  try {
    connection_->send_begin(writes ? kBeginWrite : kBeginRead);
    if (!address_.prepared || session_timeout_ != options_.busy_timeout) send_settings(Scope::transaction);
    const bool registers = writes && writer_ == 0;
    const std::size_t writer = registers ? send(PostgresQuery::new_writer) : 0;
    const std::size_t lock = writes ? send_lock(access) : 0;
    lookups_.find(expected, alone ? &known_ : nullptr);
    // Before the counters: they then have the instants of all that changed these rows, and the clock is read after the locks.
    const std::size_t holders = shares ? send_shared_begin(jobs) : 0;
    const std::size_t counters = shares ? send_shared_state(jobs) : send(PostgresQuery::load_counters);
    const MessageRange unblocks{.by = MessageRange::By::unblock, .limit = KnownState::kUnblocksKept};
    const bool exclusive = access == Access::write;
    const bool asks_due = exclusive && !(alone && known_.first_due);
    const bool asks_unblocks = exclusive && !(alone && known_.messages_of({.by = MessageRange::By::unblock, .limit = 1}));
    const Instant floor = alone ? known_.marks.due : kAtOnce;
    const std::size_t due = asks_due ? send_first_due(floor) : 0;
    const std::size_t messages = asks_unblocks ? send_range(unblocks) : 0;
    const bool asks_deltas = exclusive && !alone;
    const std::size_t deltas = asks_deltas ? send(PostgresQuery::load_deltas) : 0;
    const std::size_t claims = exclusive ? send_first_jobs(jobs, alone) : 0;
    if (!shares) lookups_.send(*connection_);
    in_transaction_ = true;
    const auto sent = steady_time();
    const std::vector<PostgresResult> results = connection_->run();
    const auto answered = steady_time();
    if (access == Access::write)
      lock_waits.add(std::chrono::duration_cast<std::chrono::milliseconds>(answered - sent).count(), answered);
    if (registers) writer_ = results[writer].row(0).integer(0);
    if (writes && results[lock].rows() != 1) throw Error(ErrorCode::storage, problem("it is damaged: it has no write_lock"));
    see_counters(results[counters]);
    if (shares) return take_shared_begin(std::span(results).first(counters), results[counters], jobs, holders);
    if (asks_due && floor <= known_.marks.due) keep_first_due(results[due]);  // else another process has lowered the mark
    if (asks_unblocks) keep_messages(unblocks, results[messages]);
    lookups_.take(results, known_);
    if (!claims_.empty()) take_first_jobs(std::span(results).subspan(claims), jobs);
    if (asks_deltas) {
      keep_deltas(results[deltas]);
    } else if (exclusive && may_share_ && seen_shared_ > folded_) {  // others share since a moment ago
      keep_deltas(run(PostgresQuery::load_deltas));
    }
  } catch (const PostgresError& error) {
    end();
    if (shares && error.by_others()) run_again(true);
    throw;
  } catch (...) {
    end();
    throw;
  }
}

// Detects commits of other processes and submissions, and learns the server's instant. A pooler may have passed the session's
// settings to another client and given us its own: then the tables are those of another store.
void PostgresStorage::see_counters(const PostgresResult& result) {
  if (result.rows() != 1) throw Error(ErrorCode::storage, problem("it is damaged: it has no counters"));
  const PostgresRow row = result.row(0);
  if (const std::string schema = row.text(8); schema != address_.schema) {
    forget_connection();
    throw Error(ErrorCode::storage, problem("the connection looked for its tables in the schema " + resonate::quoted(schema) +
                                            "; this call changed nothing. Behind a pooler in transaction mode the URL needs "
                                            "prepared=no"));
  }
  if (options_.clock) options_.clock->learn(row.integer(6));
  looked_ = steady_time();
  submission_waits_ = row.integer(7) != 0;
  may_share_ = !row.is_null(9) && !row.is_null(14);
  version_ = row.integer(0);
  const std::int64_t shared = may_share_ ? row.integer(9) : 0;
  see_others(version_, shared);
  stored_marks_.due = row.is_null(10) ? kAtOnce : row.integer(10);
  if (std::string claims = row.is_null(11) ? std::string() : row.text(11); claims != stored_claim_marks_) {
    stored_marks_.claims.clear();
    stored_marks_.read_claims(claims);
    stored_claim_marks_ = std::move(claims);
  }
  note_folded(row.integer(12));
  const std::int64_t unfolded = shared - folded_;
  wants_fold_ = wants_fold_ && (unfolded >= kFoldsEvery / 2 || claimed_by_all(unfolded) >= kFoldsAfterJobs / 2);
  jobs_made_ = row.integer(4);
  numbers_taken_ = row.integer(13);
  last_number_ = may_share_ ? row.integer(14) : numbers_taken_;
  if (version_ != known_.version || shared != known_.shared || !may_share_) renew_known(row, shared);
  looked_version_ = version_;
}

// Takes the counters for all that is known.
void PostgresStorage::renew_known(const PostgresRow& row, std::int64_t shared) {
  const std::int64_t jobs = saturating_add(jobs_made_, last_number_ - numbers_taken_ - unused_numbers());
  const Counters counters{row.integer(1), row.integer(2), row.integer(3), jobs};
  require_usable(counters, row.integer(5));
  known_.renew(version_, counters, row.integer(5), stored_marks_);
  known_.shared = shared;
  // Without the lock, a transaction that shares may have taken its number and not have committed yet: then what we read becomes
  // outdated, and the number does not change again.
  keeps_known_ = access_ == Access::write && may_share_;
}

// Three counters tell for how many more transactions a fact holds: that others have written, and that a commit without a look, of
// each kind, has failed. Each transaction lowers them by one.
void PostgresStorage::count_transaction() noexcept {
  for (int* const left : {&others_write_, &looks_left_, &looks_left_beside_})
    if (*left > 0) --*left;
}

// Notes whether another process has committed, since this one last looked.
void PostgresStorage::see_others(std::int64_t version, std::int64_t shared) noexcept {
  constexpr int kLately = 32;
  if (seen_version_ != KnownState::kUnknown && (version != seen_version_ || shared != seen_shared_)) others_write_ = kLately;
  seen_version_ = version;
  seen_shared_ = shared;
}

void PostgresStorage::end() noexcept {
  lookups_.clear();
  claims_.clear();
  free_keys_.clear();
  unfolded_.clear();
  keep_numbers(false);
  if (commits_at_once(access_)) access_ = Access::read;
  if (!std::exchange(keeps_known_, true)) known_.version = KnownState::kUnknown;  // the next transaction reads all of it again
  if (!in_transaction_) return;
  in_transaction_ = false;
  try {
    const Uninterrupted uninterrupted;
    if (connection_ && !connection_->lost()) {
      connection_->post("ROLLBACK");
      return;
    }
  } catch (const std::exception&) {  // a lost connection ends its transaction
  }
  forget_connection();
}

}  // namespace resonate
