// The whole state as a JSON text, and back; and a hash of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "resonate/options.hpp"
#include "resonate/storage.hpp"

namespace resonate {

enum class SnapshotFormat { full, debug };  // debug: the shape of debug.snap (WIRE 5)

// `options`: of the store, as retryAt of a task whose execute waits follows from them.
std::string write_snapshot(Storage& storage, SnapshotFormat format, const Options& options);
// A memory storage that holds what a full snapshot says. Error (invalid) naming the member and the rule.
std::unique_ptr<Storage> read_snapshot(std::string_view json);
// 128 bits in hex over the rows that a full snapshot shows (numbers of order, not sequence numbers): equal states have equal
// digests in every storage.
std::string digest(Storage& storage, const Options& options);

}  // namespace resonate
