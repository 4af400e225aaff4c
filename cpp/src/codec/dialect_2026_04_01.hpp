// Version 2026-04-01: its records on the wire. Members that were not given are left out.
#pragma once

#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/strings_encode.hpp"
#include "resonate/records.hpp"
#include "resonate/rules.hpp"

namespace resonate::dialect_2026_04_01 {

template <DocumentSink Sink>
void encode_value(Sink& sink, const Value& value) {
  sink.begin_object();
  if (value.headers) {
    sink.key(Field::headers);
    encode_strings(sink, *value.headers);
  }
  if (value.data) {
    write_text(sink, Field::data, *value.data);
  }
  sink.end_object();
}

template <DocumentSink Sink>
void encode_task(Sink& sink, const Row& row) {
  sink.begin_object();
  write_text(sink, Field::id, row.id());
  write_text(sink, Field::state, name_of(row.task));
  write_integer(sink, Field::version, shown_version(dialect(DialectId::k2026_04_01), row.task, row.acquisitions));
  write_integer(sink, Field::resumes, row.resumes ? static_cast<std::int64_t>(row.resumes->items.size()) : 0);
  if (row.task == TaskState::acquired) {
    write_integer(sink, Field::ttl, row.ttl);
    write_text(sink, Field::pid, row.pid ? std::string_view(row.pid->text) : std::string_view());
  }
  sink.end_object();
}

}  // namespace resonate::dialect_2026_04_01
