#include "codec/snapshot.hpp"

#include "codec/json_document.hpp"
#include "codec/json_sink.hpp"
#include "codec/snapshot_decode.hpp"
#include "codec/snapshot_encode.hpp"
#include "resonate/errors.hpp"

namespace resonate {

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
