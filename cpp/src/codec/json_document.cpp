#include "codec/json_document.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace resonate {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{1} << 20;  // larger texts get buffers of their own, given back at once

// Returns the code unit of the escape \uXXXX at `at`, or -1 if there is none.
int unit_at(std::string_view text, std::size_t at) noexcept {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char digit = text[i];
    const bool letter = (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
    if (!letter && (digit < '0' || digit > '9')) return -1;
    unit = unit * 16 + (letter ? (digit | 0x20) - 'a' + 10 : digit - '0');
  }
  return unit;
}

bool is_high(int unit) noexcept { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(int unit) noexcept { return unit >= 0xDC00 && unit < 0xE000; }

// Replaces every escaped surrogate without a partner by the mark. Returns whether there was one.
bool mark_lone_surrogates(std::string& text) {
  bool found = false;
  for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const int unit = unit_at(text, at);
    if (is_high(unit) && is_low(unit_at(text, at + 6))) {
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      text.replace(at + 2, 4, "ffff");
      found = true;
      at += 6;
    } else {
      at += 2;
    }
  }
  return found;
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text) {
  thread_local simdjson::dom::parser parser;
  thread_local std::vector<char> padded;
  simdjson::dom::element root;
  simdjson::error_code error = simdjson::SUCCESS;
  if (text.size() > kKeptBytes) {
    own_parser_ = std::make_unique<simdjson::dom::parser>();
    error = own_parser_->parse(text.data(), text.size()).get(root);
  } else {
    if (padded.size() < text.size() + simdjson::SIMDJSON_PADDING) padded.resize(text.size() + simdjson::SIMDJSON_PADDING);
    if (!text.empty()) std::memcpy(padded.data(), text.data(), text.size());
    error = parser.parse(padded.data(), text.size(), false).get(root);
  }
  switch (error) {
    case simdjson::SUCCESS: fast_ = root; break;
    case simdjson::NUMBER_ERROR:
    case simdjson::STRING_ERROR:
    case simdjson::DEPTH_ERROR: parse_slowly(text); break;
    default: problem_ = "the text is not JSON: " + std::string(simdjson::error_message(error));
  }
}

void JsonDocument::parse_slowly(std::string_view text) {
  std::string copy(text);
  const bool marked = mark_lone_surrogates(copy);
  slow_.emplace(copy, marked);
  if (!slow_->problem().empty()) problem_ = "the text is not JSON: " + slow_->problem();
}

}  // namespace resonate
