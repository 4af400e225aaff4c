// Building blocks of records: maps of strings, values, and shared texts.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/shared.hpp"

namespace resonate {

// Strings by key, ordered bytewise; each key occurs once.
class StringMap {
 public:
  using Entry = std::pair<std::string, std::string>;

  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }
  const std::string* find(std::string_view key) const noexcept {
    for (const Entry& entry : entries_)
      if (entry.first == key) return &entry.second;
    return nullptr;
  }
  bool equals(std::string_view key, std::string_view value) const noexcept {
    const std::string* found = find(key);
    return found && *found == value;
  }
  // Returns whether every entry of `wanted` is present with the same value.
  bool contains(const StringMap& wanted) const noexcept {
    return std::all_of(wanted.begin(), wanted.end(), [this](const Entry& e) { return equals(e.first, e.second); });
  }
  // A second value for a key replaces the first.
  void set(std::string key, std::string value) {
    auto at =
        std::lower_bound(entries_.begin(), entries_.end(), key, [](const Entry& e, const std::string& k) { return e.first < k; });
    if (at != entries_.end() && at->first == key) {
      at->second = std::move(value);
    } else {
      entries_.emplace(at, std::move(key), std::move(value));
    }
  }
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  friend bool operator==(const StringMap&, const StringMap&) = default;

 private:
  std::vector<Entry> entries_;
};

// A param or value: a member that was not given stays absent.
struct Value {
  std::optional<StringMap> headers;
  std::optional<std::string> data;  // base64 by convention; the engine does not decode it

  bool empty() const noexcept { return !headers && !data; }
  friend bool operator==(const Value&, const Value&) = default;
};

// Returns whether both have the same headers and data. Data are the same if their bytes are, or if both are JSON in base64 with the
// same value: the order of members, white space, escapes and the spelling of a number do not count.
bool same_value(const Value& a, const Value& b);

struct SharedValue final : Counted {
  Value value;
  explicit SharedValue(Value v) : value(std::move(v)) {}
};
// Null if the value is empty.
inline Shared<const SharedValue> shared_value(Value value) {
  return value.empty() ? nullptr : Shared<const SharedValue>(new SharedValue(std::move(value)));
}
struct SharedString final : Counted {
  std::string text;
  explicit SharedString(std::string t) : text(std::move(t)) {}
};
struct SharedStrings final : Counted {
  std::vector<std::string> items;
  explicit SharedStrings(std::vector<std::string> i) : items(std::move(i)) {}
};

}  // namespace resonate
