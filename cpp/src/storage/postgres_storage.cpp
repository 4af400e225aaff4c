#include "storage/postgres_storage.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "codec/jobs_json.hpp"
#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "storage/message_columns.hpp"
#include "storage/postgres_schema.hpp"
#include "storage/queue_deltas.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

// The limit of the role or the database for a transaction that stands idle, in ms; 0: none.
const PostgresStatement kLimitOfPauses{
    "limit_of_pauses", "SELECT reset_val::bigint FROM pg_catalog.pg_settings WHERE name = 'idle_in_transaction_session_timeout'"};

// Returns a new connection on which `looks` has run. If the connection is lost meanwhile, it makes another: a pooler can hand out a
// session that the server has just ended, and a limit of time can end the transaction that would lift it. `looks` then finds a
// migration that was committed.
template <class Body>
std::unique_ptr<PostgresConnection> connect_and(const PostgresAddress& address, Body looks) {
  for (int left = kTriesWithinLimits;; --left) {
    auto connection = std::make_unique<PostgresConnection>(address);
    try {
      looks(*connection);
      return connection;
    } catch (const PostgresError&) {
      if (left == 1 || !connection->lost()) throw;
    }
  }
}

}  // namespace

std::unique_ptr<Storage> open_postgres_storage(const std::string& url, const PostgresOptions& options) {
  return std::make_unique<PostgresStorage>(PostgresAddress::parse(url), options);
}

SchemaVersions postgres_schema_versions(const std::string& url) {
  const PostgresAddress address = PostgresAddress::parse(url);
  try {
    std::optional<std::int64_t> found;
    connect_and(address, [&](PostgresConnection& connection) { found = found_schema_version(connection, address); });
    return {address.shown, found, postgres_schema_version()};
  } catch (const PostgresError& error) {
    throw Error(ErrorCode::storage, "store " + resonate::quoted(address.shown) + ": open failed: " + error.what());
  }
}

DatabaseCounts database_counts() noexcept {
  const ConnectionCounts& now = connection_counts;
  return {now.open_connections,  now.connections,    now.round_trips, now.lock_timeouts,     now.lost_commits,
          now.listening_workers, now.shared_commits, now.run_again,   now.optimistic_commits};
}

PostgresStorage::PostgresStorage(PostgresAddress address, PostgresOptions options)
    : Storage(address.shown), address_(std::move(address)), options_(options) {
  guarded("open", [&] { connect(); });
}

PostgresStorage::~PostgresStorage() {
  if (!connection_ || known_.unsaved_now == kUnset || options_.read_only) return;
  try {
    options_.busy_timeout = 1;  // closing a store does not wait for others
    begin_once(Access::write);
    if (const auto instant = known_.unsaved_changes()) commit(*instant);
  } catch (const std::exception&) {
  }
  end();
}

void PostgresStorage::connect() {
  const TablesAccess access = options_.read_only ? TablesAccess::check : (opened_ ? TablesAccess::migrate : TablesAccess::make);
  std::string note;
  connection_ =
      connect_and(address_, [&](PostgresConnection& connection) { note = prepare_postgres_schema(connection, address_, access); });
  if (!opened_) opening_note_ = std::move(note);
  opened_ = true;
  if (address_.prepared) {  // without: the pooler gives each transaction another connection
    send_settings(Scope::session);
    const std::size_t limit = connection_->send(kLimitOfPauses);
    limit_of_pauses_ = connection_->run()[limit].row(0).integer(0);
  } else {
    connection_->begin(kBeginRead);
    const std::size_t limit = connection_->send(kLimitOfPauses);
    connection_->send(kCommit);
    limit_of_pauses_ = connection_->run()[limit].row(0).integer(0);
  }
  known_.forget();
}

// Adds the settings to the next round trip.
void PostgresStorage::send_settings(Scope scope) {
  const bool session = scope == Scope::session;
  const char* const local = session ? "false" : "true";
  send(PostgresQuery::session, PostgresParameters().text(local).text(address_.search_path()));
  session_timeout_ = session ? options_.busy_timeout : -1;
  send(PostgresQuery::lock_timeout, PostgresParameters().text(std::to_string(longest_wait())).text(local));
  if (options_.durability == Durability::normal && !options_.read_only)
    connection_->send(session ? "SET synchronous_commit = off" : "SET LOCAL synchronous_commit = off");
}

// Parent and child write under different numbers.
void PostgresStorage::disconnect() noexcept {
  forget_connection();
  writer_ = 0;
}

void PostgresStorage::forget_connection() noexcept {
  connection_.reset();
  in_transaction_ = false;
  known_.forget();
  written_.clear();
  seen_version_ = looked_version_ = KnownState::kUnknown;
}

void PostgresStorage::require_writable() const {
  if (options_.read_only)
    throw Error(ErrorCode::read_only, "store " + resonate::quoted(location()) + " was opened read-only and cannot be changed");
}

std::string PostgresStorage::problem(const std::string& what) const {
  return "store " + resonate::quoted(location()) + ": " + what;
}

void PostgresStorage::fail(const char* action, const PostgresError& error) {
  std::string what = problem(std::string(action) + " failed: " + error.what());
  // undefined_table, invalid_sql_statement_name, duplicate_prepared_statement
  if (address_.prepared && (error.is("42P01") || error.is("26000") || error.is("42P05")))
    what += " (behind a pooler in transaction mode the URL needs prepared=no)";
  const std::string changed_nothing = "; this call changed nothing";
  if (error.is("55P03") || error.is("57014") || error.is("40P01")) {  // lock_not_available, query_canceled, deadlock_detected
    ++connection_counts.lock_timeouts;
    throw Error(ErrorCode::busy, what + changed_nothing);
  }
  if (error.is("25006")) throw Error(ErrorCode::read_only, what + ": the server is a standby or read-only" + changed_nothing);
  throw Error(ErrorCode::storage, what + changed_nothing);
}

PostgresResult PostgresStorage::run(PostgresQuery which, const PostgresParameters& parameters) {
  return connection_->run(postgres_statement(which), parameters);
}

// One round trip for everything that is not known.
void PostgresStorage::load_many(const Lookups& records) {
  lookups_.find(records, is_limited() ? nullptr : &known_);
  if (lookups_.missing()) {
    require_any_read();
    guarded("read", [&] {
      lookups_.send(*connection_);
      const std::vector<PostgresResult> results = connection_->run();
      lookups_.take(results, known_);
    });
  }
  lookups_.fill(records);
}

std::size_t PostgresStorage::send_first_due(Instant floor) {
  return send(PostgresQuery::first_due, PostgresParameters().integer(floor));
}

// The instant is in this column, and the id of a timer of no kind in the next one.
void PostgresStorage::keep_first_due(const PostgresResult& result, int column) {
  const PostgresRow row = result.row(0);
  if (!row.is_null(column + 1)) refuse_timer_of_no_kind(row.text(column + 1));
  known_.first_due = known_.marks.due = row.is_null(column) ? kNever : row.integer(column);
}

Instant PostgresStorage::first_due() {
  if (submission_waits_) return kAtOnce;
  if (access_ == Access::optimistic) return known_.first_due.value_or(known_.marks.due);
  if (access_ == Access::creating) return known_.first_due.value_or(kNever);  // the server looks, too
  if (!known_.first_due)
    guarded("read", [&] {
      send_first_due(known_.marks.due);
      keep_first_due(connection_->run().front());
    });
  return *known_.first_due;
}

std::vector<RowRef> PostgresStorage::rows(const RowRange& range) {
  if (is_limited()) return locked_rows(range);
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  return guarded("read", [&] {
    const RowRange narrowed = known_.narrowed(range);
    // A worker that polls an empty queue needs no further round trip.
    if (range.index == Index::claim && narrowed.after.major == kNever) return std::vector<RowRef>();
    std::optional<std::vector<RowRef>> found = first_jobs(range);
    if (!found) {
      require_any_read();
      PostgresParameters parameters;
      bind_range(parameters, narrowed);
      found = read_rows(range, connection_->run(postgres_range(range.index), parameters));
    }
    known_.read(range, *found);
    return *std::move(found);
  });
}

std::vector<RowRef> PostgresStorage::read_rows(const RowRange& range, const PostgresResult& result) {
  std::vector<RowRef> found;
  found.reserve(static_cast<std::size_t>(result.rows()));
  RangeCheck check(range);
  for (int at = 0; at < result.rows(); ++at) {
    RowRef row;
    if (range.index != Index::claim) {
      row = read_row(result.row(at));
    } else {
      row = known_.rows.find(result.row(at).text(0));  // mostly the process that creates a job also claims it
      if (!row) known_.rows.put(row = read_row(result.row(at)));
    }
    check.see(*row);
    found.push_back(std::move(row));
  }
  return found;
}

// The range of these jobs.
RowRange PostgresStorage::range_of(const ClaimLookup& claim, const FirstJobs& jobs) {
  RowRange range = jobs_to_claim(claim.queue);
  std::tie(range.after.major, range.after.minor) = jobs.from;
  range.limit = claim.most;
  return range;
}

// Adds the rows of claims to the first round trip of an exclusive transaction, from the marks on that are known before. Returns the
// place of their results.
std::size_t PostgresStorage::send_first_jobs(const JobLookups& jobs, bool alone) {
  claims_.clear();
  std::size_t first = 0;
  for (const ClaimLookup& claim : jobs.claims) {
    FirstJobs asked{.most = claim.most, .from = stored_claim_mark(claim.queue)};
    if (alone) {
      const IndexPlace mark = known_.narrowed(jobs_to_claim(claim.queue)).after;
      asked.from = {mark.major, mark.minor};
    }
    if (claim.most == 0 || asked.from.first == kNever) continue;
    PostgresParameters parameters;
    bind_range(parameters, range_of(claim, asked));
    const std::size_t place = connection_->send(postgres_range(Index::claim), parameters);
    if (claims_.empty()) first = place;
    claims_.emplace(claim.queue, std::move(asked));
  }
  return first;
}

// Takes their results, except of queues whose mark another process has lowered since.
void PostgresStorage::take_first_jobs(std::span<const PostgresResult> results, const JobLookups& jobs) {
  for (const ClaimLookup& claim : jobs.claims) {
    const auto asked = claims_.find(claim.queue);
    if (asked == claims_.end()) continue;
    const PostgresResult& result = results.front();
    results = results.subspan(1);
    const IndexPlace mark = known_.narrowed(jobs_to_claim(claim.queue)).after;
    if (std::pair(mark.major, mark.minor) < asked->second.from) {
      claims_.erase(asked);
      continue;
    }
    asked->second.rows = read_rows(range_of(claim, asked->second), result);
    asked->second.all = asked->second.rows.size() < asked->second.most;
  }
}

// The rows of a range, if this transaction has read as many while it began.
std::optional<std::vector<RowRef>> PostgresStorage::first_jobs(const RowRange& range) const {
  const auto place = range.index == Index::claim ? claims_.find(range.queue) : claims_.end();
  if (place == claims_.end() || range.until != RowRange().until) return std::nullopt;
  const FirstJobs& jobs = place->second;
  std::vector<RowRef> found;
  for (const RowRef& row : jobs.rows)
    if (found.size() < range.limit && place_in(range, *row) > range.after) found.push_back(row);
  if (found.size() < range.limit && !jobs.all) return std::nullopt;
  return found;
}

std::vector<ScheduleRef> PostgresStorage::schedules(const ScheduleRange& range) {
  require_any_read();
  return guarded("read", [&] {
    constexpr std::array kRanges = {PostgresQuery::schedules_by_id, PostgresQuery::schedules_by_due,
                                    PostgresQuery::schedules_set_aside};
    PostgresParameters parameters;
    if (range.by == ScheduleRange::By::due) parameters.integer(range.until).integer(range.after_at);
    parameters.text(range.after).limit(range.limit);
    const PostgresResult result = run(kRanges[static_cast<std::size_t>(range.by)], parameters);
    std::vector<ScheduleRef> found;
    for (int at = 0; at < result.rows(); ++at) {
      found.push_back(read_schedule(result.row(at)));
      require_in(range, *found.back());
    }
    return found;
  });
}

std::vector<EdgeRef> PostgresStorage::edges(const EdgeRange& range) {
  require_any_read();
  if (auto known = known_.callbacks_of(range)) return *std::move(known);
  return guarded("read", [&] {
    PostgresParameters parameters;
    bind_edge_range(parameters, range);
    const PostgresResult result =
        run(range.by == EdgeRange::By::owner ? PostgresQuery::edges : PostgresQuery::edges_cancelled_with, parameters);
    std::vector<EdgeRef> found;
    for (int at = 0; at < result.rows(); ++at) found.push_back(read_edge(result.row(at)));
    return found;
  });
}

std::size_t PostgresStorage::send_range(const MessageRange& range) {
  constexpr std::array kRanges = {PostgresQuery::messages, PostgresQuery::messages_to, PostgresQuery::messages_to_prefix,
                                  PostgresQuery::unblocks, PostgresQuery::unblocks_of};
  PostgresParameters parameters;
  bind_message_range(parameters, range);
  return send(kRanges[static_cast<std::size_t>(range.by)], parameters);
}

std::vector<MessageRef> PostgresStorage::keep_messages(const MessageRange& range, const PostgresResult& result) {
  std::vector<MessageRef> found;
  for (int at = 0; at < result.rows() && found.size() < range.limit; ++at) {
    MessageRef message = read_message(result.row(at));
    require_in(range, *message);
    if (range.by == MessageRange::By::prefix && !message->address.starts_with(range.text)) break;
    found.push_back(std::move(message));
  }
  known_.read(range, found);
  return found;
}

// A shared transaction may use the messages that this process knows, because only exclusive transactions change messages.
std::vector<MessageRef> PostgresStorage::messages(const MessageRange& range) {
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  if (auto known = known_.messages_of(range)) return *std::move(known);
  require_any_read();
  return guarded("read", [&] {
    send_range(range);
    return keep_messages(range, connection_->run().front());
  });
}

std::vector<Submission> PostgresStorage::submissions(const SubmissionRange& range) {
  require_any_read();
  const bool waiting = range.state == SubmissionState::waiting;
  if (waiting && !submission_waits_) return {};
  return guarded("read", [&] {
    PostgresParameters parameters;
    if (waiting) parameters.limit(range.longest);
    parameters.limit(range.limit);
    if (waiting) parameters.limit(range.together);
    const PostgresResult result =
        run(waiting ? PostgresQuery::waiting_submissions : PostgresQuery::refused_submissions, parameters);
    std::vector<Submission> found;
    for (int at = 0; at < result.rows(); ++at) found.push_back(read_submission(result.row(at), range.state));
    return found;
  });
}

std::vector<QueueRef> PostgresStorage::queues(std::size_t most) {
  require_any_read();
  return guarded("read", [&] {
    const PostgresResult result = run(PostgresQuery::queues, PostgresParameters().limit(most));
    std::vector<QueueRef> all;
    for (int at = 0; at < result.rows(); ++at) {
      const PostgresRow row = result.row(at);
      all.push_back(with_deltas(queue_of_json(row.text(0)), row.is_null(2) ? std::string() : row.text(2)));
      require_name(all.back()->name, row.text(1));
    }
    return all;
  });
}

std::vector<HourRef> PostgresStorage::hours(std::string_view queue, std::int64_t since) {
  require_any_read();
  return guarded("read", [&] {
    const PostgresResult result = run(PostgresQuery::hours, PostgresParameters().text(queue).integer(since));
    std::vector<HourRef> found;
    for (int at = 0; at < result.rows(); ++at) found.push_back(hour_of_json(queue, result.row(at).text(0)));
    return found;
  });
}

std::vector<std::string> PostgresStorage::holders(std::string_view after, std::size_t limit) {
  require_any_read();
  return guarded("read", [&] {
    const PostgresResult result = run(PostgresQuery::holders, PostgresParameters().text(after).limit(limit));
    std::vector<std::string> found;
    for (int at = 0; at < result.rows(); ++at) found.push_back(result.row(at).text(0));
    return found;
  });
}

std::size_t PostgresStorage::count(Table table) {
  require_any_read();
  if (table == Table::messages) return static_cast<std::size_t>(known_.messages);
  return guarded("read", [&] { return static_cast<std::size_t>(run(PostgresQuery::count_rows).row(0).integer(0)); });
}

// A snapshot is a read transaction on a second connection.
std::unique_ptr<Storage> PostgresStorage::snapshot(std::unique_ptr<Storage> used) {
  if (!used) {
    PostgresOptions options = options_;
    options.read_only = true;
    used = std::make_unique<PostgresStorage>(address_, options);
  }
  used->begin(Access::read);
  static_cast<PostgresStorage&>(*used).known_.unsaved_now = known_.unsaved_now;
  return used;
}

}  // namespace resonate
