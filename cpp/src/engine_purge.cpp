// Deletes promises that were settled long ago.
#include "codec/state_view.hpp"
#include "engine_transaction.hpp"
#include "machine/purge.hpp"
#include "machine/settle.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

// Rows or messages per transaction.
constexpr std::size_t kRowsAtOnce = 200;

}  // namespace

// First runs the due steps and stores that instant. From then on no promise settles before it, and every promise settled before it
// is drained, so references to those promises can only disappear. The references can therefore be collected page by page, and the
// rows deleted page by page, while other callers work.
Purged Engine::purge(Instant settled_before) {
  (void)tick();
  index_in_slices();
  {
    std::lock_guard lock(mutex_);
    const StorageTransaction writing(*storage_, Access::write);
    const Instant now = present();
    if (settled_before > now)
      throw Error(ErrorCode::invalid,
                  "settled_before must be at most " + std::to_string(now) + " (now), got " + std::to_string(settled_before));
    Changes instant_only;
    instant_only.counters = storage_->counters();
    instant_only.counters.now = now;
    instant_only.stores_instant = true;
    storage_->write(instant_only);
  }
  References kept;
  for (std::int64_t after = 0;;) {
    const auto page = with_storage([after](Storage& storage) { return storage.messages({.after = after, .limit = kRowsAtOnce}); });
    for (const MessageRef& message : page) kept.add(*message);
    if (page.size() < kRowsAtOnce) break;
    after = page.back()->seq;
    allow_interrupt(Pause::working);
  }
  each_page(Access::read, [&](WorkingSet&, std::span<const RowRef> rows) {
    for (const RowRef& row : rows) {
      kept.add(*row);
      for (const EdgeRef& edge : callbacks_of(*storage_, *row)) kept.add(*edge);
    }
  });
  Purged purged;
  each_page(Access::write, [&](WorkingSet& set, std::span<const RowRef> rows) {
    const Instant now = present();
    for (const RowRef& stored : rows) {
      const RowRef row = shown_at(stored, now);  // no step settles a promise that timed out and that nothing waits for
      if (!purge_row(set, *row, kept, settled_before, now)) continue;
      ++(row->job ? purged.jobs[static_cast<std::size_t>(row->job->state)] : purged.promises);
    }
  });
  if (purged.total() > 0) {
    {
      std::lock_guard lock(mutex_);
      emit_replaced();
    }
    (void)tick();  // the families of jobs are removed by steps
  }
  return purged;
}

// Calls body for all rows in order of id, each page in its own transaction; the lock is released in between.
void Engine::each_page(Access access, const std::function<void(WorkingSet&, std::span<const RowRef>)>& body) {
  RowRange range{.limit = kRowsAtOnce};
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      Scope transaction(*this, access);
      const std::vector<RowRef> rows = storage_->rows(range);
      body(transaction->set, rows);
      commit(*transaction);
      if (rows.size() < kRowsAtOnce) return;
      range.after.id = rows.back()->id();
    }
    allow_interrupt(Pause::working);
  }
}

}  // namespace resonate
