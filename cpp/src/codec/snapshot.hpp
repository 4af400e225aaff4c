// Converts the complete state to a JSON text and back, and computes a hash of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/options.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class JsonSink;

enum class SnapshotFormat { full, debug };  // debug: the shape of debug.snap (WIRE 5)

// `options`: those of the store, since they determine retryAt of a task whose execute waits.
std::string write_snapshot(Storage& storage, SnapshotFormat format, const Options& options);
// Writes a full snapshot as a part of a longer text.
void write_snapshot(JsonSink& sink, Storage& storage, const Options& options);
// Returns a memory storage with the state of a full snapshot. Throws Error (invalid), which names the member and the rule.
std::unique_ptr<Storage> read_snapshot(std::string_view json);
// 128 bits in hex over the rows of a full snapshot (with places in the order instead of sequence numbers), so that equal states
// have equal digests in every storage.
std::string digest(Storage& storage, const Options& options);

}  // namespace resonate
