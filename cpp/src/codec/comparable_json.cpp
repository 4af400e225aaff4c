#include "codec/comparable_json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace resonate {

namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Returns a number as its sign, its digits without zeros at either end, and a power of ten. Both arguments are of a valid number.
std::string canonical_number(std::string_view whole_and_fraction, std::string_view power) {
  const bool negative = whole_and_fraction.starts_with('-');
  if (negative) whole_and_fraction.remove_prefix(1);
  std::string digits;
  std::int64_t exponent = 0;
  bool fraction = false;
  for (const char c : whole_and_fraction) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits += c;
    if (fraction) --exponent;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";  // -0, too
  const std::size_t last = digits.find_last_not_of('0');
  exponent += static_cast<std::int64_t>(digits.size() - 1 - last);
  digits.resize(last + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int64_t given = 0;
  constexpr std::size_t kLongestPower = 15;
  if (power.size() > kLongestPower) {
    // Beyond every number that a program can hold, so it is only equal to itself as it is written.
    digits += "^" + std::string(power) + "^";
  } else {
    std::from_chars(power.data(), power.data() + power.size(), given);
  }
  return (negative ? "-" : "") + digits + "e" + std::to_string(exponent + given);
}

void append_utf8(std::string& to, unsigned point) {
  const auto tail = [&to](unsigned bits) { to += static_cast<char>(0x80 | (bits & 0x3f)); };
  if (point < 0x80) {
    to += static_cast<char>(point);
  } else if (point < 0x800) {
    to += static_cast<char>(0xc0 | point >> 6);
    tail(point);
  } else if (point < 0x10000) {
    to += static_cast<char>(0xe0 | point >> 12);
    tail(point >> 6);
    tail(point);
  } else {
    to += static_cast<char>(0xf0 | point >> 18);
    tail(point >> 12);
    tail(point >> 6);
    tail(point);
  }
}

}  // namespace

class ComparableJson::Reader {
 public:
  Reader(std::string_view text, std::vector<Entry>& entries) : rest_(text), entries_(entries) {}

  bool read_document() {
    if (!read_value({}, kDeepest)) return false;
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size())); }

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool read_value(std::string key, int levels) {
    skip_space();
    if (rest_.empty() || levels < 0) return false;
    const std::size_t at = entries_.size();
    entries_.push_back({.kind = Kind::null, .key = std::move(key), .text = {}, .end = 0});
    const bool read = read_content(at, levels);
    entries_[at].end = entries_.size();
    return read;
  }

  bool read_content(std::size_t at, int levels) {
    switch (rest_.front()) {
      case '{': entries_[at].kind = Kind::object; return read_items('}', levels);
      case '[': entries_[at].kind = Kind::array; return read_items(']', levels);
      case '"': entries_[at].kind = Kind::string; return read_string(entries_[at].text);
      case 'n': return take("null");
      case 't': entries_[at].kind = Kind::yes; return take("true");
      case 'f': entries_[at].kind = Kind::no; return take("false");
      default: entries_[at].kind = Kind::number; return read_number(entries_[at].text);
    }
  }

  // Reads the members of an object, or the elements of an array.
  bool read_items(char close, int levels) {
    rest_.remove_prefix(1);
    skip_space();
    if (take({&close, 1})) return true;
    while (true) {
      std::string key;
      if (close == '}') {
        skip_space();
        if (!read_string(key)) return false;
        skip_space();
        if (!take(":")) return false;
      }
      if (!read_value(std::move(key), levels - 1)) return false;
      skip_space();
      if (take({&close, 1})) return true;
      if (!take(",")) return false;
    }
  }

  std::size_t count_digits() const {
    return static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_digit) - rest_.begin());
  }
  bool take_digits() {
    const std::size_t count = count_digits();
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool read_number(std::string& to) {
    const std::string_view begin = rest_;
    const auto since = [&](std::string_view from) { return from.substr(0, from.size() - rest_.size()); };
    take("-");
    if (!take("0") && !take_digits()) return false;
    if (take(".") && !take_digits()) return false;
    const std::string_view value = since(begin);
    std::string_view power;
    if (take("e") || take("E")) {
      const std::string_view from = rest_;
      if (!take("-")) take("+");
      if (!take_digits()) return false;
      power = since(from);
    }
    to = canonical_number(value, power);
    return true;
  }

  // Returns the code unit of four hexadecimal digits, or -1.
  int take_unit() {
    int unit = -1;
    if (rest_.size() < 4) return -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, unit, 16);
    if (error != std::errc() || end != rest_.data() + 4 || rest_.front() == '-') return -1;
    rest_.remove_prefix(4);
    return unit;
  }

  // A surrogate without a partner stays one.
  bool read_unicode_escape(std::string& to) {
    const int unit = take_unit();
    if (unit < 0) return false;
    auto point = static_cast<unsigned>(unit);
    if (point >= 0xd800 && point < 0xdc00 && rest_.starts_with("\\u")) {
      const std::string_view before = rest_;
      rest_.remove_prefix(2);
      const int low = take_unit();
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (static_cast<unsigned>(low) - 0xdc00);
      } else {
        rest_ = before;
      }
    }
    append_utf8(to, point);
    return true;
  }

  bool read_string(std::string& to) {
    if (!take("\"")) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        to += c;
        continue;
      }
      if (rest_.empty()) return false;
      const char escape = rest_.front();
      rest_.remove_prefix(1);
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      if (escape == 'u') {
        if (!read_unicode_escape(to)) return false;
      } else if (const std::size_t found = kEscapes.find(escape); found != std::string_view::npos) {
        to += kMeanings[found];
      } else {
        return false;
      }
    }
    return false;
  }

  std::string_view rest_;
  std::vector<Entry>& entries_;
};

std::optional<ComparableJson> ComparableJson::parse(std::string_view text) {
  ComparableJson made;
  if (!Reader(text, made.entries_).read_document()) return std::nullopt;
  return made;
}

// Returns the places of the elements in order, or of the members in the order of their names.
std::vector<std::size_t> ComparableJson::children(std::size_t at) const {
  std::vector<std::size_t> places;
  for (std::size_t child = at + 1; child < entries_[at].end; child = entries_[child].end) places.push_back(child);
  if (entries_[at].kind != Kind::object) return places;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return entries_[a].key < entries_[b].key; });
  std::vector<std::size_t> named;
  for (const std::size_t place : places) {
    if (!named.empty() && entries_[named.back()].key == entries_[place].key) named.pop_back();  // the later one counts
    named.push_back(place);
  }
  return named;
}

bool ComparableJson::same(const ComparableJson& a, std::size_t at, const ComparableJson& b, std::size_t its) {
  const Entry& one = a.entries_[at];
  const Entry& other = b.entries_[its];
  if (one.kind != other.kind || one.text != other.text) return false;
  const std::vector<std::size_t> mine = a.children(at);
  const std::vector<std::size_t> theirs = b.children(its);
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [&](std::size_t x, std::size_t y) { return a.entries_[x].key == b.entries_[y].key && same(a, x, b, y); });
}

}  // namespace resonate
