// Version 2025-01-15: its records on the wire. Headers and data are always present; a task has an id and a version.
#pragma once

#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/strings_encode.hpp"
#include "resonate/records.hpp"
#include "resonate/rules.hpp"

namespace resonate::dialect_2025_01_15 {

template <DocumentSink Sink>
void encode_value(Sink& sink, const Value& value) {
  sink.begin_object();
  sink.key(Field::headers);
  encode_strings(sink, value.headers ? *value.headers : StringMap());
  write_text(sink, Field::data, value.data ? std::string_view(*value.data) : std::string_view());
  sink.end_object();
}

template <DocumentSink Sink>
void encode_task(Sink& sink, const Row& row) {
  sink.begin_object();
  write_text(sink, Field::id, row.id());
  write_integer(sink, Field::version, shown_version(dialect(DialectId::k2025_01_15), row.task, row.acquisitions));
  sink.end_object();
}

}  // namespace resonate::dialect_2025_01_15
