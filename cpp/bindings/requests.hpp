// Converts the arguments that several typed calls share.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "gil.hpp"
#include "open_store.hpp"
#include "resonate/requests.hpp"
#include "value_codec.hpp"

namespace resonate::python {

inline std::string id_of(const Str& id) { return std::string(text(id, "id")); }

inline PromiseCreate promise_create(const OpenStore& store, const Str& id, const OptionalInstant& timeout_at,
                                    const OptionalDuration& timeout, const AnyValue& param, const StringMapping& headers,
                                    const StringMapping& tags, const OptionalStr& idempotency_key) {
  PromiseCreate create;
  create.id = id_of(id);
  create.timeout_at = deadline(timeout_at, timeout, [&] { return store.now(); });
  create.param = value_of(param, headers, "param");
  create.tags = string_map(tags, "tags");
  create.ikc = optional_text(idempotency_key, "idempotency_key");
  return create;
}

inline PromiseSettle promise_settle(std::string_view id, std::string_view state, const AnyValue& value,
                                    const StringMapping& headers, const OptionalStr& idempotency_key) {
  PromiseSettle settle;
  settle.id = id;
  settle.state = state;
  settle.value = value_of(value, headers, "value");
  settle.iku = optional_text(idempotency_key, "idempotency_key");
  return settle;
}

// Pairs of id and version, for TaskRef and JobRef.
using Held = Shown<"collections.abc.Iterable[tuple[str, int]]">;

template <class Ref>
std::vector<Ref> held(const Held& given, const char* argument) {
  constexpr const char* kExpected = "an iterable of (id, version)";
  std::vector<Ref> refs;
  const py::object items = fast_sequence(given, argument, kExpected);
  refs.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr())));
  for (py::handle one : items) {
    const py::object pair = fast_sequence(one, argument, kExpected);
    if (PySequence_Fast_GET_SIZE(pair.ptr()) != 2)
      raise(ErrorClass::invalid, std::string(argument) + " must contain (id, version), got " + std::string(repr_of(one)));
    refs.push_back({.id = std::string(text(PySequence_Fast_GET_ITEM(pair.ptr(), 0), argument)),
                    .version = integer(PySequence_Fast_GET_ITEM(pair.ptr(), 1), argument)});
  }
  return refs;
}

inline SearchQuery search_query(const OptionalStr& id, const StringMapping& tags, const Int& limit, const OptionalStr& cursor) {
  SearchQuery query;
  query.filter.id = optional_text(id, "id");
  query.filter.tags = string_map(tags, "tags");
  query.limit = integer(limit, "limit");
  query.cursor = optional_text(cursor, "cursor").value_or("");
  return query;
}

}  // namespace resonate::python
