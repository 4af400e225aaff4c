// EnvelopeHandler: runs decoded envelopes. It serves debug.*, applies head.resonate:debug_time, and keeps the order of the answers
// if some envelopes of a batch are malformed.
//
// A call has three steps, so that a caller whose documents need a lock (Python objects) holds it for the first and the last one
// only:
//   Decoded in  = decode_envelope(node);     (decode.hpp)
//   Answer out  = handler.run(std::move(in), now);
//   encode_answer(sink, out);                (encode_answer.hpp)
// It is as thread-safe as the engine. It throws Error for faults (storage, closed), never for a malformed or refused envelope.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/state_view.hpp"
#include "protocol/admission.hpp"
#include "protocol/envelope.hpp"
#include "resonate/engine.hpp"

namespace resonate {

class JsonNode;

struct Answered {
  ReplyHead head;
  Reply reply;
};
struct DebugAnswered {
  ReplyHead head;
  std::optional<StateView> snapshot;  // for debug.snap
};
using Answer = std::variant<Answered, Refusal, DebugAnswered>;

int status_of(const Answer& answer) noexcept;
// The answer to an envelope that the server refuses, with its message.
Refusal refusal_of(const ReplyHead& head, int status, std::string message);

// The most bytes that `submit` writes, and that the table of submissions in PostgreSQL holds in a row.
inline constexpr std::size_t kLongestSubmission = 16 << 20;
// Decodes the text of a submission (storage.hpp); a Reply says why it is refused.
std::variant<Request, Reply> decode_submission(const std::string& text);

// Limits of submitted requests, which no server has checked: those of a server's settings. Without a server these are its defaults,
// and durations are not limited, as for all requests of a store in process.
struct SubmissionLimits {
  std::size_t body_bytes = 2 << 20;
  std::size_t nesting = 64;
  RequestLimits of_request = {.id_bytes = 2048, .tags = 256, .list_length = 10'000};
};

class EnvelopeHandler {
 public:
  explicit EnvelopeHandler(std::shared_ptr<Engine> engine);

  Answer run(Decoded envelope, std::optional<Instant> now = {});
  // Runs the envelopes in one transaction, in order. debug.* is refused in a batch of several.
  std::vector<Answer> run(std::vector<Decoded> envelopes, std::optional<Instant> now, Atomicity atomicity);

  // Submitted requests beyond these limits are refused when they would run.
  void limit_submissions(const SubmissionLimits& limits);

  // True between debug.start and debug.stop: background loops must not tick or deliver.
  bool paused() const noexcept { return engine_->paused(); }

  // Decodes a text. If it is not JSON, the result is a Refusal.
  static Decoded decode_json(std::string_view text);
  static Decoded decode_json(const JsonNode& node);
  static std::string encode_json(const Answer& answer);

  // Runs the envelope in a text; always returns an answer.
  std::string apply_json(std::string_view text, std::optional<Instant> now = {});
  std::vector<std::string> apply_json(std::span<const std::string_view> texts, std::optional<Instant> now, Atomicity atomicity);

 private:
  Answer run_debug(const Envelope& envelope, std::optional<Instant> now);
  std::optional<std::string> move_to(std::optional<Instant> now);
  bool takes_debug_time() const;

  std::shared_ptr<Engine> engine_;
};

}  // namespace resonate
