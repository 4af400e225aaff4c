// NlohmannDocument: a text as nlohmann's parser reports it, kept flat, in the order of the text. For texts that simdjson refuses,
// and for traces.
//
// It is flat so that time and stack grow with the length of the text only, whatever its depth and its number of members.
// This parser refuses lone surrogates too; JsonDocument replaces them by a mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/node.hpp"

namespace resonate {

class NlohmannDocument {
 public:
  static constexpr std::string_view kMark = "\xEF\xBF\xBF";  // U+FFFF, a code point that no text should hold

  // `marked`: the text contains marks. A string that contains a mark is not valid Unicode.
  explicit NlohmannDocument(std::string_view text, bool marked = false);

  // Why the text is not JSON; empty if it is JSON.
  const std::string& problem() const noexcept { return problem_; }

 private:
  friend class JsonNode;
  class Reader;

  struct Slice {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  // A value; its elements or members follow it, up to `end`.
  struct Entry {
    NodeType type = NodeType::null;
    std::int64_t number = 0;  // also a boolean
    double real = 0;
    Slice key;
    Slice text;
    std::size_t end = 0;
  };

  std::string_view view(Slice slice) const noexcept { return std::string_view(strings_).substr(slice.begin, slice.size); }

  std::vector<Entry> entries_;
  std::string strings_;
  std::string problem_;
};

}  // namespace resonate
