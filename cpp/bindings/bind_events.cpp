// Message, Fired, Violation: undelivered messages, internal steps, violated invariants.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "codec/json_sink.hpp"
#include "codec/messages.hpp"
#include "event_dicts.hpp"
#include "record_class.hpp"
#include "record_types.hpp"
#include "resonate/errors.hpp"

namespace resonate::python {

namespace {

// --- Message --------------------------------------------------------------------------------------------------------------------

py::bytes message_json(const MessageRecord& record, const std::optional<std::string>& server_url) {
  JsonSink sink;
  encode_message(sink, *record.message, record.record, server_url.value_or(std::string()));
  return py::bytes(sink.take());
}

std::optional<std::int64_t> message_version(const MessageRecord& record) {
  if (record.message->kind != MessageKind::execute) return std::nullopt;
  return record.message->version;
}

// `resume` shows only in the kinds of 2025-01-15.
bool same_message(const MessageRecord& a, const MessageRecord& b) {
  const OutboxMessage &x = *a.message, &y = *b.message;
  return kind_of(x) == kind_of(y) && x.id == y.id && x.address == y.address && x.version == y.version && x.attempts == y.attempts &&
         x.queued_at == y.queued_at && x.holder == y.holder && x.leased_until == y.leased_until;
}

py::tuple message_identity(const MessageRecord& record) {
  return py::make_tuple(key_of(*record.message), record.message->version, record.message->queued_at);
}

std::string message_repr(const MessageRecord& record) {
  const OutboxMessage& message = *record.message;
  Repr shown("Message");
  shown.with("kind", kind_of(message)).with("id", message.id);
  if (const auto version = message_version(record)) shown.with("version", *version);
  shown.with("address", message.address).with("attempts", message.attempts).with_instant("queued_at", message.queued_at);
  if (!message.holder.empty()) shown.with("holder", message.holder).with_instant("leased_until", message.leased_until);
  return shown.done();
}

void bind_message(py::module_& module) {
  py::class_<MessageRecord> bound(module, "Message", R"doc(
A message in the outbox (PROTOCOL 5). Immutable.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.messages()
    [Message(kind='execute', id='job', version=0, address='poll://any@workers', attempts=0, queued_at=0)]
)doc");
  bound
      .def_property_readonly(
          "kind", [](const MessageRecord& self) { return kind_of(*self.message); },
          "`execute` or `unblock`; in 2025-01-15 `invoke`, `resume` or `notify`.")
      .def_property_readonly(
          "id", [](const MessageRecord& self) { return self.message->id; }, "The id of the pending task or of the settled promise.")
      .def_property_readonly("version", &message_version, "The version with which to acquire the task; None for a settled promise.")
      .def_property_readonly(
          "address", [](const MessageRecord& self) { return self.message->address; }, "Where it goes.")
      .def_property_readonly(
          "attempts", [](const MessageRecord& self) { return self.message->attempts; }, "The number of attempts to deliver it.")
      .def_property_readonly(
          "queued_at", [](const MessageRecord& self) { return self.message->queued_at; }, "When it was queued, in Unix ms.")
      .def_property_readonly(
          "key", [](const MessageRecord& self) { return key_of(*self.message); },
          "Its key: a new message replaces one of the same key.")
      .def_property_readonly(
          "number", [](const MessageRecord& self) { return self.message->seq; },
          "Its number in the order of queueing, unique in the store; `Store.acknowledge` takes it.")
      .def_property_readonly(
          "holder",
          [](const MessageRecord& self) {
            return self.message->holder.empty() ? std::nullopt : std::optional(self.message->holder);
          },
          "The process that leased it last (`Store.lease_messages`), or None.")
      .def_property_readonly(
          "leased_until",
          [](const MessageRecord& self) {
            return self.message->holder.empty() ? std::nullopt : std::optional(self.message->leased_until);
          },
          "The end of that lease in Unix ms, or None.")
      .def_property_readonly(
          "stale", [](const MessageRecord& self) { return self.stale; },
          "Whether it was stale when it was read: its task was already acquired or fulfilled.")
      .def("to_json", &message_json, py::arg("server_url") = py::none(), R"doc(
Return the message as on the wire: JSON in ASCII on one line.

Args:
    server_url: The URL for the receiver's requests, in the head of an execute.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.messages()[0].to_json("http://localhost:8001")
    b'{"kind":"execute","head":{"serverUrl":"http://localhost:8001"},"data":{"task":{"id":"job","version":0}}}'
)doc")
      .def_property_readonly("message", &message_body, "The message as on the wire, a new dict each time.");
  def_record(bound, RecordTraits<MessageRecord>{.to_dict = message_record_dict,
                                                .to_dict_doc = R"doc(
Return the message like `Store.take_messages`: its key, its address, and the message as on the wire; further `attempts`, `queuedAt`,
`number`, `stale`, and, if a process leased it, `holder` and `leasedUntil`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.messages()[0].to_dict()["key"]
    'execute:job'
)doc",
                                                .from_dict = message_from_dict,
                                                .from_dict_doc = R"doc(
Return the message with these members: the inverse of `to_dict`, also for the shorter dicts of `Store.take_messages`.

Those have no `attempts`, `queuedAt`, `number`, `stale` and lease: the record then shows 0, 0, 0, False and None.

Args:
    members: At least `address` and `message`. Unknown members are ignored.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The members are not a mapping.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> rc.Message.from_dict(store.take_messages()[0])
    Message(kind='execute', id='job', version=0, address='poll://any@workers', attempts=0, queued_at=0)
)doc",
                                                .same = same_message,
                                                .identity = message_identity,
                                                .repr = message_repr,
                                                .html = "message_html"});
}

// --- Fired ----------------------------------------------------------------------------------------------------------------------

bool same_fired(const Fired& a, const Fired& b) {
  return a.kind == b.kind && a.id == b.id && a.at == b.at && a.now == b.now && a.detail == b.detail && a.created == b.created;
}

py::tuple fired_identity(const Fired& fired) {
  return py::make_tuple(name_of(fired.kind), fired.id, fired.at, fired.now, fired.detail);
}

std::string fired_repr(const Fired& fired) {
  Repr shown("Fired");
  shown.with("kind", name_of(fired.kind)).with("id", fired.id).with_instant("at", fired.at).with_instant("now", fired.now);
  const JsonDict detail = fired_detail(fired);
  if (py::len(detail) != 0) shown.with("detail", detail);
  return shown.done();
}

void bind_fired(py::module_& module) {
  py::class_<Fired> bound(module, "Fired", R"doc(
An internal step that has run (PROTOCOL 4). Immutable.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
    >>> clock.advance(5000)
    [Fired(kind='promise_timeout', id='a', at=1000, now=1000)]
)doc");
  bound
      .def_property_readonly(
          "kind", [](const Fired& self) { return name_of(self.kind); },
          "`promise_timeout`, `listener_drain`, `callback_drain`, `cancel_drain`, `lease_expiry`, `dispatch`, `schedule`, or a "
          "step of jobs.")
      .def_property_readonly(
          "id", [](const Fired& self) { return self.id; },
          "The id of the promise, task or schedule; for a drain, of the settled promise.")
      .def_property_readonly(
          "at", [](const Fired& self) { return self.at; },
          "When it was due, in Unix ms; for a drain, when the promise was settled.")
      .def_property_readonly(
          "now", [](const Fired& self) { return self.now; }, "When it ran, in Unix ms.")
      .def_property_readonly(
          "detail", &fired_detail,
          "`address` of a listener_drain or dispatch, `awaiter` of a callback_drain, `job` and `cancelled` of a cancel_drain, "
          "`promise_id` and `created` of a schedule; a new dict each time.");
  def_record(bound, RecordTraits<Fired>{.to_dict = fired_dict,
                                        .to_dict_doc = R"doc(
Return all members in a dict.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:external": "true"})
    >>> clock.advance_to_next()[0].to_dict()
    {'kind': 'promise_timeout', 'id': 'a', 'at': 1000, 'now': 1000, 'detail': {}}
)doc",
                                        .from_dict = fired_from_dict,
                                        .from_dict_doc = R"doc(
Return the step with these members: the inverse of `to_dict`.

Args:
    members: As `to_dict` returns them. Unknown members are ignored.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The members are not a mapping.

Example:
    >>> rc.Fired.from_dict({"kind": "promise_timeout", "id": "a", "at": 1000, "now": 1000, "detail": {}})
    Fired(kind='promise_timeout', id='a', at=1000, now=1000)
)doc",
                                        .same = same_fired,
                                        .identity = fired_identity,
                                        .repr = fired_repr,
                                        .html = "fired_html"});
}

// --- Violation ------------------------------------------------------------------------------------------------------------------

bool same_violation(const Violation& a, const Violation& b) { return a.name == b.name && a.id == b.id && a.detail == b.detail; }

py::tuple violation_identity(const Violation& violation) { return py::make_tuple(violation.name, violation.id, violation.detail); }

std::string violation_repr(const Violation& violation) {
  return Repr("Violation").with("name", violation.name).with("id", violation.id).with("detail", violation.detail).done();
}

void bind_violation(py::module_& module) {
  py::class_<Violation> bound(module, "Violation", R"doc(
A violated invariant of PROTOCOL 6. Immutable.

Example:
    >>> rc.Store(clock=rc.ManualClock()).check()
    []
)doc");
  bound
      .def_property_readonly(
          "name", [](const Violation& self) { return self.name; }, "The name of the invariant, such as `orphan_tasks`.")
      .def_property_readonly(
          "id", [](const Violation& self) { return self.id; }, "The id of the promise, task, schedule or message.")
      .def_property_readonly(
          "detail", [](const Violation& self) { return self.detail; }, "The finding, with the values.");
  def_record(bound, RecordTraits<Violation>{.to_dict = violation_dict,
                                            .to_dict_doc = "All members in a dict.",
                                            .from_dict = violation_from_dict,
                                            .from_dict_doc = R"doc(
Return the violation with these members: the inverse of `to_dict`.

Args:
    members: As `to_dict` returns them. Unknown members are ignored.

Raises:
    Invalid: A member is missing or malformed; the error names it and the rule.
    TypeError: The members are not a mapping.

Example:
    >>> rc.Violation.from_dict({"name": "orphan_tasks", "id": "a", "detail": "no promise"})
    Violation(name='orphan_tasks', id='a', detail='no promise')
)doc",
                                            .same = same_violation,
                                            .identity = violation_identity,
                                            .repr = violation_repr,
                                            .html = "violation_html"});
}

}  // namespace

void bind_events(py::module_& module) {
  bind_message(module);
  bind_fired(module);
  bind_violation(module);
}

}  // namespace resonate::python
