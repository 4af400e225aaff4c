// Reads typed members of a DocumentNode. Only types are checked here; machine/validate checks values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/node.hpp"
#include "codec/path.hpp"
#include "resonate/records.hpp"

namespace resonate {

template <DocumentNode Node>
std::string described(const Node& node) {
  switch (node.type()) {
    case NodeType::null: return "null";
    case NodeType::boolean: return "a boolean";
    case NodeType::integer: return std::to_string(node.integer());
    case NodeType::big_integer: return "an integer outside int64";
    case NodeType::real: return "a number that is no integer";
    case NodeType::string: return in_quotes(node.text());
    case NodeType::bad_string: return "a string that is not valid Unicode";
    case NodeType::array: return "an array";
    case NodeType::object: return "an object";
    case NodeType::bad_object: return "an object with a key that is no string";
    case NodeType::other: break;
  }
  return "a value that JSON does not have";
}

template <DocumentNode Node>
[[noreturn]] void refuse_type(const Node& node, const Path& path, std::string_view wanted) {
  throw Malformed{to_text(path) + " must be " + std::string(wanted) + ", got " + described(node)};
}

template <DocumentNode Node>
std::string_view read_text(const Node& node, const Path& path) {
  if (node.type() != NodeType::string) refuse_type(node, path, "a string");
  return node.text();
}

template <DocumentNode Node>
bool read_boolean(const Node& node, const Path& path) {
  if (node.type() != NodeType::boolean) refuse_type(node, path, "a boolean");
  return node.boolean();
}

template <DocumentNode Node>
std::int64_t read_integer(const Node& node, const Path& path) {
  if (node.type() != NodeType::integer) refuse_type(node, path, "an integer within int64");
  return node.integer();
}

// Reads a map of strings. If a name comes twice, the last one counts, even if the first has a wrong type. The names are sorted
// first, so that the cost of n names in any order is n log n.
template <DocumentNode Node>
StringMap read_string_map(const Node& node, const Path& path) {
  if (node.type() != NodeType::object) refuse_type(node, path, "an object of strings");
  struct Member {
    std::string_view key;
    std::size_t place;
    Node value;
  };
  std::vector<Member> members;
  node.each_member([&](std::string_view key, Node value) { members.push_back({key, members.size(), value}); });
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.key == b.key ? a.place < b.place : a.key < b.key; });
  StringMap map;
  const Member* wrong = nullptr;  // the first in the document
  for (std::size_t at = 0; at < members.size(); ++at) {
    const Member& member = members[at];
    if (at + 1 < members.size() && members[at + 1].key == member.key) continue;
    if (member.value.type() == NodeType::string) {
      map.set(std::string(member.key), std::string(member.value.text()));
    } else if (!wrong || member.place < wrong->place) {
      wrong = &member;
    }
  }
  if (wrong) refuse_type(wrong->value, Path(wrong->key, &path), "a string");
  return map;
}

// An empty `at` means the document itself.
template <DocumentNode Node>
void require_object(const Node& node, const Path* at) {
  if (node.type() == NodeType::object) return;
  if (at) refuse_type(node, *at, "an object");
  throw Malformed{"the document must be an object, got " + described(node)};
}

namespace detail {

// The place of each field among those that a decoder asks for; `size` if it is none of them.
using Places = std::array<std::uint8_t, kFieldCount>;

template <Field... Wanted>
constexpr Places places_of() {
  Places places{};
  places.fill(sizeof...(Wanted));
  std::uint8_t place = 0;
  ((places[static_cast<std::size_t>(Wanted)] = place++), ...);
  return places;
}

// Finds the members of an object, each at its place. It is compiled once for all lists of members and all structs.
template <DocumentNode Node>
void find_members(const Node& object, const Places& places, std::size_t size, std::optional<Node>* found) {
  object.each_member([&places, size, found](std::string_view name, Node value) {
    const std::optional<Field> field = field_named(name);
    if (!field) return;
    if (const std::size_t place = places[static_cast<std::size_t>(*field)]; place < size) found[place] = value;
  });
}

}  // namespace detail

// The members of one object that a decoder asks for, found in one pass; the last of a name counts.
template <DocumentNode Node, Field... Wanted>
class Members {
 public:
  // An empty `at` means the document itself.
  Members(const Node& object, const Path* at) : at_(at) {
    require_object(object, at);
    static constexpr detail::Places kPlaces = detail::places_of<Wanted...>();
    detail::find_members(object, kPlaces, found_.size(), found_.data());
  }

  Path path(Field field) const { return Path(field, at_); }

  template <Field F>
  const Node* find() const {
    const std::optional<Node>& node = found_[place_of<F>()];
    return node ? &*node : nullptr;
  }
  template <Field F>
  const Node& need() const {
    if (const Node* node = find<F>()) return *node;
    refuse_missing(F, at_);
  }
  // Null counts as absent.
  template <Field F>
  const Node* find_given() const {
    const Node* node = find<F>();
    return node && node->type() != NodeType::null ? node : nullptr;
  }

  template <Field F>
  std::string text() const {
    return std::string(read_text(need<F>(), path(F)));
  }
  template <Field F>
  std::int64_t integer() const {
    return read_integer(need<F>(), path(F));
  }
  template <Field F>
  std::optional<std::string> optional_text() const {
    const Node* node = find_given<F>();
    return node ? std::optional<std::string>(read_text(*node, path(F))) : std::nullopt;
  }
  template <Field F>
  std::optional<std::int64_t> optional_integer() const {
    const Node* node = find_given<F>();
    return node ? std::optional<std::int64_t>(read_integer(*node, path(F))) : std::nullopt;
  }
  // False if it is absent or null.
  template <Field F>
  bool is_set() const {
    const Node* node = find_given<F>();
    return node && read_boolean(*node, path(F));
  }
  // An absent member is empty; null is a wrong type.
  template <Field F>
  StringMap string_map() const {
    const Node* node = find<F>();
    return node ? read_string_map(*node, path(F)) : StringMap();
  }
  template <Field F>
  Value value() const;
  // Calls f(Node element, const Path& path) for each element of an array that must be present.
  template <Field F, class Body>
  void each(Body body) const {
    const Path list = path(F);
    const Node& array = need<F>();
    if (array.type() != NodeType::array) refuse_type(array, list, "an array");
    std::ptrdiff_t index = 0;
    array.each_element([&](Node element) { body(element, Path(index++, &list)); });
  }

 private:
  template <Field F>
  static constexpr std::size_t place_of() {
    static_assert(((F == Wanted) || ...), "a member that was not asked for");
    std::size_t place = 0;
    (void)((F == Wanted ? true : (++place, false)) || ...);
    return place;
  }

  std::array<std::optional<Node>, sizeof...(Wanted)> found_;
  const Path* at_;
};

// An empty `at` means the document itself.
template <DocumentNode Node>
Value read_value(const Node& node, const Path* at) {
  const Members<Node, Field::headers, Field::data> members(node, at);
  Value value;
  if (const Node* headers = members.template find_given<Field::headers>()) {
    value.headers = read_string_map(*headers, members.path(Field::headers));
  }
  value.data = members.template optional_text<Field::data>();
  return value;
}
template <DocumentNode Node>
Value read_value(const Node& node, const Path& path) {
  return read_value(node, &path);
}

template <DocumentNode Node, Field... Wanted>
template <Field F>
Value Members<Node, Wanted...>::value() const {
  const Node* node = find<F>();
  return node ? read_value(*node, path(F)) : Value();
}

}  // namespace resonate
