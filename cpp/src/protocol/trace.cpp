#include "protocol/trace.hpp"

#include "codec/encode_request.hpp"
#include "codec/json_sink.hpp"
#include "codec/snapshot_encode.hpp"
#include "protocol/encode.hpp"

namespace resonate {
namespace {

constexpr std::string_view kCorrId = "trace";

void begin_line(JsonSink& sink, std::string_view kind, Instant now, std::string_view scope = {}) {
  sink.begin_object();
  sink.key(Field::kind);
  sink.string(kind);
  sink.key(Field::now);
  sink.integer(now);
  if (!scope.empty()) {
    sink.key(Field::scope);
    sink.string(scope);
  }
  sink.key(Field::req);
}

void write_open(JsonSink& sink, const Options& options, Storage& storage) {
  begin_line(sink, "open", storage.counters().now);
  sink.begin_object();
  sink.key(Field::format);
  sink.string(kTraceFormat);
  sink.key(Field::options);
  sink.begin_object();
  sink.key(Field::rules);
  sink.string(rules(options.rules).name);
  sink.key(Field::retry_timeout);
  if (options.retry_timeout) {
    sink.integer(*options.retry_timeout);
  } else {
    sink.string("ttl");
  }
  sink.key(Field::catchup);
  sink.string(kCatchUpNames[static_cast<std::size_t>(options.catchup)]);
  sink.key(Field::unblock_retention);
  sink.integer(options.unblock_retention);
  sink.end_object();
  sink.end_object();
  sink.key(Field::res);
  sink.begin_object();
  sink.key(Field::snapshot);
  encode_full_snapshot(sink, storage, storage.counters(), {options.retry_timeout, storage.counters().now});
  sink.end_object();
  sink.end_object();
}

void write_step(JsonSink& sink, const Fired& fired) {
  begin_line(sink, "step." + std::string(name_of(fired.kind)), fired.now);
  sink.begin_object();
  sink.key(Field::id);
  sink.string(fired.id);
  sink.key(Field::at);
  sink.integer(fired.at);
  sink.end_object();
  sink.key(Field::res);
  sink.begin_object();
  switch (fired.kind) {
    case StepKind::listener_drain:
    case StepKind::dispatch:
      sink.key(Field::address);
      sink.string(fired.detail);
      break;
    case StepKind::callback_drain:
      sink.key(Field::awaiter);
      sink.string(fired.detail);
      break;
    case StepKind::schedule:
      sink.key(Field::step_promise_id);
      if (fired.detail.empty()) {
        sink.null();
      } else {
        sink.string(fired.detail);
      }
      sink.key(Field::created);
      sink.boolean(fired.created);
      break;
    case StepKind::schedule_set_aside:
      sink.key(Field::problem);
      sink.string(fired.detail);
      break;
    case StepKind::job_batch:
      sink.key(Field::batch);
      sink.string(fired.detail);
      break;
    case StepKind::promise_timeout:
    case StepKind::lease_expiry:
    case StepKind::job_ready:
    case StepKind::job_expiry:
    case StepKind::job_lease:
    case StepKind::job_timeout:
    case StepKind::job_retention: break;
  }
  sink.end_object();
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
