#include "protocol/jobs_json.hpp"

#include "protocol/json_document.hpp"
#include "protocol/json_sink.hpp"
#include "protocol/jobs_decode.hpp"
#include "protocol/jobs_encode.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

template <class Read>
auto read(std::string_view json, Read read_node) {
  const JsonDocument document(json);
  if (!document.problem().empty()) throw Error(ErrorCode::storage, "a stored job or queue is damaged: " + document.problem());
  try {
    return document.visit(read_node);
  } catch (const Malformed& malformed) {
    throw Error(ErrorCode::storage, "a stored job or queue is damaged: " + malformed.message);
  }
}

template <class Whole>
std::string to_json(const Whole& whole) {
  JsonSink sink;
  detail::JobEncoder<JsonSink>(sink).whole(whole);
  return sink.take();
}

}  // namespace

std::string job_to_json(const Job& job) { return to_json(job); }

std::string queue_to_json(const Queue& queue) { return to_json(queue); }

Shared<const Job> job_of_json(std::string_view json) {
  return read(json, [](const auto& node) { return detail::read_job(node, nullptr); });
}

QueueRef queue_of_json(std::string_view json) {
  return read(json, [](const auto& node) { return detail::read_queue(node, nullptr); });
}

}  // namespace resonate
