// Requests that programs have submitted: a request that writes to a durable store, and a tick, first run those that wait, as many
// as keep the transaction short.
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine_transaction.hpp"
#include "machine/plan.hpp"

namespace resonate {

namespace {

// The most submissions of one transaction.
constexpr std::size_t kSubmissionsAtOnce = 100;
// The most bytes of their texts, beside the last one's.
constexpr std::size_t kSubmittedBytesAtOnce = 1 << 20;
constexpr std::size_t kErrorBytes = 1000;  // of a refusal that is kept

// The beginning of a text that may repeat what a program submitted.
std::string beginning_of(std::string text) {
  if (text.size() <= kErrorBytes) return text;
  std::size_t end = kErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end -= 1;  // do not cut a UTF-8 character
  text.resize(end);
  return text + "...";
}

}  // namespace

// Runs requests that programs have submitted, in order: as many as fit into one transaction, at least one. A refused request is
// kept with its status.
Engine::Submitted Engine::run_submissions(Transaction& transaction, Instant now) {
  if (!decode_submission_) return Submitted::none;
  const std::vector<Submission> waiting =
      storage_->submissions({.limit = kSubmissionsAtOnce, .longest = longest_submission_, .together = kSubmittedBytesAtOnce});
  std::vector<std::variant<Request, Reply>> decoded;
  decoded.reserve(waiting.size());
  std::size_t bytes = 0;
  std::size_t records = 0;
  for (const Submission& submission : waiting) {
    decoded.push_back(decode(submission, now));
    if (const auto* const request = std::get_if<Request>(&decoded.back())) records += records_of(request->operation);
    if (records > kRecordsOfCommit && decoded.size() > 1) {
      decoded.pop_back();
      break;
    }
    bytes += submission.bytes;
  }
  Plan plan;
  for (const auto& one : decoded)
    if (const auto* const request = std::get_if<Request>(&one)) plan.add(request->operation);
  plan.load(transaction.set);
  for (std::size_t at = 0; at < decoded.size(); ++at) {
    auto* const request = std::get_if<Request>(&decoded[at]);
    Reply reply = request ? run(transaction, *request, now) : std::get<Reply>(std::move(decoded[at]));
    transaction.set.end_submission({.number = waiting[at].number,
                                    .text = {},
                                    .bytes = 0,
                                    .status = reply.ok() ? 0 : reply.status,
                                    .error = beginning_of(std::move(reply.error))});
  }
  if (decoded.size() < waiting.size()) return Submitted::long_work;
  return waiting.size() == kSubmissionsAtOnce || bytes >= kSubmittedBytesAtOnce ? Submitted::more : Submitted::none;
}

std::variant<Request, Reply> Engine::decode(const Submission& submission, Instant now) const {
  if (submission.bytes > longest_submission_)
    return refused(status::kTooLarge,
                   "request must have at most " + std::to_string(longest_submission_) + " bytes (limits.body_bytes), got " +
                       std::to_string(submission.bytes),
                   now);
  std::variant<Request, Reply> decoded = decode_submission_(submission.text, now);
  if (const auto* const request = std::get_if<Request>(&decoded))
    if (std::optional<std::string> problem = refuse_request(*request)) return refused(status::kInvalid, *std::move(problem), now);
  return decoded;
}

}  // namespace resonate
