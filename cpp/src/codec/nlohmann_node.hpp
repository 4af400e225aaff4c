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
  friend class NlohmannNode;
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

class NlohmannNode {
 public:
  // The document's value. The document must have no problem.
  explicit NlohmannNode(const NlohmannDocument& document) noexcept : document_(&document) {}

  NodeType type() const noexcept { return entry().type; }
  bool boolean() const noexcept { return entry().number != 0; }
  std::int64_t integer() const noexcept { return entry().number; }
  double real() const noexcept { return entry().real; }
  std::string_view text() const noexcept { return document_->view(entry().text); }
  template <class Body>
  void each_member(Body body) const {
    each([&](const NlohmannNode& member) { body(document_->view(member.entry().key), member); });
  }
  template <class Body>
  void each_element(Body body) const {
    each(body);
  }

 private:
  NlohmannNode(const NlohmannDocument& document, std::size_t at) noexcept : document_(&document), at_(at) {}
  const NlohmannDocument::Entry& entry() const noexcept { return document_->entries_[at_]; }
  template <class Body>
  void each(Body body) const {
    for (std::size_t child = at_ + 1; child < entry().end; child = document_->entries_[child].end)
      body(NlohmannNode(*document_, child));
  }

  const NlohmannDocument* document_;
  std::size_t at_ = 0;
};

}  // namespace resonate
