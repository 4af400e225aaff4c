// JsonNode: a value of a JSON text, in the document of simdjson or, for a text that simdjson refuses, in the one of nlohmann's
// parser. It is one type, so that each decoder is compiled once for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <simdjson.h>

#include "codec/nlohmann_document.hpp"
#include "codec/node.hpp"

namespace resonate {

class JsonNode {
 public:
  explicit JsonNode(simdjson::dom::element element) noexcept : fast_(element), is_slow_(false) {}
  // The document's value. The document must have no problem.
  explicit JsonNode(const NlohmannDocument& document) noexcept : JsonNode(document, 0) {}

  NodeType type() const noexcept { return is_slow_ ? entry().type : type_of(fast_.type()); }
  bool boolean() const noexcept { return is_slow_ ? entry().number != 0 : as<bool>(); }
  std::int64_t integer() const noexcept { return is_slow_ ? entry().number : as<std::int64_t>(); }
  double real() const noexcept { return is_slow_ ? entry().real : as<double>(); }
  std::string_view text() const noexcept { return is_slow_ ? slow_.document->view(entry().text) : as<std::string_view>(); }
  template <class Body>
  void each_member(Body body) const {
    if (is_slow_) return each_child([&](const JsonNode& member) { body(slow_.document->view(member.entry().key), member); });
    for (const simdjson::dom::key_value_pair member : as<simdjson::dom::object>()) body(member.key, JsonNode(member.value));
  }
  template <class Body>
  void each_element(Body body) const {
    if (is_slow_) return each_child(body);
    for (const simdjson::dom::element element : as<simdjson::dom::array>()) body(JsonNode(element));
  }

 private:
  JsonNode(const NlohmannDocument& document, std::size_t at) noexcept : slow_{&document, at}, is_slow_(true) {}

  static NodeType type_of(simdjson::dom::element_type type) noexcept {
    switch (type) {
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
  // The caller must have checked the type.
  template <class T>
  T as() const noexcept {
    T value{};
    return fast_.get(value) == simdjson::SUCCESS ? value : T{};
  }

  const NlohmannDocument::Entry& entry() const noexcept { return slow_.document->entries_[slow_.at]; }
  template <class Body>
  void each_child(Body body) const {
    for (std::size_t child = slow_.at + 1; child < entry().end; child = slow_.document->entries_[child].end)
      body(JsonNode(*slow_.document, child));
  }

  struct Slow {
    const NlohmannDocument* document;
    std::size_t at;
  };
  union {
    simdjson::dom::element fast_;
    Slow slow_;
  };
  bool is_slow_;
};

}  // namespace resonate
