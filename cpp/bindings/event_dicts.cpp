#include "event_dicts.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>

#include "codec/fired_decode.hpp"
#include "codec/fired_encode.hpp"
#include "codec/messages.hpp"
#include "codec/records_decode.hpp"
#include "python_sink.hpp"

namespace resonate::python {

namespace {

constexpr const char* kKey = "key";
constexpr const char* kDetail = "detail";
constexpr const char* kHolder = "holder";
constexpr const char* kLeasedUntil = "leasedUntil";
constexpr const char* kStale = "stale";

// Members that have no number among the fields: the wire does not have them.
const PythonNode* find_named(const PythonNode& object, std::string_view name, std::optional<PythonNode>& found) {
  object.each_member([&](std::string_view key, PythonNode value) {
    if (key == name) found = value;
  });
  return found ? &*found : nullptr;
}

PythonNode need_named(const PythonNode& object, std::string_view name) {
  std::optional<PythonNode> found;
  if (const PythonNode* node = find_named(object, name, found)) return *node;
  throw Malformed{std::string(name) + " is missing"};
}

// The id of an unblock whose promise is gone: its key is "unblock:<id>:<address>".
std::string id_in_key(const PythonNode& node, const std::string& address) {
  const Path path(std::string_view(kKey), nullptr);
  const PythonNode given = need_named(node, kKey);
  const std::string_view key = read_text(given, path);
  const std::string_view prefix = "unblock:";
  const std::string suffix = ":" + address;
  if (!key.starts_with(prefix) || !key.ends_with(suffix) || key.size() < prefix.size() + suffix.size())
    refuse_type(given, path, "unblock:<id>:<address>");
  return std::string(key.substr(prefix.size(), key.size() - prefix.size() - suffix.size()));
}

}  // namespace

JsonDict message_body(const MessageRecord& record) {
  PythonSink sink;
  encode_message(sink, *record.message, record.record);
  return JsonDict(sink.take());
}

JsonDict message_dict(const MessageRecord& record) {
  py::dict made;
  made[kKey] = key_of(*record.message);
  made["address"] = record.message->address;
  made["message"] = message_body(record);
  return JsonDict(std::move(made));
}

JsonDict message_record_dict(const MessageRecord& record) {
  const OutboxMessage& message = *record.message;
  JsonDict made = message_dict(record);
  const auto set = [&made](const char* name, const py::object& value) { PyDict_SetItemString(made.ptr(), name, value.ptr()); };
  set("attempts", py::int_(message.attempts));
  set("queuedAt", py::int_(message.queued_at));
  set("number", py::int_(message.seq));
  if (!message.holder.empty()) {
    set(kHolder, py::str(message.holder));
    set(kLeasedUntil, py::int_(message.leased_until));
  }
  set(kStale, py::bool_(record.stale));
  return made;
}

MessageRecord message_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::address, Field::message, Field::attempts, Field::queued_at, Field::number> members(node,
                                                                                                                      nullptr);
  auto message = make_shared_value<OutboxMessage>();
  MessageRecord made;
  message->address = members.text<Field::address>();
  decode_message(members.need<Field::message>(), members.path(Field::message), *message, made.record);
  if (message->kind == MessageKind::unblock && !made.record) message->id = id_in_key(node, message->address);
  message->attempts = members.optional_integer<Field::attempts>().value_or(0);
  message->queued_at = members.optional_integer<Field::queued_at>().value_or(0);
  message->seq = members.optional_integer<Field::number>().value_or(0);
  std::optional<PythonNode> holder;
  if (find_named(node, kHolder, holder)) {
    message->holder = read_text(*holder, Path(std::string_view(kHolder), nullptr));
    message->leased_until = read_integer(need_named(node, kLeasedUntil), Path(std::string_view(kLeasedUntil), nullptr));
  }
  std::optional<PythonNode> stale;
  if (find_named(node, kStale, stale)) {
    if (stale->type() != NodeType::boolean) refuse_type(*stale, Path(std::string_view(kStale), nullptr), "a boolean");
    made.stale = stale->boolean();
  }
  made.message = std::move(message);
  return made;
}

JsonDict fired_detail(const Fired& fired) {
  PythonSink sink;
  encode_fired_detail(sink, fired);
  return JsonDict(sink.take());
}

JsonDict fired_dict(const Fired& fired) {
  py::dict made;
  made["kind"] = name_of(fired.kind);
  made["id"] = fired.id;
  made["at"] = fired.at;
  made["now"] = fired.now;
  made[kDetail] = fired_detail(fired);
  return JsonDict(std::move(made));
}

Fired fired_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::kind, Field::id, Field::at, Field::now> members(node, nullptr);
  Fired made;
  const std::optional<StepKind> kind = step_kind_named(members.text<Field::kind>());
  if (!kind) refuse_type(members.need<Field::kind>(), members.path(Field::kind), "the kind of an internal step");
  made.kind = *kind;
  made.id = members.text<Field::id>();
  made.at = members.integer<Field::at>();
  made.now = members.integer<Field::now>();
  decode_fired_detail(need_named(node, kDetail), Path(std::string_view(kDetail), nullptr), made);
  return made;
}

JsonDict violation_dict(const Violation& violation) {
  py::dict made;
  made["name"] = violation.name;
  made["id"] = violation.id;
  made[kDetail] = violation.detail;
  return JsonDict(std::move(made));
}

Violation violation_from_dict(const PythonNode& node) {
  const Members<PythonNode, Field::name, Field::id> members(node, nullptr);
  return {.name = members.text<Field::name>(),
          .id = members.text<Field::id>(),
          .detail = std::string(read_text(need_named(node, kDetail), Path(std::string_view(kDetail), nullptr)))};
}

}  // namespace resonate::python
