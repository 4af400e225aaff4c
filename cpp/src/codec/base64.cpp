#include "codec/base64.hpp"

#include <array>
#include <cstdint>

namespace resonate {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kForeign = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kForeign);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  std::size_t from = 0;
  std::size_t to = 0;
  for (; from + 3 <= bytes.size(); from += 3, to += 4) {
    const std::uint32_t group = byte_at(bytes, from) << 16 | byte_at(bytes, from + 1) << 8 | byte_at(bytes, from + 2);
    out[to] = kAlphabet[group >> 18];
    out[to + 1] = kAlphabet[group >> 12 & 63];
    out[to + 2] = kAlphabet[group >> 6 & 63];
    out[to + 3] = kAlphabet[group & 63];
  }
  if (from + 1 == bytes.size()) {
    const std::uint32_t group = byte_at(bytes, from) << 16;
    out[to] = kAlphabet[group >> 18];
    out[to + 1] = kAlphabet[group >> 12 & 63];
  } else if (from + 2 == bytes.size()) {
    const std::uint32_t group = byte_at(bytes, from) << 16 | byte_at(bytes, from + 1) << 8;
    out[to] = kAlphabet[group >> 18];
    out[to + 1] = kAlphabet[group >> 12 & 63];
    out[to + 2] = kAlphabet[group >> 6 & 63];
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const std::string_view letters = text.substr(0, text.size() - padding);
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char letter : letters) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(letter)];
    if (value == kForeign) return std::nullopt;
    group = group << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if ((group & ((1u << bits) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace resonate
