// PostgresStorage: the tables of postgres_schema.cpp. Any number of processes on any number of machines use them at once.
//
// A transaction that writes is exclusive, or shared: a shared one locks the rows that it names, and uses nothing else (decision
// 51). Readers see the last commit and do not wait. Each exclusive commit raises counters.version, and each shared commit the
// sequence shared_commits. A process keeps the rows that it has read until one of these two numbers changes.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/interruption.hpp"
#include "resonate/postgres.hpp"
#include "storage/known_state.hpp"
#include "storage/open_connections.hpp"
#include "storage/postgres_lookups.hpp"
#include "storage/postgres_statements.hpp"

namespace resonate {

class PostgresStorage final : public Storage, private OpenConnection {
 public:
  PostgresStorage(PostgresAddress address, PostgresOptions options);
  ~PostgresStorage() override;

  void expect(const Lookups& records, const JobLookups& jobs = {}) override {
    expected_ = records;
    expected_jobs_ = jobs;
  }
  void begin(Access access) override;
  bool shares_writes() const noexcept override;
  bool knows_state() const noexcept override;
  bool creates_at_once() const noexcept override;
  void end() noexcept override;

  Counters counters() override { return known_.present(); }
  std::optional<std::int64_t> take_job_number() override;
  void load_many(const Lookups& records) override;
  Instant first_due() override;
  std::vector<RowRef> rows(const RowRange& range) override;
  std::vector<ScheduleRef> schedules(const ScheduleRange& range) override;
  std::vector<QueueRef> queues(std::size_t most = SIZE_MAX) override;
  std::vector<HourRef> hours(std::string_view queue, std::int64_t since) override;
  std::vector<std::string> holders(std::string_view after, std::size_t limit) override;
  std::vector<EdgeRef> edges(const EdgeRange& range) override;
  std::vector<MessageRef> messages(const MessageRange& range) override;
  std::string opening_note() const override { return opening_note_; }
  std::vector<Submission> submissions(const SubmissionRange& range) override;
  bool changed_elsewhere() override { return std::exchange(known_.changed_elsewhere, false); }
  bool remote() const noexcept override { return true; }
  // A row of a B-tree takes a third of a page: 2704 bytes with the headers of the row and of its columns.
  std::size_t key_bytes() const noexcept override { return 2600; }
  void write(const Changes& changes) override;
  void vacuum() override;
  void index_newest() override;
  std::size_t count(Table table) override;
  std::unique_ptr<Storage> snapshot(std::unique_ptr<Storage> used) override;

 private:
  // Commits beside others after which a process that counts jobs runs alone, to add up the deltas and to raise the marks of scans:
  // the one whose number is a multiple of the first, and any process if that one did not.
  static constexpr std::int64_t kFoldsEvery = 256;
  static constexpr std::int64_t kFoldsAtLatest = 1024;
  // The same, by the jobs that were claimed meanwhile: while another client keeps a snapshot open, scans read their entries again
  // and again. The process whose number is a multiple of the second, and any process after twice as many jobs.
  static constexpr std::int64_t kFoldsAfterJobs = 512;
  static constexpr std::int64_t kLooksEvery = 16;
  // A process looks at the database at least so often, in ms: its steady clock may run at another speed than the database's clock.
  // An optimistic transaction whose instant is older when it commits runs again.
  static constexpr Duration kLooksWithin = 1000;
  // How soon a timer is due that a shared transaction looks for, in ms. One that takes longer runs again, alone.
  static constexpr Duration kDueWithin = 1000;
  // Transactions that begin with a look after a failed optimistic one, and after a failed creating one.
  static constexpr int kLooksAfterFailure = 32;
  static constexpr int kLooksAfterCreating = 8;
  enum class Outcome : std::uint8_t { committed, undone };
  // The first jobs of a queue after a place, read while the transaction began. One that shares has locked them, and has only those
  // that no other transaction had locked.
  struct FirstJobs {
    std::size_t most = 0;
    std::pair<std::int64_t, std::int64_t> from = {};
    std::vector<RowRef> rows = {};
    bool all = false;  // there are no others
  };

  void disconnect() noexcept override;
  void forget_connection() noexcept;
  template <class Body>
  auto guarded(const char* action, Body body);
  [[noreturn]] void fail(const char* action, const PostgresError& error);
  void connect();
  void begin_alone(const Lookups& expected, const JobLookups& jobs);
  void begin_once(Access access, const Lookups& expected = {}, const JobLookups& jobs = {});
  bool may_commit_at_once() const noexcept;
  static bool commits_at_once(Access access) noexcept { return access == Access::optimistic || access == Access::creating; }
  // Whether the transaction may use no other rows than those that it has locked or creates.
  bool is_limited() const noexcept { return access_ == Access::creating || (access_ == Access::shared && in_transaction_); }
  void begin_at_once(Access access, const Lookups& expected);
  void require_assumed(const Changes& changes);
  void send_begin_at_once();
  static bool refutes(const PostgresError& error) noexcept;
  std::size_t send_lock(Access access);
  enum class Scope : std::uint8_t { session, transaction };
  void send_settings(Scope scope);
  void see_counters(const PostgresResult& result);
  void renew_known(const PostgresRow& row, std::int64_t shared);
  void see_others(std::int64_t version, std::int64_t shared) noexcept;
  void count_transaction() noexcept;
  [[noreturn]] static void run_again(bool alone);
  void require_any_read() const;
  std::size_t send_shared_begin(const JobLookups& jobs);
  std::size_t send_shared_state(const JobLookups& jobs);
  void take_shared_begin(std::span<const PostgresResult> results, const PostgresResult& state, const JobLookups& jobs,
                         std::size_t holders);
  static RowRange range_of(const ClaimLookup& claim, const FirstJobs& jobs);
  std::size_t send_first_jobs(const JobLookups& jobs, bool alone);
  void take_first_jobs(std::span<const PostgresResult> results, const JobLookups& jobs);
  std::optional<std::vector<RowRef>> first_jobs(const RowRange& range) const;
  std::vector<RowRef> locked_rows(const RowRange& range) const;
  void note_folded(std::int64_t number) noexcept;
  std::int64_t claimed_by_all(std::int64_t unfolded) const noexcept;
  std::vector<RowRef> read_rows(const RowRange& range, const PostgresResult& result);
  std::pair<std::int64_t, std::int64_t> stored_claim_mark(std::string_view queue) const;
  void keep_numbers(bool committed) noexcept;
  std::int64_t unused_numbers() const noexcept;
  void keep_deltas(const PostgresResult& result);
  void require_shareable(const Changes& changes);
  void send_created(const Changes& changes);
  bool lowers_mark(const Row& row) const;
  bool takes_key(const RowChange& change) const;
  void require_deleted(const Changes& changes);
  void forget_assumed();
  void send_shared(const Changes& changes);
  void keep_shared(std::int64_t number, std::int64_t transaction, const Changes& changes);
  std::size_t send_first_due(Instant floor);
  void keep_first_due(const PostgresResult& result, int column = 0);
  std::size_t send_range(const MessageRange& range);
  std::vector<MessageRef> keep_messages(const MessageRange& range, const PostgresResult& result);
  PostgresResult run(PostgresQuery which, const PostgresParameters& parameters = {});
  std::size_t send(PostgresQuery which, const PostgresParameters& parameters = {}) {
    return connection_->send(postgres_statement(which), parameters);
  }
  void send(PostgresQuery which, const PostgresColumns& rows) {
    const WritingStatement& writing = writing_statement(which, rows.differing());
    connection_->send(writing.statement, rows.parameters(writing.arrays));
  }
  void push_many(std::size_t rows);
  void send_rows(const std::vector<RowChange>& changes);
  void send_hours(const std::vector<HourChange>& changes);
  void send_submissions(const std::vector<Submission>& ended);
  void send_changes(const Changes& changes);
  void commit(const Changes& changes);
  Duration longest_pause() const noexcept;
  Duration longest_wait() const noexcept;
  void announce_commit(const Changes& changes) noexcept;
  Outcome find_outcome();
  void require_writable() const;
  std::string problem(const std::string& what) const;

  PostgresAddress address_;
  PostgresOptions options_;
  std::unique_ptr<PostgresConnection> connection_;
  KnownState known_;
  WrittenRows written_;                                      // beside other processes, over this connection
  Lookups expected_;                                         // what the next transaction will load; its begin takes it
  JobLookups expected_jobs_;                                 // the same for its requests on jobs
  PostgresLookups lookups_;                                  // of this transaction
  std::map<std::string, FirstJobs, std::less<>> claims_;     // of this transaction
  std::set<std::pair<std::string, std::string>> free_keys_;  // queues and unique keys that it has locked, and that no job has
  std::vector<std::pair<std::string, std::string>> deltas_;  // that it adds to queues
  std::vector<QueueRef> unfolded_;                           // queues with the deltas that this exclusive transaction adds up
  std::int64_t folded_ = 0;                                  // the number of the last deltas that are in the queues
  std::int64_t own_commits_ = 0;                             // beside others since then
  std::int64_t own_claimed_ = 0;                             // the jobs that they have claimed
  bool wants_fold_ = false;                                  // the next transaction is to be exclusive, and adds them up
  // Numbers of jobs (postgres_migrations.cpp).
  std::int64_t jobs_made_ = 0;
  std::int64_t numbers_taken_ = 0;
  std::int64_t last_number_ = 0;       // that the sequence has given
  std::vector<std::int64_t> numbers_;  // that this transaction has taken; the first handed_ ones have a job
  std::size_t handed_ = 0;
  std::vector<std::int64_t> unused_numbers_;  // that transactions before have taken, in order
  int others_write_ = 0;            // not 0: another process has committed lately, as one of so many transactions has seen
  std::int64_t writer_ = 0;         // our row in writers; 0: nothing was written yet
  std::int64_t batch_ = 0;          // the number of our last transaction
  std::int64_t version_ = 0;        // of the state that this transaction sees
  Duration session_timeout_ = -1;   // lock_timeout of the connection, if its settings are kept
  Duration limit_of_pauses_ = 0;    // of the role or the database; 0: none
  ScanMarks stored_marks_;          // that the last transaction has read
  std::string stored_claim_marks_;  // their text
  bool opened_ = false;             // whether the tables were there once
  std::string opening_note_;
  bool submission_waits_ = false;  // when the transaction began
  bool in_transaction_ = false;
  Access access_ = Access::read;                      // of the transaction
  bool may_share_ = false;                            // the role may use shared_commits
  bool keeps_known_ = true;                           // whether known_ is valid after the transaction
  std::int64_t seen_version_ = KnownState::kUnknown;  // of the state that the last transaction has seen or made
  std::int64_t seen_shared_ = 0;
  std::int64_t looked_version_ = KnownState::kUnknown;  // that the last look has seen, while the counters are those that it read
  Duration wait_left_ = 0;                              // not 0: lock_timeout of the next transaction alone
  std::chrono::steady_clock::time_point looked_;        // when a transaction last read the counters
  int looks_left_ = 0;                                  // of kLooksAfterFailure
  int looks_left_beside_ = 0;                           // of kLooksAfterCreating
};

// Runs body, and translates what the server refuses into core errors.
template <class Body>
auto PostgresStorage::guarded(const char* action, Body body) {
  try {
    return body();
  } catch (const PostgresError& error) {
    if (connection_ && connection_->lost()) forget_connection();
    fail(action, error);
  } catch (const Interrupted&) {
    if (connection_ && connection_->lost()) forget_connection();
    throw;
  }
}

}  // namespace resonate
