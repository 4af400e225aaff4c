#include "codec/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "codec/json_document.hpp"
#include "codec/json_sink.hpp"
#include "codec/snapshot_decode.hpp"
#include "codec/snapshot_encode.hpp"
#include "resonate/errors.hpp"

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

}  // namespace

std::string write_part(Storage& storage, const std::vector<std::string>& ids, const Options& options) {
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
  JsonSink sink;
  detail::SnapshotEncoder<JsonSink>(sink, {options.retry_timeout, counters.now})
      .full(
          counters,
          [&](const auto& body) {
            for (const Lookup<RowRef>& row : rows)
              if (row.found) body(with_edges(storage, row.found));
          },
          [&](const auto& body) {
            for (const Lookup<ScheduleRef>& schedule : schedules)
              if (schedule.found) body(schedule.found);
          },
          storage.queues(), {},
          [&](const auto& body) {
            for (const MessageRef& message : messages_about(storage, rows)) body(message);
          });
  return sink.take();
}

std::string write_snapshot(Storage& storage, SnapshotFormat format, const Options& options) {
  JsonSink sink;
  if (format == SnapshotFormat::full) {
    write_snapshot(sink, storage, options);
  } else {
    encode_debug_snapshot(sink, view_of(storage, options));
  }
  return sink.take();
}

void write_snapshot(JsonSink& sink, Storage& storage, const Options& options) {
  const Counters counters = storage.counters();
  encode_full_snapshot(sink, storage, counters, {options.retry_timeout, counters.now});
}

std::unique_ptr<Storage> read_snapshot(std::string_view json) {
  const JsonDocument document(json);
  if (!document.problem().empty()) throw Error(ErrorCode::invalid, "snapshot: " + document.problem());
  try {
    return decode_snapshot(document.node());
  } catch (const Malformed& malformed) {
    throw Error(ErrorCode::invalid, "snapshot: " + malformed.message);
  }
}

}  // namespace resonate
