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
  py::class_<MessageRecord> bound(module, "Message");
  bound.def_property_readonly("kind", [](const MessageRecord& self) { return kind_of(*self.message); })
      .def_property_readonly("id", [](const MessageRecord& self) { return self.message->id; })
      .def_property_readonly("version", &message_version)
      .def_property_readonly("address", [](const MessageRecord& self) { return self.message->address; })
      .def_property_readonly("attempts", [](const MessageRecord& self) { return self.message->attempts; })
      .def_property_readonly("queued_at", [](const MessageRecord& self) { return self.message->queued_at; })
      .def_property_readonly("key", [](const MessageRecord& self) { return key_of(*self.message); })
      .def_property_readonly("number", [](const MessageRecord& self) { return self.message->seq; })
      .def_property_readonly("holder",
                             [](const MessageRecord& self) {
                               return self.message->holder.empty() ? std::nullopt : std::optional(self.message->holder);
                             })
      .def_property_readonly("leased_until",
                             [](const MessageRecord& self) {
                               return self.message->holder.empty() ? std::nullopt : std::optional(self.message->leased_until);
                             })
      .def_property_readonly("stale", [](const MessageRecord& self) { return self.stale; })
      .def("to_json", &message_json, py::arg("server_url") = py::none())
      .def_property_readonly("message", &message_body);
  def_record(bound, RecordTraits<MessageRecord>{.to_dict = message_record_dict,
                                                .from_dict = message_from_dict,
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
  py::class_<Fired> bound(module, "Fired");
  bound.def_property_readonly("kind", [](const Fired& self) { return name_of(self.kind); })
      .def_property_readonly("id", [](const Fired& self) { return self.id; })
      .def_property_readonly("at", [](const Fired& self) { return self.at; })
      .def_property_readonly("now", [](const Fired& self) { return self.now; })
      .def_property_readonly("detail", &fired_detail);
  def_record(bound, RecordTraits<Fired>{.to_dict = fired_dict,
                                        .from_dict = fired_from_dict,
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
  py::class_<Violation> bound(module, "Violation");
  bound.def_property_readonly("name", [](const Violation& self) { return self.name; })
      .def_property_readonly("id", [](const Violation& self) { return self.id; })
      .def_property_readonly("detail", [](const Violation& self) { return self.detail; });
  def_record(bound, RecordTraits<Violation>{.to_dict = violation_dict,
                                            .from_dict = violation_from_dict,
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
