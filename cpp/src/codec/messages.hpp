// Outbox messages: their keys and their form on the wire (PROTOCOL 5).
#pragma once

#include <string>
#include <string_view>

#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/records_encode.hpp"

namespace resonate {

// "execute:<task id>" or "unblock:<promise id>:<address>", in every dialect.
std::string key_of(const OutboxMessage& message);

// The message's kind in its dialect: execute or unblock; invoke, resume or notify.
std::string_view kind_of(const OutboxMessage& message) noexcept;
// Its inverse: sets kind, dialect and resume. Returns false if no message has such a kind.
bool set_kind(OutboxMessage& message, std::string_view kind) noexcept;

// `record`: the settled promise of an unblock. `server_url`: the URL for the requests of an execute's receiver, sent in 2026-04-01
// (PROTOCOL 5); empty: it is not sent.
template <DocumentSink Sink>
void encode_message(Sink& sink, const OutboxMessage& message, const RowRef& record, std::string_view server_url = {}) {
  sink.begin_object();
  write_text(sink, Field::kind, kind_of(message));
  sink.key(Field::head);
  sink.begin_object();
  if (message.kind == MessageKind::execute && dialect(message.dialect).messages_name_server && !server_url.empty()) {
    write_text(sink, Field::server_url, server_url);
  }
  sink.end_object();
  sink.key(Field::data);
  sink.begin_object();
  if (message.kind == MessageKind::execute) {
    sink.key(Field::task);
    sink.begin_object();
    write_text(sink, Field::id, message.id);
    write_integer(sink, Field::version, message.version);
    sink.end_object();
  } else if (record) {
    sink.key(Field::promise);
    encode_promise(sink, message.dialect, *record);
  }
  sink.end_object();
  sink.end_object();
}

}  // namespace resonate
