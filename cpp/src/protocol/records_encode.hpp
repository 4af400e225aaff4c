// Records as a dialect shows them. Reusable by replies, messages and snapshots.
#pragma once

#include "protocol/dialect_2025_01_15.hpp"
#include "protocol/dialect_2026_04_01.hpp"
#include "protocol/node.hpp"
#include "protocol/strings_encode.hpp"
#include "resonate/records.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_value(Sink& sink, DialectId dialect, const Value& value) {
  if (dialect == DialectId::k2026_04_01) return dialect_2026_04_01::encode_value(sink, value);
  dialect_2025_01_15::encode_value(sink, value);
}

template <DocumentSink Sink>
void encode_promise(Sink& sink, DialectId dialect, const Projected& shown) {
  const Birth& birth = *shown.row().birth;
  sink.begin_object();
  sink.key(Field::id);
  sink.string(birth.id);
  sink.key(Field::state);
  sink.string(name_of(shown.state()));
  sink.key(Field::param);
  encode_value(sink, dialect, birth.param);
  sink.key(Field::value);
  encode_value(sink, dialect, shown.value());
  sink.key(Field::tags);
  encode_strings(sink, birth.tags);
  sink.key(Field::timeout_at);
  sink.integer(birth.timeout_at);
  sink.key(Field::created_at);
  sink.integer(birth.created_at);
  if (!shown.pending()) {
    sink.key(Field::settled_at);
    sink.integer(shown.settled_at());
  }
  sink.end_object();
}

template <DocumentSink Sink>
void encode_task(Sink& sink, DialectId dialect, const Projected& shown) {
  if (dialect == DialectId::k2026_04_01) return dialect_2026_04_01::encode_task(sink, shown);
  dialect_2025_01_15::encode_task(sink, shown);
}

}  // namespace resonate
