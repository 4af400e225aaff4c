// What a transaction sees of queues, of jobs that wait to be claimed, and of unique keys: storage's, under its own changes.
#include <algorithm>
#include <utility>

#include "machine/derive.hpp"
#include "machine/working_set.hpp"

namespace resonate {

namespace {

constexpr std::size_t kLargestPage = 1024;

std::string key_of(std::string_view queue, std::string_view key) {
  std::string both(queue);
  both.append(1, '\0').append(key);  // a queue's name holds no NUL
  return both;
}

ClaimKey claim_key(const Row& row) { return {row.job->spec->priority, row.job->enqueued_at, row.id()}; }

bool before(const Row& a, const Row& b) noexcept {
  const Job& x = *a.job;
  const Job& y = *b.job;
  if (x.spec->priority != y.spec->priority) return x.spec->priority < y.spec->priority;
  return x.enqueued_at != y.enqueued_at ? x.enqueued_at < y.enqueued_at : a.id() < b.id();
}

}  // namespace

void WorkingSet::remove(Entry& entry) {
  entry.changed = true;
  entry.gone = true;
}

void WorkingSet::note_job(Entry& entry) {
  const JobSpec& spec = *entry.now->job->spec;
  if (spec.unique_key) own_keys_.emplace(key_of(spec.queue, *spec.unique_key), &entry);
}

WorkingSet::QueueEntry* WorkingSet::known_queue(std::string_view name) {
  if (last_queue_ && last_queue_->now->name == name) return last_queue_;
  auto found = queues_of_jobs_.find(name);
  if (found == queues_of_jobs_.end()) {
    QueueRef stored = storage_->load_queue(name);
    if (!stored) return nullptr;
    found = queues_of_jobs_.emplace(std::string(name), QueueEntry{stored, stored, false}).first;
  }
  return last_queue_ = &found->second;
}

const Queue* WorkingSet::find_queue(std::string_view name) {
  QueueEntry* entry = known_queue(name);
  return entry ? entry->now.get() : nullptr;
}

Queue& WorkingSet::edit_queue(std::string_view name) {
  QueueEntry* entry = known_queue(name);
  if (!entry) {
    Shared<Queue> born(new Queue);
    born->name = name;
    entry = &queues_of_jobs_.emplace(std::string(name), QueueEntry{nullptr, std::move(born), true}).first->second;
  }
  entry->changed = true;
  if (!entry->now->held_once()) entry->now = QueueRef(new Queue(*entry->now));
  return const_cast<Queue&>(*entry->now);
}

std::vector<QueueRef> WorkingSet::queues() {
  std::vector<QueueRef> all = storage_->queues();
  std::erase_if(all, [this](const QueueRef& stored) { return queues_of_jobs_.contains(stored->name); });
  for (const auto& [name, entry] : queues_of_jobs_) all.push_back(entry.now);
  std::sort(all.begin(), all.end(), [](const QueueRef& a, const QueueRef& b) { return a->name < b->name; });
  return all;
}

WorkingSet::Entry* WorkingSet::holder_of_key(std::string_view queue, const std::string& key, Instant now) {
  // The entry may be another job by now, or none.
  const auto holds = [&](const Row& row) {
    return row.job && row.job->spec->queue == queue && row.job->spec->unique_key == key && !row.dead_at(now) &&
           row.job->holds_unique_key(now);
  };
  const auto [first, last] = own_keys_.equal_range(key_of(queue, key));
  for (auto own = first; own != last; ++own)
    if (!own->second->gone && holds(*own->second->now)) return own->second;
  for (RowRef& stored : storage_->unique_jobs(queue, key)) {
    Entry* const mine = known(stored->id());
    if (mine && (mine->gone || !holds(*mine->now))) continue;
    if (mine) return mine;
    if (holds(*stored)) return &remember(std::move(stored));
  }
  return nullptr;
}

void WorkingSet::note_batch(Entry& entry) {
  const std::string key = batch_key(*entry.now);
  if (key.empty()) return;
  std::vector<Entry*>& own = batches_[key_of(entry.now->job->spec->queue, key)].own;
  if (own.empty() || own.back() != &entry) own.push_back(&entry);
}

WorkingSet::Batch& WorkingSet::batch_of(const std::string& queue, const std::string& key) {
  Batch& batch = batches_[key_of(queue, key)];
  if (!batch.read) batch.stored = storage_->batch_jobs(queue, key);
  batch.read = true;
  return batch;
}

// Calls visit(entry) for those that are there now, storage's in order of their ids, its own in any; until it says false.
template <class Visit>
void WorkingSet::each_of_batch(const std::string& queue, const std::string& key, Visit visit) {
  Batch& batch = batch_of(queue, key);
  for (Entry* entry : batch.own)
    if (!entry->gone && entry->now->job && entry->now->job->spec->queue == queue && batch_key(*entry->now) == key) visit(*entry);
  for (std::size_t i = batch.front; i < batch.stored.size(); ++i) {
    Entry* const mine = known(batch.stored[i]->id());
    if (mine && mine->changed) {  // comes, or not, with its own
      if (i == batch.front) ++batch.front;
      continue;
    }
    if (!visit(mine ? *mine : remember(batch.stored[i]))) return;
  }
}

std::vector<WorkingSet::Entry*> WorkingSet::batch(const std::string& queue, const std::string& key) {
  std::vector<Entry*> found;
  each_of_batch(queue, key, [&](Entry& entry) {
    found.push_back(&entry);
    return true;
  });
  std::sort(found.begin(), found.end(), [](const Entry* a, const Entry* b) { return a->now->id() < b->now->id(); });
  found.erase(std::unique(found.begin(), found.end()), found.end());  // one may have come several times
  return found;
}

WorkingSet::Entry* WorkingSet::first_of_batch(const std::string& queue, const std::string& key) {
  Entry* first = nullptr;
  each_of_batch(queue, key, [&](Entry& entry) {
    if (!first || entry.now->id() < first->now->id()) first = &entry;
    return false;
  });
  return first;
}

bool WorkingSet::has_unblock(std::string_view id) {
  const auto& removed = changes_.messages_removed;
  for (const std::int64_t seq : storage_->unblocks_of(id))
    if (std::find(removed.begin(), removed.end(), seq) == removed.end()) return true;
  return std::any_of(added_messages_.begin(), added_messages_.end(), [&](const MessageRef& message) {
    return message->kind == MessageKind::unblock && message->id == id && !gone_messages_.contains(message->seq);
  });
}

bool WorkingSet::still_claimable(const OwnClaim& claim, std::string_view queue) const {
  if (claim.entry->gone) return false;
  const Row& row = *claim.entry->now;
  return row.job && row.state == PromiseState::pending && row.job->state == JobState::pending && row.job->spec->queue == queue &&
         row.job->spec->priority == claim.priority && row.job->enqueued_at == claim.enqueued_at && row.id() == claim.id;
}

// What became claimable in this transaction is put in order when somebody looks at it: most transactions never do.
WorkingSet::OwnClaims& WorkingSet::own_claims(std::string_view queue) {
  for (Entry* entry : own_ready_) {
    const Job* const job = entry->gone ? nullptr : entry->now->job.get();
    if (!job || job->state != JobState::pending || entry->now->state != PromiseState::pending) continue;
    own_claims_[job->spec->queue].insert({job->spec->priority, job->enqueued_at, entry->now->id(), entry});
  }
  own_ready_.clear();
  OwnClaims& claims = own_claims_[std::string(queue)];
  while (!claims.empty() && !still_claimable(*claims.begin(), queue)) claims.erase(claims.begin());
  return claims;
}

// Of each priority the first in the order of claims has waited longest, so one look at each of them is enough.
Instant WorkingSet::oldest_pending(std::string_view queue, Instant now) {
  Instant oldest = kNever;
  for (const OwnClaim& claim : own_claims(queue))
    if (still_claimable(claim, queue) && !claim.entry->now->dead_at(now)) oldest = std::min(oldest, claim.enqueued_at);
  std::optional<ClaimKey> after;
  for (;;) {
    const std::vector<RowRef> first = storage_->claimable(queue, 1, after ? &*after : nullptr);
    if (first.empty()) break;
    const Row& row = *first.front();
    const Entry* const mine = entries_ ? known(row.id()) : nullptr;
    after = claim_key(row);
    if ((mine && mine->changed) || row.dead_at(now)) continue;
    oldest = std::min(oldest, row.job->enqueued_at);
    *after = {row.job->spec->priority + 1, kUnset, {}};
  }
  return oldest == kNever ? kUnset : oldest;
}

WorkingSet::ClaimScan::ClaimScan(WorkingSet& set, std::string_view queue, std::size_t expected,
                                 std::function<bool(const Row&)> wanted)
    : set_(set),
      queue_(queue),
      page_size_(std::min(expected, kLargestPage)),
      wanted_(std::move(wanted)),
      page_(&set.claim_pages_[queue_]),
      own_(&set.own_claims(queue)),
      next_own_(own_->begin()),
      next_stored_(page_->front) {}

// The first of storage's that this transaction has not changed.
const Row* WorkingSet::ClaimScan::stored() {
  for (;; ++next_stored_) {
    if (next_stored_ == page_->rows.size()) {
      if (page_->whole) return nullptr;
      const std::optional<ClaimKey> last = page_->rows.empty() ? std::nullopt : std::optional(claim_key(*page_->rows.back()));
      std::vector<RowRef> more = set_.storage_->claimable(queue_, page_size_, last ? &*last : nullptr);
      page_->whole = more.size() < page_size_;
      page_size_ = std::min(2 * page_size_, kLargestPage);  // whoever needs more than was expected may need many
      std::move(more.begin(), more.end(), std::back_inserter(page_->rows));
      if (next_stored_ == page_->rows.size()) return nullptr;
    }
    const Row& row = *page_->rows[next_stored_];
    const Entry* const mine = set_.entries_ ? set_.known(row.id()) : nullptr;
    if (mine && mine->changed) {  // comes, or not, with its own
      if (next_stored_ == page_->front) ++page_->front;
      continue;
    }
    if (wanted_(row)) return &row;
  }
}

WorkingSet::Entry* WorkingSet::ClaimScan::peek() {
  if (found_) return found_;
  while (next_own_ != own_->end() && !(set_.still_claimable(*next_own_, queue_) && wanted_(*next_own_->entry->now))) ++next_own_;
  const Row* const row = stored();
  Entry* const own = next_own_ != own_->end() ? next_own_->entry : nullptr;
  if (!own && !row) return nullptr;
  found_is_own_ = own && (!row || before(*own->now, *row));
  if (found_is_own_) return found_ = own;
  Entry* const known = set_.known(row->id());
  return found_ = known ? known : &set_.remember(page_->rows[next_stored_]);
}

void WorkingSet::ClaimScan::pop() {
  if (found_is_own_) {
    ++next_own_;
  } else {
    if (next_stored_ == page_->front) ++page_->front;
    ++next_stored_;
  }
  found_ = nullptr;
}

}  // namespace resonate
