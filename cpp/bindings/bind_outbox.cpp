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
           py::arg("addresses") = py::none(), R"doc(
Return the undelivered messages in the order of queueing, without taking them (PROTOCOL 5).

Args:
    limit: The maximum of messages.
    after: Only messages with a greater `number`.
    addresses: Only messages to these addresses; an address that ends in `*` is a prefix.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> [(message.kind, message.address) for message in store.messages()]
    [('execute', 'poll://any@workers')]
)doc")
      .def("acknowledge", &acknowledge, py::arg("numbers"), R"doc(
Acknowledge delivered messages: take those with these numbers out of the outbox (PROTOCOL 5).

Args:
    numbers: `Message.number` of each. Numbers that are no longer in the outbox are skipped.

Returns:
    The numbers that were removed, in order. If several callers acknowledge one message, only one of them gets its number.

Raises:
    Closed: The store is closed.
    StoreError: The commit failed; no message was removed.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.acknowledge([message.number for message in store.messages()])
    [1]
)doc")
      .def("lease_messages", &lease_messages, py::arg("numbers"), py::kw_only(), py::arg("holder"), py::arg("lease"), R"doc(
Reserve messages for one of several processes that deliver messages of this store (PROTOCOL 5).

Until the lease ends, no other holder gets these messages, so that a message is delivered by one process; if that process stops,
another one gets them once the lease has ended. The messages stay in the outbox until they are acknowledged.

Args:
    numbers: `Message.number` of each. Numbers that are no longer in the outbox are skipped.
    holder: A name of the process, unique among those that deliver. It may renew its own leases.
    lease: The length of the lease, from now, in ms or as a timedelta. 0 ends the holder's lease.

Returns:
    The numbers that this holder has now, or has given up, in order. The others are leased by another holder, or gone.

Raises:
    Invalid: The holder is empty, or the lease is negative.
    Closed: The store is closed.
    StoreError: The commit failed; no lease has changed.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.lease_messages([1], holder="first", lease=10_000)
    [1]
    >>> store.lease_messages([1], holder="second", lease=10_000)
    []
    >>> store.messages()[0].leased_until
    10000
)doc")
      .def(
          "on_message",
          [](const Shown<"resonate_core._core.Store">& self, const Str& scheme,
             const Shown<"collections.abc.Callable[[resonate_core._core.Message], typing.Any]">& handler,
             const OptionalBool& background) {
            return Shown<"resonate_core.calls.delivery.Subscription">(
                call(member_of_module("resonate_core.calls.delivery", "on_message"), self, scheme, handler, background));
          },
          py::arg("scheme"), py::arg("handler"), py::kw_only(), py::arg("background") = py::none(), R"doc(
Pass the messages of all addresses with this scheme to a function of this process (PROTOCOL 5).

A message is delivered when the function returns; if it raises, it gets the message again after a growing delay. The function is called
with one message at a time, at least once, and should return soon. Every exception in the thread is logged, even SystemExit.
When the program ends, the function gets 1 s to return.

Args:
    scheme: The text before the colon of the addresses, in lower case.
    handler: The function; it gets a `Message`.
    background: Whether a thread calls it as soon as a message is queued; otherwise `deliver` calls it. Default: a thread
        with a system clock, `deliver` with a manual clock, so that runs are repeatable.

Returns:
    A Subscription, whose `close` ends it. It ends with the store too: keep the store or the Subscription for as long as the function
    is to be called, because a function that refers to the store does not keep it.

Raises:
    Invalid: The scheme is empty or has a handler already.
    TypeError: `handler` is not callable.

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
            return py::cast<std::size_t>(call(member_of_module("resonate_core.calls.delivery", "deliver"), self));
          },
          R"doc(
Deliver the waiting messages to the functions of `on_message`, in the order of queueing, and return their number.

An exception of a function is logged and does not affect the others.

Raises:
    Invalid: A function that it calls calls `deliver` again.
    Closed: The store is closed.
    StoreError: Delivered messages could not be removed from the outbox, and will be delivered again.

Example:
    >>> rc.Store(clock=rc.ManualClock()).deliver()
    0
)doc")
      .def("outbox_counts", &outbox_counts, R"doc(
Return the number of undelivered messages, and of unblocks that were dropped after `unblock_retention` since the store was
created.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.outbox_counts()
    {'waiting': 1, 'dropped': 0}
)doc")
      .def("take_messages", &take_messages, py::arg("limit") = py::none(), py::kw_only(), py::arg("addresses") = py::none(), R"doc(
Take messages out of the outbox in the order of queueing, which acknowledges their delivery (PROTOCOL 5).

Args:
    limit: The maximum of messages.
    addresses: Only messages to these addresses; an address that ends in `*` is a prefix. The others stay queued.

Returns:
    Dicts of `key`, `address` and `message`, the last as on the wire.

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
