// What a decoder reads and what an encoder writes to. The codec is written once over these two concepts; JSON text (simdjson, and
// nlohmann if simdjson refuses it) and Python objects are the documents.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "resonate/fields.hpp"

namespace resonate {

enum class NodeType : std::uint8_t {
  null,
  boolean,
  integer,      // within int64
  big_integer,  // an integer outside int64
  real,
  string,      // valid Unicode
  bad_string,  // not valid Unicode (a lone surrogate)
  array,
  object,
  bad_object,  // one of its keys is no string, or no valid Unicode
  other        // what JSON does not have
};

// A value of a document: cheap to copy, valid while the document lives.
//   type()                the type of the value
//   integer()             where type() is integer
//   real()                where type() is real
//   text()                where type() is string: UTF-8, valid while the document lives
//   each_member(f)        where type() is object: f(std::string_view key, Node value) in order; a key may come twice, and is valid
//                         while the document lives
//   each_element(f)       where type() is array: f(Node value) in order
//   size()                where type() is array: how many there are; a document that would have to count has none
template <class N>
concept DocumentNode = std::copyable<N> && requires(const N& node) {
  { node.type() } -> std::same_as<NodeType>;
  { node.integer() } -> std::same_as<std::int64_t>;
  { node.real() } -> std::same_as<double>;
  { node.text() } -> std::convertible_to<std::string_view>;
  node.each_member([](std::string_view, N) {});
  node.each_element([](N) {});
};

// Takes a document in order: key() before every member of an object. Strings are UTF-8.
template <class S>
concept DocumentSink = requires(S& sink, Field field, std::string_view text, std::int64_t number, double real, bool flag) {
  sink.begin_object();
  sink.end_object();
  sink.begin_array();
  sink.end_array();
  sink.key(field);
  sink.key(text);
  sink.string(text);
  sink.integer(number);
  sink.real(real);
  sink.boolean(flag);
  sink.null();
};

}  // namespace resonate
