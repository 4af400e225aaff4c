// Encodes replies as envelopes. Members come in a fixed order; every record is projected to the instant of the reply.
#pragma once

#include <string_view>

#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/records_encode.hpp"
#include "codec/schedules_encode.hpp"
#include "codec/snapshot_encode.hpp"
#include "protocol/envelope.hpp"
#include "protocol/jobs_encode_reply.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
void begin_envelope(Sink& sink, std::string_view kind, std::string_view corr_id, int status, std::string_view version) {
  sink.begin_object();
  write_text(sink, Field::kind, kind);
  sink.key(Field::head);
  sink.begin_object();
  write_text(sink, Field::corr_id, corr_id);
  write_integer(sink, Field::status, status);
  write_text(sink, Field::version, version);
  sink.end_object();
  sink.key(Field::data);
}

// Encodes the records of one reply.
template <DocumentSink Sink>
class Records {
 public:
  Records(Sink& sink, DialectId dialect) : sink_(sink), dialect_(dialect) {}

  void promise(Field key, const RowRef& row) {
    if (!row) return;
    sink_.key(key);
    encode_promise(sink_, dialect_, *row);
  }
  void task(const RowRef& row) {
    if (!row) return;
    sink_.key(Field::task);
    encode_task(sink_, dialect_, *row);
  }
  void preload(const Reply& reply) {
    if (!reply.has_preload) return;
    sink_.key(Field::preload);
    sink_.begin_array();
    for (const RowRef& row : reply.preload) encode_promise(sink_, dialect_, *row);
    sink_.end_array();
    if (!reply.preload_cut) return;
    sink_.key(Field::preload_cut);
    sink_.boolean(true);
  }
  void promises(const std::vector<RowRef>& rows) {
    sink_.key(Field::promises);
    sink_.begin_array();
    for (const RowRef& row : rows) encode_promise(sink_, dialect_, *row);
    sink_.end_array();
  }
  void tasks(const std::vector<RowRef>& rows) {
    sink_.key(Field::tasks);
    sink_.begin_array();
    for (const RowRef& row : rows) encode_task(sink_, dialect_, *row);
    sink_.end_array();
  }
  void schedules(const std::vector<ScheduleRef>& rows) {
    sink_.key(Field::schedules);
    sink_.begin_array();
    for (const ScheduleRef& row : rows) encode_schedule(sink_, dialect_, *row);
    sink_.end_array();
  }
  void cursor(const Reply& reply) {
    if (!reply.cursor) return;
    write_text(sink_, Field::cursor, *reply.cursor);
  }

 private:
  Sink& sink_;
  DialectId dialect_;
};

// Encodes the reply to an acquire in 2025-01-15: the run that begins, and the awaited promise in `current`.
template <DocumentSink Sink>
void encode_run(Sink& sink, Records<Sink>& records, const Reply& reply) {
  write_text(sink, Field::kind, reply.awaited ? "resume" : "invoke");
  sink.key(Field::data);
  sink.begin_object();
  records.promise(Field::invoked, reply.promise);
  records.promise(Field::awaited, reply.awaited);
  sink.end_object();
}

// Encodes the inner answer of a fence: a whole envelope with the outer corrId.
template <DocumentSink Sink>
void encode_fenced(Sink& sink, Records<Sink>& records, const ReplyHead& head, const Reply& reply) {
  sink.key(Field::action);
  begin_envelope(sink, name_of(head.fenced, head.dialect), head.corr_id, reply.fenced_status, dialect(head.dialect).version);
  if (reply.fenced_status == status::kOk) {
    sink.begin_object();
    records.promise(Field::promise, reply.promise);
    sink.end_object();
  } else {
    sink.string(reply.error);
  }
  sink.end_object();
}

template <DocumentSink Sink>
void encode_data(Sink& sink, const ReplyHead& head, const Reply& reply) {
  Records<Sink> records(sink, head.dialect);
  sink.begin_object();
  switch (head.kind) {
    case Kind::promise_search:
      records.promises(reply.rows);
      records.cursor(reply);
      break;
    case Kind::task_search:
      records.tasks(reply.rows);
      records.cursor(reply);
      break;
    case Kind::schedule_search:
      records.schedules(reply.schedules);
      records.cursor(reply);
      break;
    case Kind::schedule_get:
    case Kind::schedule_create:
    case Kind::schedule_pause:
    case Kind::schedule_resume:
      if (reply.schedule) {
        sink.key(Field::schedule);
        encode_schedule(sink, head.dialect, *reply.schedule);
      }
      break;
    case Kind::task_get: records.task(reply.task); break;
    case Kind::task_create:
      if (reply.show_task) records.task(reply.task);
      records.promise(Field::promise, reply.promise);
      records.preload(reply);
      break;
    case Kind::task_acquire:
      if (head.dialect == DialectId::k2025_01_15) {
        encode_run(sink, records, reply);
        break;
      }
      records.task(reply.task);
      records.promise(Field::promise, reply.promise);
      records.preload(reply);
      break;
    case Kind::task_suspend: records.preload(reply); break;
    case Kind::task_fence:
      encode_fenced(sink, records, head, reply);
      records.preload(reply);
      break;
    case Kind::promise_get:
    case Kind::promise_create:
    case Kind::promise_settle:
    case Kind::register_callback:
    case Kind::register_listener:
    case Kind::task_fulfill: records.promise(Field::promise, reply.promise); break;
    default:
      if (is_job(head.kind)) JobReplyEncoder<Sink>(sink, reply, head.dialect).data(head.kind);  // the data of other kinds is {}
  }
  sink.end_object();
}

}  // namespace detail

template <DocumentSink Sink>
void encode_reply(Sink& sink, const ReplyHead& head, const Reply& reply) {
  detail::begin_envelope(sink, name_of(head.kind, head.dialect), head.corr_id, reply.status, dialect(head.dialect).version);
  if (reply.ok()) {
    detail::encode_data(sink, head, reply);
  } else {
    sink.string(reply.error);
  }
  sink.end_object();
}

template <DocumentSink Sink>
void encode_refusal(Sink& sink, const Refusal& refusal) {
  detail::begin_envelope(sink, refusal.kind, refusal.corr_id, refusal.status, refusal.version);
  sink.string(refusal.message);
  sink.end_object();
}

// `snapshot`: the data of debug.snap.
template <DocumentSink Sink>
void encode_debug_reply(Sink& sink, const ReplyHead& head, const StateView* snapshot) {
  detail::begin_envelope(sink, name_of(head.kind, head.dialect), head.corr_id, status::kOk, dialect(head.dialect).version);
  if (snapshot) {
    encode_debug_snapshot(sink, *snapshot);
  } else if (head.kind == Kind::debug_tick) {
    sink.begin_array();
    sink.end_array();
  } else {
    sink.begin_object();
    sink.end_object();
  }
  sink.end_object();
}

}  // namespace resonate
