#include "codec/jobs_json.hpp"

#include <utility>

#include "codec/job_records_read.hpp"
#include "codec/job_records_write.hpp"
#include "codec/json_sink.hpp"
#include "codec/stored_json.hpp"

namespace resonate {

std::string job_to_json(const Job& job, const SharedString* holder) {
  JsonSink sink;
  detail::JobEncoder<JsonSink>(sink).alone(job, holder);
  return sink.take();
}

std::string queue_to_json(const Queue& queue) {
  JsonSink sink;
  detail::JobEncoder<JsonSink>(sink).whole(queue);
  return sink.take();
}

std::string hour_to_json(const QueueHour& hour) {
  JsonSink sink;
  sink.begin_object();
  detail::DescribedWriter<JsonSink>(sink).members(hour);
  sink.end_object();
  return sink.take();
}

HourRef hour_of_json(std::string_view queue, std::string_view json) {
  return read_stored("hour of a queue", json, [queue](const JsonNode& node) {
    Shared<EndedHour> ended(new EndedHour);
    ended->queue = queue;
    detail::DescribedReader<JsonNode>().read(ended->counted, node, nullptr);
    return HourRef(std::move(ended));
  });
}

std::string order_to_json(const JobOrder& order) {
  JsonSink sink;
  encode_order(sink, order);
  return sink.take();
}

StoredJob job_of_json(std::string_view json) {
  return read_stored("job or queue", json, [](const JsonNode& node) {
    const Members<JsonNode, Field::claimed_by, Field::keepers, Field::kept_callbacks, Field::drained_through> members(node,
                                                                                                                      nullptr);
    const auto holder = members.optional_text<Field::claimed_by>();
    StoredJob stored{detail::read_job(node, nullptr), holder ? Shared<const SharedString>(new SharedString(*holder)) : nullptr};
    stored.job->keepers = members.optional_integer<Field::keepers>().value_or(0);
    stored.job->kept_callbacks = members.optional_integer<Field::kept_callbacks>().value_or(0);
    stored.job->drained_through = members.optional_integer<Field::drained_through>().value_or(0);
    return stored;
  });
}

QueueRef queue_of_json(std::string_view json) {
  return read_stored("job or queue", json, [](const JsonNode& node) { return detail::read_queue(node, nullptr); });
}

Shared<const JobTemplate> order_of_json(std::string_view json) {
  return read_stored("schedule", json, [](const JsonNode& node) { return detail::read_template(node, Path("job", nullptr)); });
}

}  // namespace resonate
