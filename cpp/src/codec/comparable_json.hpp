// A JSON text as a value that can be compared: members have no order, numbers are exact, and white space and escapes do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace resonate {

class ComparableJson {
 public:
  // Returns nothing if the text is not JSON (RFC 8259) or is nested more than kDeepest levels deep.
  static std::optional<ComparableJson> parse(std::string_view text);

  static constexpr int kDeepest = 500;

  // 1, 1.0 and 10e-1 are the same number, true is not 1, and of two members with one name the later one counts.
  friend bool operator==(const ComparableJson& a, const ComparableJson& b) { return same(a, 0, b, 0); }

 private:
  class Reader;
  enum class Kind : std::uint8_t { null, no, yes, number, string, array, object };

  // A value; its elements or members follow it, up to `end`.
  struct Entry {
    Kind kind = Kind::null;
    std::string key;   // of a member
    std::string text;  // a string without its escapes, or a number in its one canonical form
    std::size_t end = 0;
  };

  static bool same(const ComparableJson& a, std::size_t at, const ComparableJson& b, std::size_t its);
  std::vector<std::size_t> children(std::size_t at) const;

  std::vector<Entry> entries_;
};

}  // namespace resonate
