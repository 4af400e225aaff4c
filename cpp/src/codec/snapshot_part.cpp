#include "codec/snapshot_part.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "codec/json_sink.hpp"
#include "codec/snapshot_encode.hpp"

namespace resonate {

namespace {

// In order of queueing.
std::vector<MessageRef> messages_about(Storage& storage, const std::vector<Lookup<RowRef>>& rows) {
  std::vector<MessageRef> all;
  for (const Lookup<RowRef>& row : rows) {
    if (!row.found) continue;
    for (MessageRef& unblock : storage.messages({.by = MessageRange::By::unblock_of, .text = row.key}))
      all.push_back(std::move(unblock));
    if (!row.found->execute_waits || row.found->promise_spec->target == nullptr) continue;
    const std::string& target = *row.found->promise_spec->target;
    for (MessageRef& execute : storage.messages({.by = MessageRange::By::address, .text = target, .limit = kMostExecutes}))
      if (execute->kind == MessageKind::execute && execute->id == row.key) all.push_back(std::move(execute));
  }
  std::sort(all.begin(), all.end(), [](const MessageRef& a, const MessageRef& b) { return a->seq < b->seq; });
  return all;
}

// Takes the first edges of each kind. Returns whether edges were left out.
bool with_first_edges(Storage& storage, StateView::Promise& promise, std::size_t most) {
  bool cut = false;
  const auto take_first = [&](auto read, std::vector<EdgeRef>& first) {
    first = read(storage, *promise.row, most == kAllEdges ? SIZE_MAX : most + 1);
    if (first.size() <= most) return;
    first.resize(most);
    cut = true;
  };
  take_first(callbacks_of, promise.callbacks);
  take_first(listeners_of, promise.listeners);
  take_first(keepers_of, promise.keepers);
  return cut;
}

}  // namespace

SnapshotPart write_part(Storage& storage, const std::vector<std::string>& ids, const Options& options, std::size_t most_edges) {
  std::vector<std::string_view> wanted(ids.begin(), ids.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<Lookup<RowRef>> rows;
  std::vector<Lookup<ScheduleRef>> schedules;
  for (const std::string_view id : wanted) {
    rows.push_back({id});
    schedules.push_back({id});
  }
  storage.load_many({.rows = rows, .schedules = schedules});
  const Counters counters = storage.counters();
  SnapshotPart part;
  JsonSink sink;
  detail::SnapshotEncoder<JsonSink>(sink, {options.retry_timeout, counters.now})
      .full(
          counters,
          [&](const auto& body) {
            for (const Lookup<RowRef>& row : rows) {
              if (!row.found) continue;
              StateView::Promise promise{row.found, {}, {}, {}};
              if (with_first_edges(storage, promise, most_edges)) part.cut.push_back(row.found);
              body(promise);
            }
          },
          [&](const auto& body) {
            for (const Lookup<ScheduleRef>& schedule : schedules)
              if (schedule.found) body(schedule.found);
          },
          storage.queues(), {},
          [&](const auto& body) {
            for (const MessageRef& message : messages_about(storage, rows)) body(message);
          });
  part.document = sink.take();
  return part;
}

}  // namespace resonate
