// Undelivered messages: store.messages, store.take_messages.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "event_dicts.hpp"
#include "gil.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using Addresses = Shown<"collections.abc.Iterable[str] | None">;

using Found = std::vector<std::pair<MessageRef, RowRef>>;

std::size_t limit_of(const OptionalInt& given) {
  const std::int64_t limit = optional_integer(given, "limit").value_or(INT64_MAX);
  if (limit < 0) raise(ErrorClass::invalid, "limit must be at least 0, got " + std::to_string(limit));
  return static_cast<std::size_t>(limit);
}

// Exact addresses, or prefixes if a text ends in `*`.
std::vector<AddressPattern> patterns_of(const Addresses& addresses) {
  std::vector<AddressPattern> patterns;
  for (std::string& text : texts(addresses, "addresses")) {
    const bool prefix = text.ends_with('*');
    if (prefix) text.pop_back();
    patterns.push_back({std::move(text), prefix});
  }
  return patterns;
}

py::typing::List<MessageRecord> messages(const StoreHandle& store, const OptionalInt& limit, std::int64_t after,
                                         const Addresses& addresses) {
  const std::size_t most = limit_of(limit);
  Found found;
  if (addresses.is_none()) {
    found = open(store).without_gil(
        [&](Engine& engine) { return engine.messages_with_records_if([](const OutboxMessage&) { return true; }, after, most); });
  } else {
    const std::vector<AddressPattern> wanted = patterns_of(addresses);
    found = open(store).without_gil([&](Engine& engine) { return engine.messages_to(wanted, after, most); });
  }
  py::typing::List<MessageRecord> made;
  for (auto& [message, row] : found) {
    const bool stale = is_stale(*message, row);
    made.append(MessageRecord{std::move(message), std::move(row), stale});
  }
  return made;
}

std::vector<std::int64_t> acknowledge(const StoreHandle& store, const Shown<"collections.abc.Iterable[int]">& numbers) {
  std::vector<std::int64_t> wanted;
  for (py::handle one : list_of(numbers)) wanted.push_back(integer(one, "numbers"));
  return open(store).without_gil([&wanted](Engine& engine) { return engine.acknowledge(wanted); });
}

std::vector<std::int64_t> lease_messages(const StoreHandle& store, const Shown<"collections.abc.Iterable[int]">& numbers,
                                         const Str& holder, const DurationArgument& lease) {
  std::vector<std::int64_t> wanted;
  for (py::handle one : list_of(numbers)) wanted.push_back(integer(one, "numbers"));
  const std::string name(text(holder, "holder"));
  const Duration length = duration(lease, "lease");
  return open(store).without_gil([&](Engine& engine) { return engine.lease_messages(wanted, name, length); });
}

py::typing::List<JsonDict> take_messages(const StoreHandle& store, const OptionalInt& limit, const Addresses& addresses) {
  const std::size_t most = limit_of(limit);
  Found taken;
  if (addresses.is_none()) {
    taken = open(store).without_gil([most](Engine& engine) { return engine.take_messages(most); });
  } else {
    const std::vector<AddressPattern> wanted = patterns_of(addresses);
    taken = open(store).without_gil([&](Engine& engine) { return engine.take_messages_to(wanted, most); });
  }
  py::typing::List<JsonDict> made;
  for (auto& [message, record] : taken) made.append(message_dict({std::move(message), std::move(record), false}));
  return made;
}

py::typing::Dict<py::str, py::int_> outbox_counts(const StoreHandle& store) {
  std::size_t waiting = 0;
  std::int64_t dropped = 0;
  open(store).without_gil([&](Engine& engine) {
    engine.with_few_rows([&](Storage& storage) {
      waiting = storage.count(Table::messages);
      dropped = storage.counters().dropped;
    });
  });
  py::dict made;
  made["waiting"] = waiting;
  made["dropped"] = dropped;
  return made;
}

}  // namespace

void bind_outbox(StoreClass& bound) {
  bound
      .def("messages", &messages, py::arg("limit") = py::none(), py::kw_only(), py::arg("after") = 0,
           py::arg("addresses") = py::none())
      .def("acknowledge", &acknowledge, py::arg("numbers"))
      .def("lease_messages", &lease_messages, py::arg("numbers"), py::kw_only(), py::arg("holder"), py::arg("lease"))
      .def(
          "on_message",
          [](const Shown<"resonate_core._core.Store">& self, const Str& scheme,
             const Shown<"collections.abc.Callable[[resonate_core._core.Message], typing.Any]">& handler,
             const OptionalBool& background) {
            return Shown<"resonate_core.calls.delivery.Subscription">(
                call(member_of_module("resonate_core.calls.delivery", "on_message"), self, scheme, handler, background));
          },
          py::arg("scheme"), py::arg("handler"), py::kw_only(), py::arg("background") = py::none())
      .def("deliver",
           [](const Shown<"resonate_core._core.Store">& self) {
             return py::cast<std::size_t>(call(member_of_module("resonate_core.calls.delivery", "deliver"), self));
           })
      .def("outbox_counts", &outbox_counts)
      .def("take_messages", &take_messages, py::arg("limit") = py::none(), py::kw_only(), py::arg("addresses") = py::none());
}

}  // namespace resonate::python
