// Encodes schedules in a dialect.
#pragma once

#include "codec/described_write.hpp"
#include "codec/members_write.hpp"
#include "codec/records_encode.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_schedule(Sink& sink, DialectId dialect, const Schedule& schedule) {
  sink.begin_object();
  write_text(sink, Field::id, schedule.id);
  write_text(sink, Field::cron, schedule.cron);
  write_text(sink, Field::promise_id, schedule.promise_id);
  write_integer(sink, Field::promise_timeout, schedule.promise_timeout);
  sink.key(Field::promise_param);
  encode_value(sink, dialect, schedule.promise_param);
  sink.key(Field::promise_tags);
  encode_strings(sink, schedule.promise_tags);
  if (schedule.job && schedule.job->unread.empty()) {
    sink.key(Field::job);
    encode_order(sink, schedule.job->order);
  }
  write_integer(sink, Field::created_at, schedule.created_at);
  write_integer(sink, Field::next_run_at, schedule.next_run_at);
  if (schedule.last_run_at) {
    write_integer(sink, Field::last_run_at, *schedule.last_run_at);
  }
  if (schedule.set_aside) {
    write_text(sink, Field::problem, schedule.set_aside->problem);
    write_integer(sink, Field::retry_at, schedule.set_aside->retry_at);
  }
  write_if_set(sink, Field::paused, schedule.paused);
  sink.end_object();
}

}  // namespace resonate
