// A parsed JSON text. nlohmann's parser reads the texts that simdjson refuses but Python's json.loads accepts (integers beyond 64
// bits, lone surrogates, deep nesting), so that the sender's refusal repeats its kind and corrId.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "codec/json_node.hpp"
#include "codec/nlohmann_document.hpp"

namespace resonate {

// A thread may have one at a time, since the parser belongs to the thread.
class JsonDocument {
 public:
  explicit JsonDocument(std::string_view text);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  // Why the text is not JSON; empty if it is JSON.
  const std::string& problem() const noexcept { return problem_; }

  // The document's value. Must not be called if there is a problem.
  JsonNode node() const noexcept { return fast_ ? JsonNode(*fast_) : JsonNode(*slow_); }

 private:
  void parse_slowly(std::string_view text);

  std::unique_ptr<simdjson::dom::parser> own_parser_;  // for texts too large to keep their buffers
  std::optional<simdjson::dom::element> fast_;
  std::optional<NlohmannDocument> slow_;
  std::string problem_;
};

}  // namespace resonate
