// Encodes records in a dialect, for replies, messages and snapshots.
#pragma once

#include "codec/dialect_2025_01_15.hpp"
#include "codec/dialect_2026_04_01.hpp"
#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/strings_encode.hpp"
#include "resonate/records.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_value(Sink& sink, DialectId dialect, const Value& value) {
  if (dialect == DialectId::k2026_04_01) return dialect_2026_04_01::encode_value(sink, value);
  dialect_2025_01_15::encode_value(sink, value);
}

template <DocumentSink Sink>
void encode_promise(Sink& sink, DialectId dialect, const Row& row) {
  const PromiseSpec& promise_spec = *row.promise_spec;
  sink.begin_object();
  write_text(sink, Field::id, promise_spec.id);
  write_text(sink, Field::state, name_of(row.state));
  sink.key(Field::param);
  encode_value(sink, dialect, promise_spec.param);
  sink.key(Field::value);
  encode_value(sink, dialect, row.result());
  sink.key(Field::tags);
  encode_strings(sink, promise_spec.tags);
  write_integer(sink, Field::timeout_at, promise_spec.timeout_at);
  write_integer(sink, Field::created_at, promise_spec.created_at);
  if (row.state != PromiseState::pending) {
    write_integer(sink, Field::settled_at, row.settled_at);
  }
  sink.end_object();
}

template <DocumentSink Sink>
void encode_task(Sink& sink, DialectId dialect, const Row& row) {
  if (dialect == DialectId::k2026_04_01) return dialect_2026_04_01::encode_task(sink, row);
  dialect_2025_01_15::encode_task(sink, row);
}

}  // namespace resonate
