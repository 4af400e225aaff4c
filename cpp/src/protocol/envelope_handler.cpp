#include "protocol/envelope_handler.hpp"

#include <utility>

namespace resonate {

Refusal refusal_of(const ReplyHead& head, int status, std::string message) {
  return {.kind = std::string(name_of(head.kind, head.dialect)),
          .corr_id = head.corr_id,
          .version = std::string(dialect(head.dialect).version),
          .status = status,
          .message = std::move(message)};
}

int status_of(const Answer& answer) noexcept {
  if (const auto* answered = std::get_if<Answered>(&answer)) return answered->reply.status;
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return refusal->status;
  return status::kOk;
}

namespace {

// A refused envelope keeps its position in a batch as this request, which every engine refuses.
Request placeholder() { return {.dialect = DialectId::k2026_04_01, .operation = PromiseGet{}}; }

// A decoded batch: the requests for the engine, and an answer for each envelope.
struct DecodedBatch {
  std::vector<Request> requests;
  std::vector<std::optional<Instant>> nows;
  std::vector<Answer> answers;
};

bool is_debug(const Decoded& envelope) {
  const auto* known = std::get_if<Envelope>(&envelope);
  return known && is_debug(known->head.kind);
}

// In an atomic batch that a refused envelope undid, the other answers repeat the refusal's message. If another request undid the
// batch first, the refused envelope is answered as a conflict.
void name_refusals(std::vector<Answer>& answers, std::vector<Reply>& replies) {
  for (std::size_t at = 0; at < answers.size(); ++at) {
    auto* refusal = std::get_if<Refusal>(&answers[at]);
    if (!refusal) continue;
    if (replies[at].status == status::kConflict) {
      refusal->status = status::kConflict;
      refusal->message = replies[at].error;
      continue;
    }
    const std::string why = "undone: request " + std::to_string(at) + " of the batch was refused with " +
                            std::to_string(refusal->status) + ": " + refusal->message;
    for (Reply& reply : replies) reply.error = why;
  }
}

Reply refusal_of_submission(int status, std::string why) {
  Reply refusal;
  refusal.status = status;
  refusal.error = std::move(why);
  return refusal;
}

}  // namespace

std::variant<Request, Reply> decode_submission(const std::string& text) {
  Decoded decoded = EnvelopeHandler::decode_json(text);
  if (auto* const refusal = std::get_if<Refusal>(&decoded))
    return refusal_of_submission(refusal->status, std::move(refusal->message));
  auto* const request = std::get_if<Request>(&std::get<Envelope>(decoded).operation);
  if (!request || is_read(request->operation))
    return refusal_of_submission(status::kInvalid, "a submitted request must change something, since no client gets its reply");
  return std::move(*request);
}

EnvelopeHandler::EnvelopeHandler(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) { limit_submissions({}); }

void EnvelopeHandler::limit_submissions(const SubmissionLimits& limits) {
  const auto decode = [limits](const std::string& text, Instant now) -> std::variant<Request, Reply> {
    if (nests_deeper(text, limits.nesting)) return refusal_of_submission(status::kInvalid, nests_too_deep(limits.nesting));
    std::variant<Request, Reply> decoded = decode_submission(text);
    if (auto* const request = std::get_if<Request>(&decoded))
      if (auto problem = exceeded_limit(request->operation, limits.of_request, now))
        return refusal_of_submission(status::kInvalid, *std::move(problem));
    return decoded;
  };
  engine_->accept_submissions(decode, limits.body_bytes);
}

bool EnvelopeHandler::takes_debug_time() const { return engine_->options().debug && engine_->clock()->manual(); }

Answer EnvelopeHandler::run(Decoded envelope, std::optional<Instant> now) {
  if (auto* refusal = std::get_if<Refusal>(&envelope)) return std::move(*refusal);
  auto& known = std::get<Envelope>(envelope);
  if (is_debug(known.head.kind)) return run_debug(known, now);
  if (known.debug_time && takes_debug_time()) now = known.debug_time;
  Reply reply = engine_->apply(std::get<Request>(std::move(known.operation)), now);
  return Answered{std::move(known.head), std::move(reply)};
}

std::vector<Answer> EnvelopeHandler::run(std::vector<Decoded> envelopes, std::optional<Instant> now, Atomicity atomicity) {
  DecodedBatch batch;
  if (envelopes.size() == 1 && (atomicity == Atomicity::independent || is_debug(envelopes.front()))) {
    batch.answers.push_back(run(std::move(envelopes.front()), now));
    return std::move(batch.answers);
  }
  batch.requests.reserve(envelopes.size());  // requests and answers are large: reserving avoids moving them
  batch.nows.reserve(envelopes.size());
  batch.answers.reserve(envelopes.size());
  const bool own_times = takes_debug_time();
  for (Decoded& envelope : envelopes) {
    std::optional<Instant> at = now;
    if (auto* refusal = std::get_if<Refusal>(&envelope)) {
      batch.answers.emplace_back(std::move(*refusal));
    } else if (auto& known = std::get<Envelope>(envelope); is_debug(known.head.kind)) {
      batch.answers.emplace_back(engine_->options().debug
                                     ? refusal_of(known.head, status::kInvalid, "debug operations have no place in a batch")
                                     : refusal_of(known.head, status::kForbidden, "debug operations are not served"));
    } else {
      if (known.debug_time && own_times) at = known.debug_time;
      batch.nows.push_back(at);
      batch.requests.push_back(std::get<Request>(std::move(known.operation)));
      batch.answers.emplace_back(Answered{std::move(known.head), {}});
      continue;
    }
    if (atomicity == Atomicity::all_or_nothing) {
      batch.nows.push_back(std::nullopt);
      batch.requests.push_back(placeholder());
    }
  }
  std::vector<Reply> replies = engine_->apply(std::move(batch.requests), batch.nows, atomicity);
  if (atomicity == Atomicity::all_or_nothing) name_refusals(batch.answers, replies);
  auto reply = replies.begin();
  for (Answer& answer : batch.answers) {
    if (auto* answered = std::get_if<Answered>(&answer)) {
      answered->reply = std::move(*reply++);
    } else if (atomicity == Atomicity::all_or_nothing) {
      ++reply;
    }
  }
  return std::move(batch.answers);
}

// Makes the store see `now` without running steps, as a read does. Returns the problem if it cannot.
std::optional<std::string> EnvelopeHandler::move_to(std::optional<Instant> now) {
  if (!now) return std::nullopt;
  Reply reply = engine_->apply(Request{.dialect = DialectId::k2026_04_01, .operation = PromiseGet{"debug"}}, now);
  if (reply.status != status::kInvalid) return std::nullopt;
  return std::move(reply.error);
}

Answer EnvelopeHandler::run_debug(const Envelope& envelope, std::optional<Instant> now) {
  const ReplyHead& head = envelope.head;
  const auto& operation = std::get<DebugOperation>(envelope.operation);
  if (!engine_->options().debug) return refusal_of(head, status::kForbidden, "debug operations are not served");
  if (!operation.problem.empty()) return refusal_of(head, status::kInvalid, operation.problem);
  if (envelope.debug_time && takes_debug_time()) now = envelope.debug_time;
  DebugAnswered answer{head, std::nullopt};
  try {
    switch (head.kind) {
      case Kind::debug_tick: (void)engine_->tick(operation.time); break;
      case Kind::debug_start:
      case Kind::debug_stop:
        (void)engine_->tick(now);
        engine_->set_paused(head.kind == Kind::debug_start);
        break;
      case Kind::debug_reset:
        if (auto problem = move_to(now)) return refusal_of(head, status::kInvalid, std::move(*problem));
        engine_->reset();
        break;
      default:  // debug.snap
        if (auto problem = move_to(now)) return refusal_of(head, status::kInvalid, std::move(*problem));
        answer.snapshot = engine_->with_snapshot([this](Storage& storage) { return view_of(storage, engine_->options()); });
    }
  } catch (const Error& error) {  // an instant that is not allowed for the store
    if (error.code() != ErrorCode::invalid) throw;
    return refusal_of(head, status::kInvalid, error.what());
  }
  return answer;
}

}  // namespace resonate
