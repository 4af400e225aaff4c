// The `data` of each kind → its Operation (WIRE 2, JOBS 5, and the members of 2025-01-15), by the descriptors of its struct.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "codec/described_read.hpp"
#include "codec/kinds.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

// Decodes in place, since operations are large to move.
template <std::size_t Place, DocumentNode Node>
Operation decode_as(DialectId dialect, const Node& data, const Path& at) {
  Operation operation(std::in_place_index<Place>);
  auto& request = *std::get_if<Place>(&operation);
  DescribedReader<Node>(dialect).read(described(request), data, &at);
  return operation;
}

template <DocumentNode Node, std::size_t... Places>
constexpr auto make_decoders(std::index_sequence<Places...>) {
  return std::array{&decode_as<Places, Node>...};
}
template <DocumentNode Node>
inline constexpr auto kDecoders = make_decoders<Node>(std::make_index_sequence<std::variant_size_v<Operation>>());

}  // namespace detail

// Throws Malformed. `kind` must be a kind of `dialect`, and not debug.*.
template <DocumentNode Node>
Operation decode_operation(Kind kind, DialectId dialect, const Node& data, const Path& at) {
  return detail::kDecoders<Node>[static_cast<std::size_t>(kind)](dialect, data, at);
}

}  // namespace resonate
