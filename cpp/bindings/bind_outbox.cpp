// What waits to be delivered: store.messages, store.take_messages.
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
  if (limit < 0) raise(ErrorClass::invalid, "limit is " + std::to_string(limit) + "; it has to be 0 or more");
  return static_cast<std::size_t>(limit);
}

// Exact addresses, and beginnings of addresses where a text ends in `*`.
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
    engine.with_snapshot([&](Storage& storage) {
      waiting = storage.message_count();
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
           py::arg("addresses") = py::none(), R"doc(
What waits in the outbox, in order of queueing (PROTOCOL 5). It stays there.

Args:
    limit: How many at most.
    after: Only those with a greater `number`.
    addresses: Only those to one of these addresses; one that ends in `*` stands for all that begin so.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> [(message.kind, message.address) for message in store.messages()]
    [('execute', 'poll://any@workers')]
)doc")
      .def("acknowledge", &acknowledge, py::arg("numbers"), R"doc(
Takes the messages of these numbers out of the outbox: they were delivered (PROTOCOL 5).

Args:
    numbers: `Message.number` of each. One that does not wait any more is passed over.

Returns:
    Those that waited, in order. Of several callers who name one message one is told its number.

Raises:
    Closed: The store was closed.
    StoreError: The commit failed; all of them still wait.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.acknowledge([message.number for message in store.messages()])
    [1]
)doc")
      .def(
          "on_message",
          [](const Shown<"resonate_core._core.Store">& self, const Str& scheme,
             const Shown<"collections.abc.Callable[[resonate_core._core.Message], typing.Any]">& handler,
             const OptionalBool& background) {
            return Shown<"resonate_core._messages.Subscription">(
                call(member_of_module("resonate_core._messages", "on_message"), self, scheme, handler, background));
          },
          py::arg("scheme"), py::arg("handler"), py::kw_only(), py::arg("background") = py::none(), R"doc(
Hands the messages of all addresses with this scheme to a function of this process (PROTOCOL 5).

A message was delivered when the function returned; one that raised gets it again, after a pause that grows. The function is called
with one message at a time, at least once, and should return soon. Whatever it raises in the thread is logged, even what ends a thread
(SystemExit). When the program ends, the thread is given a second to return from it.

Args:
    scheme: What stands before the colon of the addresses, in lower case.
    handler: Is given a `Message`.
    background: Whether a thread calls it as soon as a message is queued; else `deliver` does. By default that depends on the clock:
        a system clock's store delivers by itself, a manual clock's when it is told to, so that runs repeat.

Returns:
    A Subscription, whose `close` ends it. It ends with the store too.

Raises:
    Invalid: No scheme, or one that has a handler.
    TypeError: `handler` cannot be called.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> subscription = store.on_message("local", lambda message: print(message.kind, message.id))
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "local://here"})
    >>> store.deliver()
    execute job
    1
)doc")
      .def(
          "deliver",
          [](const Shown<"resonate_core._core.Store">& self) {
            return py::cast<std::size_t>(call(member_of_module("resonate_core._messages", "deliver"), self));
          },
          R"doc(
Hands what waits now to the functions that `on_message` was given, in order of queueing; how many messages they took.

A function that raises is logged and keeps nothing from the others.

Raises:
    Invalid: A function that it calls calls it again.
    Closed: The store was closed.
    StoreError: What was taken could not be taken out of the store, and will be delivered again.

Example:
    >>> rc.Store(clock=rc.ManualClock()).deliver()
    0
)doc")
      .def("outbox_counts", &outbox_counts, R"doc(
How many messages wait, and how many unblocks were dropped since the store began, because nobody took them within its
`unblock_retention`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.outbox_counts()
    {'waiting': 1, 'dropped': 0}
)doc")
      .def("take_messages", &take_messages, py::arg("limit") = py::none(), py::kw_only(), py::arg("addresses") = py::none(), R"doc(
Takes messages out of the outbox, in order of queueing: their delivery is acknowledged with that (PROTOCOL 5).

Args:
    limit: How many at most.
    addresses: Only those to one of these addresses; one that ends in `*` stands for all that begin so. The others stay queued.

Returns:
    Dicts of `key`, `address` and `message`, the last as it goes over the wire.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.take_messages(addresses=["http*"])
    []
    >>> store.take_messages()[0]["message"]
    {'kind': 'execute', 'head': {}, 'data': {'task': {'id': 'job', 'version': 0}}}
    >>> store.messages()
    []
)doc");
}

}  // namespace resonate::python
