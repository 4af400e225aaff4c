#include "codec/state_view.hpp"

#include <limits>
#include <utility>

namespace resonate {
namespace {

constexpr std::size_t kPage = 1000;

}  // namespace

std::vector<EdgeRef> all_edges(Storage& storage, EdgeKind kind, std::string_view owner) {
  std::vector<EdgeRef> all;
  for (std::int64_t after = 0;;) {
    std::vector<EdgeRef> page = storage.edges({kind, owner, after, kPage});
    all.insert(all.end(), page.begin(), page.end());
    if (page.size() < kPage) return all;
    after = page.back()->seq;
  }
}

StateView::Promise with_edges(Storage& storage, const RowRef& row) {
  StateView::Promise promise{row, {}, {}, {}};
  if (row->callbacks > 0) promise.callbacks = all_edges(storage, EdgeKind::callback, row->id());
  if (row->listeners > 0) promise.listeners = all_edges(storage, EdgeKind::listener, row->id());
  // A child without a job does not count its keepers.
  if (row->job ? row->job->keepers > 0 : static_cast<bool>(row->promise_spec->child))
    promise.keepers = all_edges(storage, EdgeKind::keeper, row->id());
  return promise;
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
