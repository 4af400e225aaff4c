// EnvelopeDoor: decoded envelopes in, answers out. It serves debug.*, applies head.resonate:debug_time and keeps the order of
// answers where some envelopes of a batch were malformed.
//
// Three steps, so that a caller whose documents need a lock (Python objects) holds it for the first and the last only:
//   Decoded in  = decode_envelope(node);     (decode.hpp)
//   Answer out  = door.run(std::move(in), now);
//   encode_answer(sink, out);                (below)
// Thread-safe as the engine is. Throws Error for faults (storage, closed), never for what a client sent.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/node.hpp"
#include "codec/state_view.hpp"
#include "protocol/decode.hpp"
#include "protocol/encode.hpp"
#include "protocol/envelope.hpp"
#include "resonate/engine.hpp"

namespace resonate {

struct Answered {
  ReplyHead head;
  Reply reply;
};
struct DebugAnswered {
  ReplyHead head;
  std::optional<StateView> snapshot;  // debug.snap
};
using Answer = std::variant<Answered, Refusal, DebugAnswered>;

int status_of(const Answer& answer) noexcept;
// An envelope that is not let in, answered in its own words.
Refusal refusal_of(const ReplyHead& head, int status, std::string message);

class EnvelopeDoor {
 public:
  explicit EnvelopeDoor(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  Answer run(Decoded envelope, std::optional<Instant> now = {});
  // In one transaction, in order. debug.* has no place in a batch of several.
  std::vector<Answer> run(std::vector<Decoded> envelopes, std::optional<Instant> now, Atomicity atomicity);

  // Between debug.start and debug.stop: whoever ticks and delivers on its own is asked to wait.
  bool paused() const noexcept { return engine_->paused(); }

  // Why it is not JSON, or what it says: a Decoded in any case.
  static Decoded decode_json(std::string_view text);
  static std::string encode_json(const Answer& answer);

  // The text of one envelope; an answer in any case.
  std::string apply_json(std::string_view text, std::optional<Instant> now = {});
  std::vector<std::string> apply_json(std::span<const std::string_view> texts, std::optional<Instant> now, Atomicity atomicity);

  // The same for any document, where nothing has to be locked.
  template <DocumentNode Node, DocumentSink Sink>
  void apply(const Node& document, Sink& sink, std::optional<Instant> now = {});

 private:
  Answer run_debug(const Envelope& envelope, std::optional<Instant> now);
  std::optional<std::string> move_to(std::optional<Instant> now);
  bool takes_debug_time() const;

  std::shared_ptr<Engine> engine_;
};

template <DocumentSink Sink>
void encode_answer(Sink& sink, const Answer& answer) {
  if (const auto* answered = std::get_if<Answered>(&answer)) return encode_reply(sink, answered->head, answered->reply);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return encode_refusal(sink, *refusal);
  const auto& debug = std::get<DebugAnswered>(answer);
  encode_debug_reply(sink, debug.head, debug.snapshot ? &*debug.snapshot : nullptr);
}

template <DocumentNode Node, DocumentSink Sink>
void EnvelopeDoor::apply(const Node& document, Sink& sink, std::optional<Instant> now) {
  encode_answer(sink, run(decode_envelope(document), now));
}

}  // namespace resonate
