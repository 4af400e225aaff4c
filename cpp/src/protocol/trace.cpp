#include "protocol/trace.hpp"

#include "codec/encode_request.hpp"
#include "codec/fired_encode.hpp"
#include "codec/json_sink.hpp"
#include "codec/members_write.hpp"
#include "codec/snapshot.hpp"
#include "protocol/encode_json.hpp"

namespace resonate {
namespace {

constexpr std::string_view kCorrId = "trace";

void begin_line(JsonSink& sink, std::string_view kind, Instant now, std::string_view scope = {}) {
  sink.begin_object();
  write_text(sink, Field::kind, kind);
  write_integer(sink, Field::now, now);
  if (!scope.empty()) write_text(sink, Field::scope, scope);
  sink.key(Field::req);
}

void write_open(JsonSink& sink, const Options& options, Storage& storage) {
  begin_line(sink, "open", storage.counters().now);
  sink.begin_object();
  write_text(sink, Field::format, kTraceFormat);
  sink.key(Field::options);
  sink.begin_object();
  write_text(sink, Field::rules, rules(options.rules).name);
  sink.key(Field::retry_timeout);
  if (options.retry_timeout) {
    sink.integer(*options.retry_timeout);
  } else {
    sink.string("ttl");
  }
  write_text(sink, Field::catchup, kCatchUpNames[static_cast<std::size_t>(options.catchup)]);
  write_integer(sink, Field::unblock_retention, options.unblock_retention);
  sink.end_object();
  sink.end_object();
  sink.key(Field::res);
  sink.begin_object();
  sink.key(Field::snapshot);
  write_snapshot(sink, storage, options);
  sink.end_object();
  sink.end_object();
}

void write_step(JsonSink& sink, const Fired& fired) {
  begin_line(sink, "step." + std::string(name_of(fired.kind)), fired.now);
  sink.begin_object();
  write_text(sink, Field::id, fired.id);
  write_integer(sink, Field::at, fired.at);
  sink.end_object();
  sink.key(Field::res);
  encode_fired_detail(sink, fired);
  sink.end_object();
}

void write_taken(JsonSink& sink, Instant now, const std::vector<MessageRef>& taken) {
  begin_line(sink, "messages.take", now);
  sink.begin_object();
  sink.key(Field::keys);
  sink.begin_array();
  for (const MessageRef& message : taken) sink.string(key_of(*message));
  sink.end_array();
  sink.end_object();
  sink.key(Field::res);
  sink.begin_object();
  sink.end_object();
  sink.end_object();
}

void write_request(JsonSink& sink, Instant now, const Request& request, const Reply& reply) {
  const ReplyHead head = head_of(request, std::string(kCorrId));
  begin_line(sink, name_of(head.kind, head.dialect), now, request.scope);
  encode_request(sink, kCorrId, request);
  sink.key(Field::res);
  encode_reply(sink, head, reply);
  sink.end_object();
}

}  // namespace

void TraceWriter::operator()(const TraceEvent& event) const {
  JsonSink sink;
  if (event.request) {
    write_request(sink, event.now, *event.request, *event.reply);
  } else if (event.fired) {
    write_step(sink, *event.fired);
  } else if (event.taken) {
    write_taken(sink, event.now, *event.taken);
  } else {
    write_open(sink, options_, *event.replaced);
  }
  write_(sink.text());
}

void start_trace(Engine& engine, TraceWriter::Write write) {
  engine.start_trace(TraceWriter(engine.options(), std::move(write)));  // the engine reports its whole state to a new sink first
}

}  // namespace resonate
