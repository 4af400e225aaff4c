// Reclaiming the room of promises that were settled long ago.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_set>

#include "engine_transaction.hpp"
#include "machine/derive.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "state_view.hpp"

namespace resonate {

namespace {

// Rows or messages that are looked at between two commits, or between two reads.
constexpr std::size_t kRowsAtOnce = 200;

using Ids = std::unordered_set<std::string>;

// The settled promises that a task has still to be told of.
void keep_awaited(const Row& row, Ids& kept) {
  if (row.state != PromiseState::pending) return;
  if (row.resumes) kept.insert(row.resumes->items.begin(), row.resumes->items.end());
  if (row.current) kept.insert(row.current->text);
}

}  // namespace

// What must stay: what an undelivered message, a callback or a task that was not told yet refers to, and what belongs to a workflow
// whose root is pending, since its next run reads what it has settled.
//
// The steps that are due are taken first, and that instant is stored. From then on nothing settles before it, and every promise
// that was settled before it is drained: references to it only become fewer. So they may be collected in pages, and the rows
// deleted in pages after that, while others go on with their work.
std::size_t Engine::purge(Instant settled_before) {
  (void)tick();
  index_in_slices();
  {
    std::lock_guard lock(mutex_);
    const StorageTransaction writing(*storage_, Access::write);
    const Instant now = present();
    if (settled_before > now)
      throw Error(ErrorCode::invalid, "settled_before is " + std::to_string(settled_before) +
                                          ", and only what is past may be purged: it is " + std::to_string(now));
    storage_->store_instant(now);
  }
  Ids kept;
  for (std::int64_t after = 0;;) {
    const auto page = with_storage([after](Storage& storage) { return storage.messages(after, kRowsAtOnce); });
    for (const MessageRef& message : page) kept.insert(message->id);
    if (page.size() < kRowsAtOnce) break;
    after = page.back()->seq;
    allow_interrupt(Pause::working);
  }
  each_page(Access::read, [&](std::span<const RowRef> rows) {
    for (const RowRef& row : rows) {
      keep_awaited(*row, kept);
      if (row->callbacks == 0) continue;
      for (const EdgeRef& edge : all_edges(*storage_, EdgeKind::callback, row->id())) kept.insert(edge->other);
    }
  });
  std::size_t purged = 0;
  each_page(Access::write, [&](std::span<const RowRef> rows) { purged += purge_page(rows, settled_before, kept); });
  if (purged > 0) {
    std::lock_guard lock(mutex_);
    tell_replaced();
  }
  return purged;
}

// Calls body for all rows in order of id, each page in a transaction of its own, the lock free in between.
void Engine::each_page(Access access, const std::function<void(std::span<const RowRef>)>& body) {
  RowScan scan{.by = RowScan::By::id, .key = {}, .after = {}, .limit = kRowsAtOnce};
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      const StorageTransaction transaction(*storage_, access);
      const std::vector<RowRef> rows = storage_->scan(scan);
      body(rows);
      if (rows.size() < kRowsAtOnce) return;
      scan.after = rows.back()->id();
    }
    allow_interrupt(Pause::working);
  }
}

std::size_t Engine::purge_page(std::span<const RowRef> rows, Instant settled_before, const std::unordered_set<std::string>& kept) {
  const Instant now = present();
  Changes changes;
  changes.counters = storage_->counters();
  std::map<std::string, std::array<std::int64_t, kJobStates>> jobs_gone;
  for (const RowRef& row : rows) {
    if (row->state == PromiseState::pending || row->settled_at >= settled_before) continue;
    if (row->callbacks > 0 || row->listeners > 0 || kept.contains(row->id())) continue;
    const std::string* origin = row->birth->tags.find("resonate:origin");
    const RowRef root = origin && *origin != row->id() ? storage_->load(*origin) : nullptr;
    if (root && Projected(*root, now).pending()) continue;
    if (row->job && may_be_read_again(*row->job, now, [this](const std::string& id) { return storage_->load(id); })) continue;
    if (row->job) ++jobs_gone[row->job->spec->queue][static_cast<std::size_t>(row->job->state)];
    changes.rows.push_back({row, RowRef()});
  }
  for (const auto& [name, gone] : jobs_gone) {
    const QueueRef before = storage_->load_queue(name);
    Shared<Queue> after(new Queue(*before));
    for (std::size_t i = 0; i < kJobStates; ++i) after->counts[i] = saturating_sub(after->counts[i], gone[i]);
    changes.queues.push_back({before, std::move(after)});
  }
  if (!changes.rows.empty()) storage_->write(changes);
  return changes.rows.size();
}

}  // namespace resonate
