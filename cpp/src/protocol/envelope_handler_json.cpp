// The parts of EnvelopeHandler that read and write JSON texts.
#include "codec/json_document.hpp"
#include "codec/json_sink.hpp"
#include "protocol/decode.hpp"
#include "protocol/encode_answer.hpp"
#include "protocol/encode_json.hpp"
#include "protocol/envelope_handler.hpp"

namespace resonate {

template void encode_reply(JsonSink& sink, const ReplyHead& head, const Reply& reply);

Decoded EnvelopeHandler::decode_json(const JsonNode& node) { return decode_envelope(node); }

Decoded EnvelopeHandler::decode_json(std::string_view text) {
  const JsonDocument document(text);
  if (!document.problem().empty()) return Refusal{.message = document.problem()};
  return decode_json(document.node());
}

std::string EnvelopeHandler::encode_json(const Answer& answer) {
  JsonSink sink;
  encode_answer(sink, answer);
  return sink.take();
}

std::string EnvelopeHandler::apply_json(std::string_view text, std::optional<Instant> now) {
  return encode_json(run(decode_json(text), now));
}

std::vector<std::string> EnvelopeHandler::apply_json(std::span<const std::string_view> texts, std::optional<Instant> now,
                                                     Atomicity atomicity) {
  std::vector<Decoded> envelopes;
  envelopes.reserve(texts.size());
  for (const std::string_view text : texts) envelopes.push_back(decode_json(text));
  std::vector<std::string> replies;
  replies.reserve(texts.size());
  for (const Answer& answer : run(std::move(envelopes), now, atomicity)) replies.push_back(encode_json(answer));
  return replies;
}

}  // namespace resonate
