// The transactions of a PostgresStorage that run beside those of other processes (decisions 51 and 52): the rows
// that they lock, and the changes that they may make.
#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "resonate/index_keys.hpp"
#include "storage/postgres_storage.hpp"
#include "storage/queue_deltas.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

constexpr std::pair<std::int64_t, std::int64_t> kBeginning{kFirstPlace, kFirstPlace};

// The columns of load_shared behind those of load_counters.
constexpr int kSharedDue = 15;
constexpr int kSharedUnblock = 17;
constexpr int kSharedClaimable = 18;
constexpr int kSharedBody = 19;

const Row& row_of(const RowChange& change) { return change.after ? *change.after : *change.before; }

}  // namespace

void PostgresStorage::run_again(bool alone) {
  ++connection_counts.run_again;
  throw RunAgain(alone);
}

// A read of what other transactions beside this one may change, and that is not locked: this one must not decide by it. An
// optimistic or creating transaction has not begun on the server.
void PostgresStorage::require_any_read() const {
  if (access_ == Access::optimistic || is_limited()) run_again(true);
}

std::pair<std::int64_t, std::int64_t> PostgresStorage::stored_claim_mark(std::string_view queue) const {
  const auto found = stored_marks_.claims.find(queue);
  return found == stored_marks_.claims.end() ? kBeginning : found->second;
}

// Adds what a shared transaction locks and takes besides the rows that it names. The rows of a claim begin at the mark that the
// last transaction has read. Returns the place of the number of unique keys that jobs have.
std::size_t PostgresStorage::send_shared_begin(const JobLookups& jobs) {
  claims_.clear();
  free_keys_.clear();
  std::size_t holders = 0;
  if (!jobs.keys.empty()) {
    std::vector<std::string_view> queues;
    std::vector<std::string_view> keys;
    for (const KeyLookup& asked : jobs.keys) {
      queues.push_back(asked.queue);
      keys.push_back(asked.key);
    }
    send(PostgresQuery::lock_keys, PostgresParameters().text(address_.schema).text(address_.schema).texts(queues).texts(keys));
    // Its snapshot is a later one: it has all that earlier transactions with these locks have made.
    holders = send(PostgresQuery::count_holders, PostgresParameters().texts(queues).texts(keys));
  }
  lookups_.send_locking(*connection_, jobs, written_);
  for (const ClaimLookup& claim : jobs.claims) {  // one at most
    FirstJobs locked{.most = claim.most, .from = stored_claim_mark(claim.queue)};
    PostgresParameters parameters;
    bind_range(parameters, range_of(claim, locked));
    send(PostgresQuery::lock_claims, parameters);
    claims_.emplace(claim.queue, std::move(locked));
  }
  if (jobs.without_id > 0)
    send(PostgresQuery::job_numbers, PostgresParameters().integer(static_cast<std::int64_t>(jobs.without_id)));
  return holders;
}

// Adds the statement that reads what a shared transaction does not lock. Its snapshot is a later one than that of the claim: it has
// all the jobs that the claim has not locked.
std::size_t PostgresStorage::send_shared_state(const JobLookups& jobs) {
  PostgresParameters parameters;
  if (jobs.claims.empty()) {
    parameters.null(PostgresType::text).integer(0).integer(0).limit(0);
  } else {
    const ClaimLookup& claim = jobs.claims.front();
    const auto from = claims_.find(claim.queue)->second.from;
    parameters.text(claim.queue).integer(from.first).integer(from.second).limit(claim.most);
  }
  if (lookups_.only_queue().empty()) {
    parameters.null(PostgresType::text);
  } else {
    parameters.text(lookups_.only_queue());
  }
  parameters.integer(kAtOnce);
  parameters.integer(options_.clock ? saturating_add(options_.clock->wall(), kDueWithin) : kNever).integer(kDueWithin);
  return send(PostgresQuery::load_shared, parameters);
}

// Takes the results of send_shared_begin() and of send_shared_state(), after the counters. Fewer jobs than asked for are all that
// there are only if no other transaction has locked one, and if no exclusive one has lowered the mark since it was read.
void PostgresStorage::take_shared_begin(std::span<const PostgresResult> results, const PostgresResult& state,
                                        const JobLookups& jobs, std::size_t holders) {
  const PostgresRow read = state.row(0);
  keep_first_due(state, kSharedDue);
  if (read.is_null(kSharedUnblock)) known_.read({.by = MessageRange::By::unblock, .limit = KnownState::kUnblocksKept}, {});
  // The job that has a key may be about to end, and is not locked.
  if (!jobs.keys.empty() && results[holders].row(0).integer(0) > 0) run_again(true);
  for (const KeyLookup& free : jobs.keys) free_keys_.emplace(free.queue, free.key);
  if (jobs.without_id > 0) {
    for (int at = 0; at < results.back().rows(); ++at) numbers_.push_back(results.back().row(at).integer(0));
    results = results.first(results.size() - 1);
  }
  for (const ClaimLookup& claim : jobs.claims) {
    FirstJobs& locked = claims_.find(claim.queue)->second;
    for (int at = 0; at < results.back().rows(); ++at) locked.rows.push_back(read_row(results.back().row(at)));
    locked.all = locked.rows.size() < locked.most;
    if (stored_claim_mark(claim.queue) < locked.from ||
        (locked.all && std::cmp_not_equal(read.integer(kSharedClaimable), locked.rows.size())))
      run_again(false);
    results = results.first(results.size() - 1);
  }
  std::optional<std::string> body;
  if (!read.is_null(kSharedBody)) body = read.text(kSharedBody);
  if (!lookups_.take_locked(results, body ? &*body : nullptr, written_)) run_again(false);
  for (const auto& [id, row] : lookups_.rows())
    if (row && index_key<Index::claim>(*row)) run_again(true);  // not locked
  // Whose counts decide which jobs are claimed: they lack the deltas.
  for (const auto& [name, queue] : lookups_.queues())
    if (queue && (queue->concurrency > 0 || queue->rate)) run_again(true);
  for (const auto& [queue, locked] : claims_)
    for (const RowRef& row : locked.rows) lookups_.note(row);
}

// The rows of a range that this transaction has locked.
std::vector<RowRef> PostgresStorage::locked_rows(const RowRange& range) const {
  if (range.index == Index::unique_key && free_keys_.contains({range.queue, range.text})) return {};
  std::optional<std::vector<RowRef>> found = first_jobs(range);
  if (!found) run_again(true);
  return *std::move(found);
}

std::optional<std::int64_t> PostgresStorage::take_job_number() {
  if (access_ != Access::shared || !in_transaction_) return std::nullopt;
  if (handed_ == numbers_.size()) run_again(true);
  return jobs_made_ + (numbers_[handed_++] - numbers_taken_);
}

// At the end of a transaction: keeps the numbers that no job has got. If no other process takes one after them, the next exclusive
// transaction of this process uses them.
void PostgresStorage::keep_numbers(bool committed) noexcept {
  constexpr std::size_t kKeptNumbers = 1000;
  const auto first_unused = numbers_.begin() + static_cast<std::ptrdiff_t>(committed ? handed_ : 0);
  try {
    unused_numbers_.insert(unused_numbers_.end(), first_unused, numbers_.end());
  } catch (const std::bad_alloc&) {  // they are left out
  }
  if (unused_numbers_.size() > kKeptNumbers) unused_numbers_.erase(unused_numbers_.begin(), unused_numbers_.end() - kKeptNumbers);
  numbers_.clear();
  handed_ = 0;
}

// How many of the last numbers that the sequence has given were taken by this process, and got by no job.
std::int64_t PostgresStorage::unused_numbers() const noexcept {
  std::int64_t last = last_number_;
  for (auto one = unused_numbers_.rbegin(); one != unused_numbers_.rend() && *one == last && last > numbers_taken_; ++one) --last;
  return last_number_ - last;
}

// Whether a change gives a job a unique key that this transaction has not locked, or that was not free.
bool PostgresStorage::takes_key(const RowChange& change) const {
  const auto key = change.after ? index_key<Index::unique_key>(*change.after) : std::nullopt;
  if (!key || (change.before && index_key<Index::unique_key>(*change.before) == key)) return false;
  return !free_keys_.contains({*key->queue, *key->text});
}

// Scans begin at the stored marks, which only exclusive transactions change.
bool PostgresStorage::lowers_mark(const Row& row) const {
  const auto due = index_key<Index::due>(row);
  if (due && due->major < stored_marks_.due) return true;
  const auto claim = index_key<Index::claim>(row);
  return claim && std::pair(claim->major, claim->minor) < stored_claim_mark(*claim->queue);
}

// A transaction that shares changes rows that it has locked, or creates rows: their keys keep out others that create them. An id
// that is free and stays so is not protected, so a decision by it needs to be alone, as does every other change.
//
// A claim does not keep out new jobs, so it comes before the transactions that make them. No other order must follow from the same
// transaction: it creates nothing, and makes no job claimable. A transaction that locks a job that can be claimed claims it, since
// the others pass over it.
void PostgresStorage::require_shareable(const Changes& changes) {
  const Counters& before = known_.counters;
  const Counters& after = changes.counters;
  bool local = !changes.replaces_all && changes.schedules.empty() && changes.hours.empty() && changes.edges_added.empty() &&
               changes.edges_removed.empty() && changes.messages_added.empty() && changes.messages_removed.empty() &&
               changes.messages_leased.empty() && changes.submissions_ended.empty() && after.sequence == before.sequence &&
               after.dropped == before.dropped && after.jobs == before.jobs && claims_.size() <= 1;
  std::size_t created = 0;
  std::set<const Row*> claimed;
  for (const RowChange& change : changes.rows) {
    const auto asked = lookups_.rows().find(row_of(change).id());
    const bool named = asked != lookups_.rows().end();
    const bool claimable = change.after && index_key<Index::claim>(*change.after);
    local = local && (named ? asked->second == change.before : !change.before) &&
            (!change.before || !change.after || change.before->promise_spec == change.after->promise_spec) &&
            !(change.after && lowers_mark(*change.after)) && !takes_key(change) &&
            (claims_.empty() || (change.before && !claimable));
    created += named && !change.before;
    claimed.insert(change.before.get());
  }
  for (const auto& [queue, locked] : claims_)
    local = local && std::ranges::all_of(locked.rows, [&](const RowRef& row) { return claimed.contains(row.get()); });
  deltas_.clear();
  for (const QueueChange& change : changes.queues) {
    std::optional<std::string> delta = change.before && change.after ? delta_of(*change.before, *change.after) : std::nullopt;
    local = local && delta;
    if (delta) deltas_.emplace_back(change.after->name, *std::move(delta));
  }
  const auto free = std::ranges::count_if(lookups_.rows(), [](const auto& one) { return !one.second; });
  if (!local || std::cmp_not_equal(created, free)) run_again(true);
  require_deleted(changes);
}

// Rows that nothing has locked are those that the commit deletes, and checks. It deletes them after all other changes, which are of
// jobs that it has claimed, so two transactions hardly ever wait for each other. If they do, the server ends one, which runs again.
void PostgresStorage::require_deleted(const Changes& changes) {
  const auto& assumed = lookups_.assumed();
  if (assumed.empty()) return;
  std::set<const Row*> its;
  for (const WrittenRows::One& one : assumed) its.insert(one.row.get());
  std::size_t deleted = 0;
  bool others = false;
  for (const RowChange& change : changes.rows) {
    deleted += !change.after;
    others = others || !change.before || (!change.after && !its.contains(change.before.get()));
  }
  if (!others && deleted == assumed.size()) return;
  forget_assumed();
  run_again(false);
}

// The next transaction reads and locks them.
void PostgresStorage::forget_assumed() {
  for (const WrittenRows::One& one : lookups_.assumed()) written_.forget(one.row->id());
}

void PostgresStorage::send_shared(const Changes& changes) {
  std::vector<RowChange> rows = changes.rows;
  const auto& assumed = lookups_.assumed();
  if (!assumed.empty()) std::erase_if(rows, [](const RowChange& change) { return !change.after; });
  // Two that create the same rows wait for each other in one order.
  std::ranges::sort(rows, {}, [](const RowChange& change) -> const std::string& { return row_of(change).id(); });
  send_rows(rows);
  if (access_ == Access::creating) return send_created(changes);
  std::vector<std::string_view> queues;
  std::vector<std::string_view> deltas;
  for (const auto& [queue, delta] : deltas_) {
    queues.push_back(queue);
    deltas.push_back(delta);
  }
  PostgresParameters stored;
  std::vector<std::string_view> gone;
  std::vector<std::int64_t> writers;
  for (const WrittenRows::One& one : assumed) {
    gone.push_back(one.row->id());
    writers.push_back(one.transaction);
  }
  if (!assumed.empty()) stored.texts(gone).integers(writers);
  stored.texts(queues).texts(deltas);
  stored.integer(writer_).integer(batch_).integer(writer_).integer(batch_ + 1);
  if (!assumed.empty()) stored.integer(std::ssize(assumed));
  stored.integer(changes.counters.now);
  send(assumed.empty() ? PostgresQuery::store_shared : PostgresQuery::store_shared_and_delete, stored);
  ++batch_;
}

// The same for a creating transaction, if nothing that it has assumed is wrong.
void PostgresStorage::send_created(const Changes& changes) {
  const Instant now = changes.counters.now;
  PostgresParameters stored;
  stored.integer(writer_).integer(batch_).integer(writer_).integer(batch_ + 1).integer(now).integer(kAtOnce).integer(version_);
  stored.integer(now).integer(options_.clock ? saturating_add(now, kLooksWithin) : kNever).integer(now);
  send(PostgresQuery::store_created, stored);
  ++batch_;
}

// `number` is that of our commit among those that share, `transaction` the server's own. The known state is dropped: the others
// that share change it at any time.
void PostgresStorage::keep_shared(std::int64_t number, std::int64_t transaction, const Changes& changes) {
  ++connection_counts.shared_commits;
  if (number == seen_shared_ + 1) {
    seen_shared_ = number;
  } else {
    see_others(seen_version_, number);
  }
  known_.counters = changes.counters;
  keeps_known_ = false;
  // Behind a pooler another server may run the next transaction: it has other numbers.
  if (address_.prepared) written_.keep(changes, transaction);
  const std::int64_t unfolded = number - folded_;
  ++own_commits_;
  for (const auto& [queue, locked] : claims_) own_claimed_ += static_cast<std::int64_t>(locked.rows.size());
  const std::int64_t claimed = claimed_by_all(unfolded);
  const bool many_commits = unfolded >= kFoldsAtLatest || (number % kFoldsEvery == 0 && unfolded >= kFoldsEvery / 2);
  const bool many_jobs = claimed >= 2 * kFoldsAfterJobs || (number % kLooksEvery == 0 && claimed >= kFoldsAfterJobs);
  if (!deltas_.empty() && (many_commits || many_jobs)) wants_fold_ = true;
  if (address_.listens) announce_commit(changes);
}

// The deltas up to this number are in the queues.
void PostgresStorage::note_folded(std::int64_t number) noexcept {
  if (std::exchange(folded_, number) != number) own_commits_ = own_claimed_ = 0;
}

// How many jobs were claimed since the deltas were added up, so many commits ago, if the commits of others are like ours.
std::int64_t PostgresStorage::claimed_by_all(std::int64_t unfolded) const noexcept {
  return own_commits_ == 0 ? 0 : own_claimed_ * unfolded / own_commits_;
}

// An exclusive transaction adds the deltas to the bodies of their queues when it commits.
void PostgresStorage::keep_deltas(const PostgresResult& result) {
  for (int at = 0; at < result.rows(); ++at) {
    const PostgresRow row = result.row(at);
    unfolded_.push_back(with_deltas(queue_of_json(row.text(0)), row.text(2)));
    require_name(unfolded_.back()->name, row.text(1));
  }
}

}  // namespace resonate
