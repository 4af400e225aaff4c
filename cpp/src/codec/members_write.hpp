// A member of an object: its key, then its value.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/node.hpp"
#include "resonate/records.hpp"

namespace resonate {

template <DocumentSink Sink>
void write_text(Sink& sink, Field key, std::string_view text) {
  sink.key(key);
  sink.string(text);
}

// Writes a flag that is absent unless it is set.
template <DocumentSink Sink>
void write_if_set(Sink& sink, Field key, bool flag) {
  if (!flag) return;
  sink.key(key);
  sink.boolean(true);
}

template <DocumentSink Sink>
void write_integer(Sink& sink, Field key, std::int64_t number) {
  sink.key(key);
  sink.integer(number);
}

// Writes nothing if the instant is unset.
template <DocumentSink Sink>
void write_instant(Sink& sink, Field key, Instant at) {
  if (at != kUnset) write_integer(sink, key, at);
}

}  // namespace resonate
