// Encodes what EnvelopeHandler::run returns.
#pragma once

#include <variant>

#include "codec/node.hpp"
#include "protocol/encode.hpp"
#include "protocol/envelope_handler.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_answer(Sink& sink, const Answer& answer) {
  if (const auto* answered = std::get_if<Answered>(&answer)) return encode_reply(sink, answered->head, answered->reply);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return encode_refusal(sink, *refusal);
  const auto& debug = std::get<DebugAnswered>(answer);
  encode_debug_reply(sink, debug.head, debug.snapshot ? &*debug.snapshot : nullptr);
}

}  // namespace resonate
