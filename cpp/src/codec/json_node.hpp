// JsonNode: a value of a document that simdjson parsed.
#pragma once

#include <cstdint>
#include <string_view>

#include <simdjson.h>

#include "codec/node.hpp"

namespace resonate {

class JsonNode {
 public:
  explicit JsonNode(simdjson::dom::element element) noexcept : element_(element) {}

  NodeType type() const noexcept {
    switch (element_.type()) {
      case simdjson::dom::element_type::NULL_VALUE: return NodeType::null;
      case simdjson::dom::element_type::BOOL: return NodeType::boolean;
      case simdjson::dom::element_type::INT64: return NodeType::integer;
      case simdjson::dom::element_type::UINT64: return NodeType::big_integer;  // only for values beyond int64
      case simdjson::dom::element_type::DOUBLE: return NodeType::real;
      case simdjson::dom::element_type::STRING: return NodeType::string;
      case simdjson::dom::element_type::ARRAY: return NodeType::array;
      case simdjson::dom::element_type::OBJECT: return NodeType::object;
    }
    return NodeType::other;
  }
  bool boolean() const noexcept { return as<bool>(); }
  std::int64_t integer() const noexcept { return as<std::int64_t>(); }
  double real() const noexcept { return as<double>(); }
  std::string_view text() const noexcept { return as<std::string_view>(); }
  template <class Body>
  void each_member(Body body) const {
    for (const simdjson::dom::key_value_pair member : as<simdjson::dom::object>()) body(member.key, JsonNode(member.value));
  }
  template <class Body>
  void each_element(Body body) const {
    for (const simdjson::dom::element element : as<simdjson::dom::array>()) body(JsonNode(element));
  }

 private:
  // The caller must have checked the type.
  template <class T>
  T as() const noexcept {
    T value{};
    return element_.get(value) == simdjson::SUCCESS ? value : T{};
  }

  simdjson::dom::element element_;
};

}  // namespace resonate
