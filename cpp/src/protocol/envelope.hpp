// Decoded envelopes, and the parts of them that an answer needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "codec/kinds.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// The members of a request that its answer repeats.
struct ReplyHead {
  Kind kind = Kind::promise_get;
  Kind fenced = Kind::promise_create;  // fence: the kind of its action
  DialectId dialect = DialectId::k2026_04_01;
  std::string corr_id;
};

inline ReplyHead head_of(const Request& request, std::string corr_id) {
  ReplyHead head{.kind = kind_of(request.operation), .dialect = request.dialect, .corr_id = std::move(corr_id)};
  if (const auto* fence = std::get_if<TaskFence>(&request.operation)) {
    if (std::holds_alternative<PromiseSettle>(fence->action)) head.fenced = Kind::promise_settle;
  }
  return head;
}

// A debug.* request; head.kind tells which. Its data is checked only if debug operations are served.
struct DebugOperation {
  Instant time = 0;     // debug.tick
  std::string problem;  // why it is answered with 400; empty: it can run
};

struct Envelope {
  ReplyHead head;
  std::string auth;  // head.auth, for authentication
  std::optional<Instant> debug_time;
  std::variant<Request, DebugOperation> operation;
};

// The answer to a request that is not run.
struct Refusal {
  std::string kind = "unknown";
  std::string corr_id = "0";
  std::string version = "2026-04-01";
  int status = status::kInvalid;
  std::string message;
};

using Decoded = std::variant<Envelope, Refusal>;

// decode.hpp:
//   template <DocumentNode Node> Decoded decode_envelope(const Node& document);
// encode.hpp:
//   template <DocumentSink Sink> void encode_reply(Sink&, const ReplyHead&, const Reply&);
//   template <DocumentSink Sink> void encode_refusal(Sink&, const Refusal&);
// messages.hpp:
//   template <DocumentSink Sink> void encode_message(Sink&, const OutboxMessage&, const RowRef& record);

}  // namespace resonate
