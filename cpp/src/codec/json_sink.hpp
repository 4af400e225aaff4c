// JsonSink: compact ASCII JSON, written straight into one string.
//
// The string has more room than was written, so that most writes are one comparison and one copy of a fixed size. A comma is needed
// wherever the last byte is neither an opening bracket nor a colon, so no stack is needed.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "resonate/fields.hpp"

namespace resonate {

namespace detail {

// `"name":`, in a block of a fixed size.
struct FieldKey {
  static constexpr std::size_t kBlock = 32;
  char text[kBlock]{};
  std::size_t size = 0;
};
constexpr std::array<FieldKey, kFieldCount> make_field_keys() {
  std::array<FieldKey, kFieldCount> keys{};
  for (std::size_t place = 0; place < kFieldCount; ++place) {
    FieldKey& key = keys[place];
    key.text[key.size++] = '"';
    for (const char letter : kFieldNames[place]) key.text[key.size++] = letter;
    key.text[key.size++] = '"';
    key.text[key.size++] = ':';
  }
  return keys;
}
inline constexpr std::array<FieldKey, kFieldCount> kFieldKeys = make_field_keys();

// Copies text up to the first character that needs an escape, and returns the number of bytes copied.
std::size_t copy_plain(char* to, std::string_view text) noexcept;
std::string escaped(std::string_view text);

}  // namespace detail

class JsonSink {
 public:
  JsonSink() : out_(kFirst, '\0') {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(Field field) {
    const detail::FieldKey& key = detail::kFieldKeys[static_cast<std::size_t>(field)];
    char* at = separated(detail::FieldKey::kBlock);
    std::memcpy(at, key.text, detail::FieldKey::kBlock);
    size_ += key.size;
  }
  void key(std::string_view name) {
    string(name);
    close(':');
  }
  void string(std::string_view text) {
    char* at = separated(text.size() + 2);
    *at++ = '"';
    const std::size_t plain = detail::copy_plain(at, text);
    size_ += plain + 1;
    if (plain < text.size()) append(detail::escaped(text.substr(plain)));
    close('"');
  }
  void integer(std::int64_t number) {
    constexpr std::size_t kDigits = 20;
    char* at = separated(kDigits);
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kDigits, number).ptr - at);
  }
  // The number must be finite. Writes the shortest text that reads back as the same number.
  void real(double number) {
    constexpr std::size_t kLongest = 32;
    char* at = separated(kLongest);
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kLongest, number).ptr - at);
  }
  void boolean(bool flag) { raw(flag ? "true" : "false"); }
  void null() { raw("null"); }
  // Writes a value that already is JSON.
  void raw(std::string_view json) {
    separated(json.size());
    append(json);
  }

  // The sink must not be used afterwards.
  std::string take() {
    out_.resize(size_);
    return std::move(out_);
  }
  std::string_view text() const noexcept { return {out_.data(), size_}; }

 private:
  static constexpr std::size_t kFirst = 1000;

  // Makes room for this many more bytes.
  char* room(std::size_t bytes) {
    if (out_.size() - size_ < bytes) out_.resize((out_.size() + bytes) * 2);
    return out_.data() + size_;
  }
  // The same, after a comma if one is needed.
  char* separated(std::size_t bytes) {
    char* at = room(bytes + 1);
    if (size_ > 0) {
      const char last = at[-1];
      if (last != '{' && last != '[' && last != ':') {
        *at++ = ',';
        ++size_;
      }
    }
    return at;
  }
  void open(char bracket) {
    *separated(1) = bracket;
    ++size_;
  }
  void close(char mark) {
    *room(1) = mark;
    ++size_;
  }
  void append(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }

  std::string out_;
  std::size_t size_ = 0;
};

}  // namespace resonate
