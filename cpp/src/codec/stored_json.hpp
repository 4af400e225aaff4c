// Reads a JSON text of storage.
#pragma once

#include <string>
#include <string_view>

#include "codec/json_document.hpp"
#include "codec/path.hpp"
#include "resonate/errors.hpp"

namespace resonate {

// Returns read_node(node) of the document. Throws Error (storage), which names `what`, for a damaged text.
template <class Read>
auto read_stored(std::string_view what, std::string_view json, Read read_node) {
  const auto damaged = [what](const std::string& why) {
    return Error(ErrorCode::storage, "a stored " + std::string(what) + " is damaged: " + why);
  };
  const JsonDocument document(json);
  if (!document.problem().empty()) throw damaged(document.problem());
  try {
    return read_node(document.node());
  } catch (const Malformed& malformed) {
    throw damaged(malformed.message);
  }
}

}  // namespace resonate
