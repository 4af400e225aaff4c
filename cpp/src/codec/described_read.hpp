// Decodes documents into structs that have descriptors (resonate/described.hpp). One pass over an object finds its members; the
// last member of a name counts. They are then read in the order of the descriptors, so the error for a document with several faults
// is always the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "codec/audience.hpp"
#include "codec/kinds.hpp"
#include "codec/reader.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
double read_number(const Node& node, const Path& path) {
  if (node.type() == NodeType::real) return node.real();
  if (node.type() != NodeType::integer) refuse_type(node, path, "a number");
  return static_cast<double>(node.integer());
}

// A document cannot give kKept as a number. Other negative numbers stay negative, so that validation names them in its error.
template <DocumentNode Node>
Duration read_retention(const Node& node, const Path& path) {
  const std::int64_t retention = read_integer(node, path);
  return retention < 0 ? std::min<std::int64_t>(retention, kKept - 1) : retention;
}

inline Shared<const SharedString> shared_text(std::optional<std::string> text) {
  return text ? Shared<const SharedString>(new SharedString(*std::move(text))) : nullptr;
}

template <DocumentNode Node, Audience From = Audience::storage>
class DescribedReader {
 public:
  // `dialect` gives the names of actions.
  explicit DescribedReader(DialectId dialect = DialectId::k2026_04_01) : dialect_(dialect) {}

  // An empty `at` means the document itself.
  template <class T>
  void read(T& to, const Node& object, const Path* at) const {
    require_object(object, at);
    std::array<std::optional<Node>, kSize<T>> found;
    find_members(object, kPlaces<T>, found.size(), found.data());
    each_field<T>([&]<std::size_t I>() { this->template member<T, I>(to, found[I], at); });
  }

 private:
  template <class T, std::size_t I>
  void member(T& to, const std::optional<Node>& found, const Path* at) const {
    constexpr const auto& rules = kField<T, I>;
    if constexpr (From == Audience::replies && rules.stored_only) return;
    if (!rules.applies(to)) return;
    auto& place = rules.access(to);
    using M = std::remove_reference_t<decltype(place)>;
    const bool null = rules.presence == Presence::optional && found && found->type() == NodeType::null;
    if (!found || (null && !rules.null_is_kept && !kIsA<Setting, M>)) {
      if constexpr (rules.presence == Presence::required) refuse_missing(rules.field, at);
      if constexpr (requires { when_absent(to, rules.field); }) when_absent(to, rules.field);
    } else if (!null) {
      value<T, I>(place, *found, Path(rules.field, at));
    } else if constexpr (rules.null_is_kept) {
      place = kKept;
    } else if constexpr (kIsA<Setting, M>) {
      place.given = true;
    }
  }

  template <class T, std::size_t I, class M>
  void value(M& to, const Node& node, const Path& path) const {
    constexpr const auto& rules = kField<T, I>;
    if constexpr (kIsA<Setting, M>) {
      to.given = true;
      value<T, I>(to.value.emplace(), node, path);
    } else if constexpr (kIsA<std::optional, M> || kIsA<Box, M>) {
      value<T, I>(to.emplace(), node, path);
    } else if constexpr (std::is_same_v<M, std::string>) {
      to = read_text(node, path);
    } else if constexpr (std::is_same_v<M, bool>) {
      to = read_boolean(node, path);
    } else if constexpr (std::is_same_v<M, double>) {
      to = read_number(node, path);
    } else if constexpr (rules.null_is_kept) {
      to = read_retention(node, path);
    } else if constexpr (std::is_same_v<M, std::int64_t>) {
      to = read_integer(node, path);
    } else if constexpr (std::is_same_v<M, Value>) {
      to = read_value(node, path);
    } else if constexpr (std::is_same_v<M, StringMap>) {
      to = read_string_map(node, path);
    } else if constexpr (std::is_enum_v<M>) {
      const std::string_view name = read_text(node, path);
      const std::optional<M> known = parse(Of<M>{}, name);
      if (!known) refuse_type(node, path, names_of(Of<M>{}));
      to = *known;
    } else if constexpr (std::is_same_v<M, Shared<const SharedString>>) {
      to = shared_text(std::string(read_text(node, path)));
    } else if constexpr (std::is_same_v<M, Shared<const SharedValue>>) {
      to = Shared<const SharedValue>(new SharedValue(read_value(node, path)));
    } else if constexpr (kIsList<M>) {
      elements<T, I>(to, node, path);
    } else if constexpr (kIsA<Shared, M>) {
      auto made = make_shared_value<std::remove_cvref_t<decltype(*to)>>();
      read(*made, node, &path);
      to = std::move(made);
    } else if constexpr (rules.action) {
      action(to, node, path);
    } else {
      read(to, node, &path);
    }
  }

  template <class T, std::size_t I, class List>
  void elements(List& to, const Node& node, const Path& path) const {
    if (node.type() != NodeType::array) refuse_type(node, path, "an array");
    constexpr std::size_t kMostReserved = 10'000;  // a longer list is refused later, and must not cost memory before
    if constexpr (requires { to.reserve(node.size()); }) to.reserve(std::min(node.size(), kMostReserved));
    std::ptrdiff_t index = 0;
    node.each_element([&](Node element) {
      const Path at(index++, &path);
      if constexpr (std::is_same_v<typename List::value_type, QueueChoice>) {
        if (element.type() == NodeType::string) return to.push_back({std::string(element.text()), {}});
        if (element.type() != NodeType::object) refuse_type(element, at, "the name of a queue, or an object of name and weight");
      }
      value<T, I>(to.emplace_back(), element, at);
    });
  }

  // Reads {kind, data}; a head is ignored, since the outer envelope's head applies.
  template <class Action>
  void action(Action& to, const Node& node, const Path& path) const {
    const Members<Node, Field::kind, Field::data> members(node, &path);
    const std::string_view kind = read_text(members.template need<Field::kind>(), members.path(Field::kind));
    const Path at = members.path(Field::data);
    if (!action_of(kind, to, members, at)) {
      std::string wanted;
      each_kind(to, [&](Kind one) { wanted += (wanted.empty() ? "" : " or ") + in_quotes(name_of(one, dialect_)); });
      refuse_type(members.template need<Field::kind>(), members.path(Field::kind), wanted);
    }
  }
  template <class Action, class EnvelopeMembers>
  bool action_of(std::string_view kind, Action& to, const EnvelopeMembers& members, const Path& at) const {
    if (kind != name_of(kKindOf<Action>, dialect_)) return false;
    read(to, members.template need<Field::data>(), &at);
    return true;
  }
  template <class... Actions, class EnvelopeMembers>
  bool action_of(std::string_view kind, std::variant<Actions...>& to, const EnvelopeMembers& members, const Path& at) const {
    return ((kind == name_of(kKindOf<Actions>, dialect_) && action_of(kind, to.template emplace<Actions>(), members, at)) || ...);
  }
  template <class Action, class Body>
  static void each_kind(const Action&, Body body) {
    body(kKindOf<Action>);
  }
  template <class... Actions, class Body>
  static void each_kind(const std::variant<Actions...>&, Body body) {
    (body(kKindOf<Actions>), ...);
  }

  DialectId dialect_;
};

template <class T, DocumentNode Node>
T read_described(const Node& node, const Path& at) {
  T made;
  DescribedReader<Node>().read(made, node, &at);
  return made;
}

}  // namespace detail
}  // namespace resonate
