// Encodes a map of strings, for all records.
#pragma once

#include "codec/node.hpp"
#include "resonate/records.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_strings(Sink& sink, const StringMap& strings) {
  sink.begin_object();
  for (const auto& [key, text] : strings) {
    sink.key(std::string_view(key));
    sink.string(text);
  }
  sink.end_object();
}

}  // namespace resonate
