// The transactions of a PostgresStorage that begin without a look: they run requests on what the process knows, and ask the server
// in the round trip that commits whether that is still the state. So they take one round trip and not two.
//
// An optimistic transaction is exclusive (decision 53). Under the lock, the server refuses its commit in four cases: another
// process has committed (the version of the counters or the number of shared commits differs), another process has created one of
// its rows (the key of the row is taken), a submitted request waits, or the wait for the lock was too long.
//
// A creating transaction is beside others (decision 58), and does nothing but create rows. Others that are beside others may commit
// meanwhile: they have not created its rows. The server refuses its commit in the other cases, and if a step is due, which has to
// run before, or if a later instant is stored.
#include <algorithm>
#include <utility>

#include "resonate/steady_time.hpp"
#include "storage/postgres_storage.hpp"

namespace resonate {

bool PostgresStorage::may_commit_at_once() const noexcept {
  const bool connected = connection_ && !connection_->lost() && address_.prepared && session_timeout_ == options_.busy_timeout;
  const bool looked = !options_.clock || steady_time() - looked_ < std::chrono::milliseconds(kLooksWithin);
  return connected && looked && may_share_ && !submission_waits_ && writer_ != 0;
}

bool PostgresStorage::knows_state() const noexcept {
  using Writers = PostgresAddress::Writers;
  const bool alone = (others_write_ == 0 && looks_left_ == 0) || address_.writers == Writers::optimistic;
  const bool known = known_.version != KnownState::kUnknown && known_.version == seen_version_ && known_.shared == seen_shared_;
  const bool folds = wants_fold_ || seen_shared_ > folded_;
  return may_commit_at_once() && alone && address_.writers != Writers::shared && known && !folds;
}

bool PostgresStorage::creates_at_once() const noexcept {
  return may_commit_at_once() && looks_left_beside_ == 0 && looked_version_ != KnownState::kUnknown &&
         looked_version_ == seen_version_;
}

// Rows that are not known are taken for absent, since mostly a request creates them. A server that has gone away is found by a
// look, which is certain to have changed nothing.
void PostgresStorage::begin_at_once(Access access, const Lookups& expected) {
  if (connection_->closed_by_server()) run_again(true);
  access_ = access;
  version_ = seen_version_;
  if (access == Access::creating) count_transaction();
  lookups_.find(expected, access == Access::optimistic ? &known_ : nullptr);
  const bool only_rows = lookups_.take_absent();
  if (only_rows) return;
  end();
  run_again(true);
}

// Each row that was taken for absent must be created: its key then keeps out others that create it. A transaction that changes
// nothing else than the instant is not worth a commit, so nothing would check what it has used. Only a transaction that has looked
// adds deltas.
void PostgresStorage::require_assumed(const Changes& changes) {
  const auto is_assumed = [this](const RowChange& change) {
    return !change.before && lookups_.rows().contains(change.after->id());
  };
  const auto absent = std::ranges::count_if(lookups_.rows(), [](const auto& one) { return !one.second; });
  const bool adds = access_ == Access::creating && !deltas_.empty();
  if (std::ranges::count_if(changes.rows, is_assumed) != absent || adds || known_.keeps_instant(changes)) run_again(true);
}

// It waits for an exclusive transaction not at all, or a moment: a look can be interrupted meanwhile.
void PostgresStorage::send_begin_at_once() {
  in_transaction_ = true;
  connection_->send_begin(kBeginWrite);
  send_lock(access_);
}

// Whether the server has refused a commit because something that it assumed is wrong, or it had to wait for others.
bool PostgresStorage::refutes(const PostgresError& error) noexcept {
  // not_null_violation (the version of the counters, or the instant of a writer), unique_violation, lock_not_available
  return error.is("23502") || error.is("23505") || error.is("55P03") || error.by_others();
}

}  // namespace resonate
