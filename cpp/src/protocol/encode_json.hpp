// The replies of encode.hpp as JSON texts. envelope_handler_json.cpp compiles their encoder, once for all sources.
#pragma once

#include "codec/json_sink.hpp"
#include "protocol/encode.hpp"

namespace resonate {

extern template void encode_reply(JsonSink& sink, const ReplyHead& head, const Reply& reply);

}  // namespace resonate
