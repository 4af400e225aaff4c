// The optimistic transactions of a PostgresStorage (decision 53): a process that writes alone runs requests on what it knows, and
// asks the server in the round trip that commits whether that is still the state. So they take one round trip and not two.
//
// An optimistic transaction is exclusive. Under the lock, the server refuses its commit in four cases: another process has
// committed (the version of the counters or the number of shared commits differs), another process has created one of its rows (the
// key of the row is taken), a submitted request waits, or the wait for the lock was too long.
#include <algorithm>
#include <utility>

#include "resonate/steady_time.hpp"
#include "storage/postgres_storage.hpp"

namespace resonate {

bool PostgresStorage::knows_state() const noexcept {
  using Writers = PostgresAddress::Writers;
  const bool connected = connection_ && !connection_->lost() && address_.prepared && session_timeout_ == options_.busy_timeout;
  const bool alone = (others_write_ == 0 && looks_left_ == 0) || address_.writers == Writers::optimistic;
  const bool known = known_.version != KnownState::kUnknown && known_.version == seen_version_ && known_.shared == seen_shared_;
  const bool folds = wants_fold_ || seen_shared_ > folded_;
  const bool looked = !options_.clock || steady_time() - looked_ < std::chrono::milliseconds(kLooksWithin);
  return connected && alone && address_.writers != Writers::shared && may_share_ && known && !folds && looked &&
         !submission_waits_ && writer_ != 0;
}

// Rows that are not known are taken for absent, since mostly a request creates them. A server that has gone away is found by a
// look, which is certain to have changed nothing.
void PostgresStorage::begin_optimistic(const Lookups& expected) {
  if (connection_->closed_by_server()) run_again(true);
  access_ = Access::optimistic;
  version_ = known_.version;
  lookups_.find(expected, &known_);
  const bool only_rows = lookups_.take_absent();
  if (only_rows) return;
  end();
  run_again(true);
}

// Each row that was taken for absent must be created: its key then keeps out others that create it. A transaction that changes
// nothing else than the instant is not worth a commit, so nothing would check what it has used.
void PostgresStorage::require_assumed(const Changes& changes) {
  const auto is_assumed = [this](const RowChange& change) {
    return !change.before && lookups_.rows().contains(change.after->id());
  };
  const auto absent = std::ranges::count_if(lookups_.rows(), [](const auto& one) { return !one.second; });
  if (std::ranges::count_if(changes.rows, is_assumed) != absent || known_.keeps_instant(changes)) run_again(true);
}

// It does not wait for another exclusive transaction: a look can be interrupted meanwhile.
void PostgresStorage::send_optimistic_begin() {
  in_transaction_ = true;
  connection_->send_begin(kBeginWrite);
  send_lock(Access::optimistic);
}

// Whether the server has refused a commit because something that it assumed is wrong, or it had to wait for others.
bool PostgresStorage::refutes(const PostgresError& error) noexcept {
  // not_null_violation (the version of the counters), unique_violation, lock_not_available
  return error.is("23502") || error.is("23505") || error.is("55P03") || error.by_others();
}

}  // namespace resonate
