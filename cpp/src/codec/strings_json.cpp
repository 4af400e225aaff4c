#include "codec/strings_json.hpp"

#include <simdjson.h>

#include "codec/json_sink.hpp"
#include "codec/reader.hpp"
#include "codec/stored_json.hpp"
#include "codec/strings_encode.hpp"

namespace resonate {

namespace {

const Path kDocument("document", nullptr);

}  // namespace

bool is_utf8(std::string_view text) noexcept { return simdjson::validate_utf8(text); }

std::string to_json(const StringMap& strings) {
  JsonSink sink;
  encode_strings(sink, strings);
  return sink.take();
}

std::string to_json(const std::vector<std::string>& strings) {
  JsonSink sink;
  sink.begin_array();
  for (const std::string& text : strings) sink.string(text);
  sink.end_array();
  return sink.take();
}

StringMap string_map_of_json(std::string_view json) {
  return read_stored("text", json, [](const JsonNode& node) { return read_string_map(node, kDocument); });
}

std::vector<std::string> strings_of_json(std::string_view json) {
  return read_stored("text", json, [](const JsonNode& node) {
    if (node.type() != NodeType::array) refuse_type(node, kDocument, "an array of strings");
    std::vector<std::string> strings;
    node.each_element([&](const JsonNode& element) { strings.emplace_back(read_text(element, kDocument)); });
    return strings;
  });
}

}  // namespace resonate
