// NlohmannNode: a value of a document that nlohmann's parser read, where simdjson would not.
//
// That parser has no lone surrogates either, so JsonDocument puts a mark in their place, a code point that no text should hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "protocol/node.hpp"

namespace resonate {

class NlohmannNode {
 public:
  static constexpr std::string_view kMark = "\xEF\xBF\xBF";  // U+FFFF

  // `marked`: the document holds marks, and what contains one is not valid Unicode.
  explicit NlohmannNode(const nlohmann::ordered_json& json, bool marked = false) noexcept : json_(&json), marked_(marked) {}

  NodeType type() const {
    using Type = nlohmann::ordered_json::value_t;
    switch (json_->type()) {
      case Type::null: return NodeType::null;
      case Type::boolean: return NodeType::boolean;
      case Type::number_integer: return NodeType::integer;
      case Type::number_unsigned:
        return json_->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ? NodeType::integer
                                                                                                                   : NodeType::big_integer;
      case Type::number_float:  // integers past 64 bits arrive as reals; so far from zero every real is whole
        return std::abs(json_->get<double>()) >= 0x1p63 ? NodeType::big_integer : NodeType::real;
      case Type::string: return is_bad(text()) ? NodeType::bad_string : NodeType::string;
      case Type::array: return NodeType::array;
      case Type::object: return has_bad_key() ? NodeType::bad_object : NodeType::object;
      default: return NodeType::other;
    }
  }
  bool boolean() const { return json_->get<bool>(); }
  std::int64_t integer() const { return json_->get<std::int64_t>(); }
  std::string_view text() const { return json_->get_ref<const std::string&>(); }
  template <class Body>
  void each_member(Body body) const {
    for (auto member = json_->begin(); member != json_->end(); ++member) body(std::string_view(member.key()), NlohmannNode(member.value(), marked_));
  }
  template <class Body>
  void each_element(Body body) const {
    for (const nlohmann::ordered_json& element : *json_) body(NlohmannNode(element, marked_));
  }

 private:
  bool is_bad(std::string_view text) const noexcept { return marked_ && text.find(kMark) != std::string_view::npos; }
  bool has_bad_key() const {
    if (!marked_) return false;
    for (auto member = json_->begin(); member != json_->end(); ++member) {
      if (is_bad(member.key())) return true;
    }
    return false;
  }

  const nlohmann::ordered_json* json_;
  bool marked_;
};

}  // namespace resonate
