#include "codec/json_sink.hpp"

namespace resonate::detail {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_unit(std::string& out, std::uint32_t unit) {
  const char escape[] = {'\\', 'u', kHex[unit >> 12 & 15], kHex[unit >> 8 & 15], kHex[unit >> 4 & 15], kHex[unit & 15]};
  out.append(escape, sizeof escape);
}

void append_code_point(std::string& out, std::uint32_t point) {
  if (point < 0x10000) return append_unit(out, point);
  append_unit(out, 0xD800 + ((point - 0x10000) >> 10));
  append_unit(out, 0xDC00 + ((point - 0x10000) & 0x3FF));
}

// Decodes the character at `at` and moves past it. A byte that begins no character becomes U+FFFD (no string in the store has one).
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) {
    ++at;
    return 0xFFFD;
  }
  std::uint32_t point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0) != 0x80) {
      ++at;
      return 0xFFFD;
    }
    point = point << 6 | (byte & 0x3Fu);
  }
  at += length;
  return point;
}

bool is_plain(unsigned char byte) noexcept { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

}  // namespace

std::size_t copy_plain(char* to, std::string_view text) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  const auto zero_bytes = [](std::uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {  // eight bytes at once: below 0x20, a quote, a backslash or not ASCII
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t special = ((word - kOnes * 0x20) & ~word & kHigh) | (word & kHigh) | zero_bytes(word ^ (kOnes * '"')) |
                                  zero_bytes(word ^ (kOnes * '\\'));
    if (special != 0) break;
    std::memcpy(to + at, &word, 8);
  }
  for (; at < text.size() && is_plain(static_cast<unsigned char>(text[at])); ++at) to[at] = text[at];
  return at;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      append_code_point(out, next_code_point(text, at));
      continue;
    }
    switch (byte) {
      case '"': out.append("\\\""); break;
      case '\\': out.append("\\\\"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      case '\b': out.append("\\b"); break;
      case '\f': out.append("\\f"); break;
      default:
        if (byte < 0x20) {
          append_unit(out, byte);
        } else {
          out.push_back(static_cast<char>(byte));
        }
    }
    ++at;
  }
  return out;
}

}  // namespace resonate::detail
