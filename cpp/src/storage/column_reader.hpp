// Reads the columns of a row of any SQL storage in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "codec/strings_json.hpp"
#include "resonate/records.hpp"

namespace resonate {

// Throws: the column `at` holds a number that no member of its enumeration has.
[[noreturn]] void refuse_number(int at, std::int64_t number);
// A Source gives the columns by number: is_null(i), integer(i), text(i) and bytes(i).
template <class Source>
class Columns {
 public:
  explicit Columns(Source source) noexcept : source_(source) {}

  std::int64_t integer() { return source_.integer(at_++); }
  std::uint32_t count() {
    const std::int64_t number = integer();
    if (number < 0 || number > std::int64_t{UINT32_MAX}) refuse_number(at_, number);
    return static_cast<std::uint32_t>(number);
  }
  bool boolean() { return one_of(true); }
  std::optional<std::int64_t> optional_integer() {
    return optional([](Source& source, int at) { return source.integer(at); });
  }
  Instant instant() { return optional_integer().value_or(kUnset); }
  std::string text() { return std::string(source_.text(at_++)); }
  std::string optional_bytes() {  // a text that may be no UTF-8; empty: NULL
    return optional([](Source& source, int at) { return source.bytes(at); }).value_or("");
  }
  std::optional<std::string> optional_text() {
    return optional([](Source& source, int at) { return std::string(source.text(at)); });
  }
  Shared<const SharedString> shared() {
    std::optional<std::string> text = optional_text();
    return text ? Shared<const SharedString>(new SharedString(*std::move(text))) : nullptr;
  }
  std::optional<StringMap> strings() {
    return optional([](Source& source, int at) { return string_map_of_json(source.text(at)); });
  }
  Value value() {
    Value value;
    value.headers = strings();
    value.data = optional_text();
    return value;
  }
  void skip() { ++at_; }
  // Reads an enumeration; `last` is its greatest valid value.
  template <class Enum>
  Enum one_of(Enum last) {
    const std::int64_t number = integer();
    if (number < 0 || number > static_cast<std::int64_t>(last)) refuse_number(at_, number);
    return static_cast<Enum>(number);
  }

 private:
  template <class Read>
  auto optional(Read read) -> std::optional<decltype(read(std::declval<Source&>(), 0))> {
    const int at = at_++;
    if (source_.is_null(at)) return std::nullopt;
    return read(source_, at);
  }

  Source source_;
  int at_ = 0;
};

}  // namespace resonate
