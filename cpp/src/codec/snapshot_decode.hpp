// Decodes a full snapshot into a memory storage. Types, names and references are checked here; the machine's checker checks the
// invariants of PROTOCOL 6.
#pragma once

#include <memory>

#include "codec/path.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class JsonNode;

// Throws Malformed. `at`: the place of the snapshot in its document; null: it is the document.
std::unique_ptr<Storage> decode_snapshot(const JsonNode& snapshot, const Path* at = nullptr);

}  // namespace resonate
