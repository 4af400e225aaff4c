#include "codec/base64.hpp"
#include "codec/comparable_json.hpp"
#include "resonate/values.hpp"

namespace resonate {

namespace {

bool same_data(const std::optional<std::string>& a, const std::optional<std::string>& b) {
  static const std::string kNone;
  const std::string& one = a ? *a : kNone;
  const std::string& other = b ? *b : kNone;
  if (one == other) return true;
  const auto mine = base64_decode(one);
  const auto theirs = base64_decode(other);
  if (!mine || !theirs) return false;
  const auto value = ComparableJson::parse(*mine);
  return value && value == ComparableJson::parse(*theirs);
}

}  // namespace

bool same_value(const Value& a, const Value& b) {
  static const StringMap kNone;
  return (a.headers ? *a.headers : kNone) == (b.headers ? *b.headers : kNone) && same_data(a.data, b.data);
}

}  // namespace resonate
