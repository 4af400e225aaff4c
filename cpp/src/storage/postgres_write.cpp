// The writes of a PostgresStorage: everything that a transaction changes, in one round trip.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "codec/jobs_json.hpp"
#include "resonate/errors.hpp"
#include "resonate/index_keys.hpp"
#include "storage/message_columns.hpp"
#include "storage/postgres_notices.hpp"
#include "storage/postgres_storage.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

// The most rows of one statement. The server runs it while the next one is prepared.
constexpr std::size_t kRowsOfStatement = 250;
// So many rows take the server longer than one more call of the system takes this process.
constexpr std::size_t kManyRows = 50;

constexpr std::array kHourEnds = {"queue"_text, "kept_from"_integer};
constexpr std::array kEdgeKeyColumns = {"kind"_integer, "owner"_text, "seq"_integer};

}  // namespace

// After a statement of so many rows.
void PostgresStorage::push_many(std::size_t rows) {
  if (rows >= kManyRows) connection_->push();
}

void PostgresStorage::send_rows(const std::vector<RowChange>& changes) {
  std::vector<std::string_view> gone;
  PostgresColumns created(columns_of(PostgresQuery::insert_rows));
  PostgresColumns updated(columns_of(PostgresQuery::update_rows));
  const auto flush = [this](PostgresQuery which, PostgresColumns& rows, std::size_t least) {
    if (rows.rows() < least) return;
    send(which, rows);
    push_many(rows.rows());
    rows = PostgresColumns(columns_of(which));
  };
  for (const RowChange& change : changes) {
    const bool same = change.before && change.after && change.before->promise_spec == change.after->promise_spec;
    if (change.before && !same) gone.push_back(change.before->id());
  }
  if (!gone.empty()) {
    send(PostgresQuery::delete_rows, PostgresParameters().texts(gone));
    push_many(gone.size());
  }
  for (const RowChange& change : changes) {
    if (!change.after) continue;
    const Row& row = *change.after;
    if (change.before && change.before->promise_spec == row.promise_spec) {
      bind_state(updated, row);
      bind_holder(updated, row);
      bind_due(updated, row);
      bind_open(updated, row);
      bind_job(updated, row);
      updated.text(row.id());
      flush(PostgresQuery::update_rows, updated, kRowsOfStatement);
    } else {
      bind_new(created, row);
      bind_job(created, row);
      flush(PostgresQuery::insert_rows, created, kRowsOfStatement);
    }
  }
  flush(PostgresQuery::insert_rows, created, 1);
  flush(PostgresQuery::update_rows, updated, 1);
}

void PostgresStorage::send_hours(const std::vector<HourChange>& changes) {
  if (changes.empty()) return;
  // A transaction may end several hours of a queue, but each of them once.
  PostgresColumns ended(columns_of(PostgresQuery::replace_hours));
  for (const HourChange& change : changes)
    ended.text(change.ended->queue).integer(change.ended->counted.hour).text(hour_to_json(change.ended->counted));
  send(PostgresQuery::replace_hours, ended);
  // After them: an hour that has just ended may be too old to be kept.
  PostgresColumns old(kHourEnds);
  for (const HourChange& change : changes) old.text(change.ended->queue).integer(change.kept_from);
  send(PostgresQuery::delete_hours, old.parameters());
}

void PostgresStorage::send_submissions(const std::vector<Submission>& ended) {
  std::vector<std::int64_t> run;
  PostgresColumns refused(kRefusedColumns);
  for (const Submission& one : ended) {
    if (one.status == 0) {
      run.push_back(one.number);
    } else {
      refused.integer(one.number).integer(one.status).text(one.error);
    }
  }
  if (!run.empty()) send(PostgresQuery::delete_submissions, PostgresParameters().integers(run));
  if (refused.rows() > 0) send(PostgresQuery::refuse_submissions, refused.parameters());
}

void PostgresStorage::send_changes(const Changes& changes) {
  // The clock is set back: the instants of those that shared go with it.
  if (changes.counters.now < known_.counters.now) connection_->send("UPDATE writers SET seen = 0 WHERE seen > 0");
  if (changes.replaces_all) {
    known_.forget();
    known_.unsaved_now = kUnset;
    unfolded_.clear();
    for (const char* clear :
         {"DELETE FROM promises", "DELETE FROM schedules", "DELETE FROM edges", "DELETE FROM messages", "DELETE FROM queues",
          "DELETE FROM queue_hours", "DELETE FROM queue_deltas", "UPDATE counters SET messages = 0"})
      connection_->send(clear);
  }
  send_rows(changes.rows);

  std::vector<std::string_view> gone;
  PostgresColumns schedules(columns_of(PostgresQuery::replace_schedules));
  for (const ScheduleChange& change : changes.schedules) {
    if (change.after) {
      bind_schedule(schedules, *change.after);
    } else if (change.before) {
      gone.push_back(change.before->id);
    }
  }
  if (!gone.empty()) send(PostgresQuery::delete_schedules, PostgresParameters().texts(gone));
  if (schedules.rows() > 0) send(PostgresQuery::replace_schedules, schedules);

  gone.clear();
  PostgresColumns queues(columns_of(PostgresQuery::insert_queues));
  for (const QueueChange& change : changes.queues) {
    if (change.before && !changes.replaces_all) gone.push_back(change.before->name);
    if (change.after) queues.text(change.after->name).integer(version_).text(queue_to_json(*change.after));
  }
  // The queues that the machine has changed contain their deltas, since it has loaded them so.
  for (const QueueRef& queue : unfolded_) {
    const auto is_its = [&](const QueueChange& change) {
      return (change.after ? change.after : change.before)->name == queue->name;
    };
    if (std::ranges::any_of(changes.queues, is_its)) continue;
    gone.push_back(queue->name);
    queues.text(queue->name).integer(version_).text(queue_to_json(*queue));
  }
  if (!unfolded_.empty()) send(PostgresQuery::delete_deltas);
  if (!gone.empty()) send(PostgresQuery::delete_queues, PostgresParameters().texts(gone));
  if (queues.rows() > 0) send(PostgresQuery::insert_queues, queues);

  send_hours(changes.hours);

  if (!changes.edges_removed.empty()) {
    PostgresColumns removed(kEdgeKeyColumns);
    for (const EdgeRef& edge : changes.edges_removed)
      removed.integer(static_cast<std::int64_t>(edge->kind)).text(edge->owner).integer(edge->seq);
    send(PostgresQuery::delete_edges, removed.parameters());
  }
  if (!changes.edges_added.empty()) {
    PostgresColumns added(columns_of(PostgresQuery::insert_edges));
    for (const EdgeRef& edge : changes.edges_added) bind_edge(added, *edge);
    send(PostgresQuery::insert_edges, added);
  }
  if (!changes.messages_added.empty()) {
    PostgresColumns added(columns_of(PostgresQuery::insert_messages));
    for (const MessageRef& message : changes.messages_added) bind_message(added, *message);
    send(PostgresQuery::insert_messages, added);
  }
  if (!changes.messages_leased.empty()) {
    PostgresColumns leased(columns_of(PostgresQuery::lease_messages));
    for (const MessageRef& message : changes.messages_leased) {
      bind_lease(leased, *message);
      leased.integer(message->seq);
    }
    send(PostgresQuery::lease_messages, leased);
  }
  send_submissions(changes.submissions_ended);
  const Counters& counters = changes.counters;
  PostgresParameters stored;
  const bool optimistic = access_ == Access::optimistic;
  const bool drops = !changes.messages_removed.empty();
  if (drops) stored.integers(changes.messages_removed);
  stored.integer(writer_).integer(batch_ + 1).integer(writer_).integer(batch_).integer(version_);
  if (optimistic) stored.integer(known_.shared).integer(options_.clock ? saturating_add(counters.now, kLooksWithin) : kNever);
  stored.integer(counters.sequence).integer(counters.now).integer(counters.dropped).integer(counters.jobs);
  stored.integer(static_cast<std::int64_t>(changes.messages_added.size()));
  const ScanMarks marks = known_.marks_after(changes);
  stored.integer(marks.due).text(marks.claims_text(changes));
  stored.integer(may_share_ ? seen_shared_ : folded_).integer(last_number_);
  ++batch_;
  if (drops) {
    send(optimistic ? PostgresQuery::store_counters_and_drop_if_known : PostgresQuery::store_counters_and_drop, stored);
  } else {
    send(optimistic ? PostgresQuery::store_counters_if_known : PostgresQuery::store_counters, stored);
  }
}

void PostgresStorage::write(const Changes& changes) {
  if (is_beside_others(access_)) require_shareable(changes);
  if (commits_at_once(access_)) require_assumed(changes);
  const bool folds = wants_fold_ && !unfolded_.empty();
  if (!known_.keeps_instant(changes) || folds) guarded("commit", [&] { commit(changes); });
}

void PostgresStorage::commit(const Changes& changes) {
  const Uninterrupted uninterrupted;  // its outcome is to be known
  const bool shares = is_beside_others(access_);
  const bool at_once = commits_at_once(access_);
  try {
    if (at_once) send_begin_at_once();
    if (shares) {
      send_shared(changes);
    } else {
      send_changes(changes);
    }
    connection_->send(kCommit);
  } catch (const PostgresError&) {  // nothing was committed
    if (at_once && connection_->lost()) run_again(true);
    throw;
  }
  std::int64_t version = 0;
  std::int64_t messages = 0;
  std::int64_t transaction = 0;
  try {
    const std::vector<PostgresResult> results = connection_->run();
    const PostgresRow counters = results[results.size() - 2].row(0);
    version = counters.integer(0);
    if (shares) transaction = counters.integer(1);
    if (!shares) messages = counters.integer(1);
    if ((!shares || at_once) && options_.clock) options_.clock->learn_later(counters.integer(2));
  } catch (const PostgresError& error) {
    known_.forget();
    looked_version_ = KnownState::kUnknown;
    if (!connection_->lost()) {  // the server has refused it
      --batch_;
      if (at_once && refutes(error)) {
        if (shares) looks_left_beside_ = kLooksAfterCreating;
        if (!shares) looks_left_ = kLooksAfterFailure;
        run_again(true);
      }
      if (shares && error.is("23502")) {  // not_null_violation: another one has changed a row that this one has not locked
        forget_assumed();
        run_again(false);
      }
      if (shares && error.is("23505")) run_again(false);  // unique_violation: another one has created a row meanwhile
      if (shares && error.by_others()) run_again(true);
      throw;
    }
    if (find_outcome() == Outcome::committed) return;
    if (at_once) run_again(true);  // the server may have restarted since the last call
    throw;
  }
  in_transaction_ = false;
  keep_numbers(true);
  if (at_once) ++connection_counts.optimistic_commits;
  if (shares) return keep_shared(version, transaction, changes);
  written_.forget(changes);
  // A claim that is alone raises the mark of its scans. If this was none, the next transaction of a process that claims is alone
  // too.
  if (!claims_.empty() || own_claimed_ == 0) wants_fold_ = false;
  if (may_share_) note_folded(seen_shared_);
  unused_numbers_.clear();
  seen_version_ = version;
  known_.keep(changes);
  known_.version = version;
  known_.messages = messages;
  if (address_.listens) announce_commit(changes);
}

// After the commit, since a NOTIFY inside makes commits wait for each other. Nothing waits for its result, and a process that
// misses it polls.
void PostgresStorage::announce_commit(const Changes& changes) noexcept {
  try {
    const std::optional<CommitNotice> notice = notice_of(changes, address_.schema, version_);
    if (!notice) return;
    connection_->post(("NOTIFY " + std::string(kCommitChannel) + ", '" + notice->payload() + "'").c_str());
  } catch (const std::exception&) {  // the next transaction finds that the connection is lost
  }
}

// The connection was lost before the answer to a COMMIT. The transaction held the lock of the counters: once a new connection has
// it, the old transaction has ended, and our row in writers says how.
PostgresStorage::Outcome PostgresStorage::find_outcome() {
  ++connection_counts.lost_commits;
  forget_connection();
  constexpr int kTries = 100;
  for (int left = kTries;; --left) {
    try {
      connect();
      begin_once(Access::write);
      const PostgresResult last = run(PostgresQuery::last_batch, PostgresParameters().integer(writer_));
      const bool committed = last.rows() == 1 && last.row(0).integer(0) == batch_;
      end();
      return committed ? Outcome::committed : Outcome::undone;
    } catch (const PostgresError& error) {
      forget_connection();
      if (left == 1 || error.is(kNoAnswer))
        throw Error(ErrorCode::storage, problem("the connection was lost during a commit, and the server cannot be asked for its "
                                                "outcome (" +
                                                std::string(error.what()) + "): it is unknown whether this call changed anything"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace resonate
