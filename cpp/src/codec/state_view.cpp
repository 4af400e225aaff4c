#include "codec/state_view.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace resonate {
namespace {

constexpr std::size_t kPage = 1000;

// The edges of a range, page by page, up to a number.
std::vector<EdgeRef> edges_of(Storage& storage, EdgeRange range, std::int64_t through = kNever) {
  std::vector<EdgeRef> all;
  for (std::size_t left = range.limit; left > 0; left = range.limit - all.size()) {
    EdgeRange next = range;
    next.limit = std::min(left, kPage);
    if (!all.empty()) next.after = all.back()->seq;
    for (EdgeRef& edge : storage.edges(next)) {
      if (edge->seq > through) return all;
      all.push_back(std::move(edge));
      --next.limit;
    }
    if (next.limit > 0) break;
  }
  return all;
}

}  // namespace

std::vector<EdgeRef> callbacks_of(Storage& storage, const Row& row, std::size_t most) {
  return row.callbacks == 0 ? std::vector<EdgeRef>()
                            : edges_of(storage, {EdgeKind::callback, row.id(), row.drained_through(), most});
}

std::vector<EdgeRef> listeners_of(Storage& storage, const Row& row, std::size_t most) {
  return row.listeners == 0 ? std::vector<EdgeRef>() : edges_of(storage, {EdgeKind::listener, row.id(), 0, most});
}

std::vector<EdgeRef> keepers_of(Storage& storage, const Row& row, std::size_t most) {
  std::vector<EdgeRef> all;
  const bool may_have = row.job ? row.job->keepers > 0 : static_cast<bool>(row.promise_spec->child);  // which does not count them
  if (!may_have) return all;
  if (row.drained_through() > 0) all = edges_of(storage, {EdgeKind::callback, row.id(), 0, most}, row.drained_through());
  const std::vector<EdgeRef> others = edges_of(storage, {EdgeKind::keeper, row.id(), 0, most - all.size()});
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

StateView::Promise with_edges(Storage& storage, const RowRef& row) {
  return {row, callbacks_of(storage, *row), listeners_of(storage, *row), keepers_of(storage, *row)};
}

void each_promise(Storage& storage, const std::function<void(StateView::Promise)>& body) {
  RowRange range{.limit = kPage};
  for (;;) {
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) body(with_edges(storage, row));
    if (page.size() < kPage) return;
    range.after.id = page.back()->id();
  }
}

void each_schedule(Storage& storage, const std::function<void(const ScheduleRef&)>& body) {
  for (std::string after;;) {
    const std::vector<ScheduleRef> page = storage.schedules({.after = after, .limit = kPage});
    for (const ScheduleRef& schedule : page) body(schedule);
    if (page.size() < kPage) return;
    after = page.back()->id;
  }
}

void each_message(Storage& storage, const std::function<void(const MessageRef&)>& body) {
  for (std::int64_t after = 0;;) {
    const std::vector<MessageRef> page = storage.messages({.after = after, .limit = kPage});
    for (const MessageRef& message : page) body(message);
    if (page.size() < kPage) return;
    after = page.back()->seq;
  }
}

std::vector<HourRef> all_hours(Storage& storage) {
  std::vector<HourRef> all;
  for (const QueueRef& queue : storage.queues())
    for (HourRef& hour : storage.hours(queue->name, std::numeric_limits<std::int64_t>::min())) all.push_back(std::move(hour));
  return all;
}

StateView view_of(Storage& storage, const Options& options) {
  StateView view;
  view.counters = storage.counters();
  view.retry_timeout = options.retry_timeout;
  each_promise(storage, [&](StateView::Promise promise) { view.promises.push_back(std::move(promise)); });
  each_schedule(storage, [&](const ScheduleRef& schedule) { view.schedules.push_back(schedule); });
  view.queues = storage.queues();
  view.hours = all_hours(storage);
  each_message(storage, [&](const MessageRef& message) {
    RowRef record = message->kind == MessageKind::unblock ? storage.load(message->id) : RowRef();
    view.messages.push_back({message, std::move(record)});
  });
  return view;
}

}  // namespace resonate
