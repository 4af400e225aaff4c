// Schedules as a dialect shows them.
#pragma once

#include "codec/described_write.hpp"
#include "codec/records_encode.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_schedule(Sink& sink, DialectId dialect, const Schedule& schedule) {
  sink.begin_object();
  sink.key(Field::id);
  sink.string(schedule.id);
  sink.key(Field::cron);
  sink.string(schedule.cron);
  sink.key(Field::promise_id);
  sink.string(schedule.promise_id);
  sink.key(Field::promise_timeout);
  sink.integer(schedule.promise_timeout);
  sink.key(Field::promise_param);
  encode_value(sink, dialect, schedule.promise_param);
  sink.key(Field::promise_tags);
  encode_strings(sink, schedule.promise_tags);
  if (schedule.job && schedule.job->unread.empty()) {
    sink.key(Field::job);
    encode_order(sink, schedule.job->order);
  }
  sink.key(Field::created_at);
  sink.integer(schedule.created_at);
  sink.key(Field::next_run_at);
  sink.integer(schedule.next_run_at);
  if (schedule.last_run_at) {
    sink.key(Field::last_run_at);
    sink.integer(*schedule.last_run_at);
  }
  if (schedule.set_aside) {
    sink.key(Field::problem);
    sink.string(schedule.set_aside->problem);
    sink.key(Field::retry_at);
    sink.integer(schedule.set_aside->retry_at);
  }
  sink.end_object();
}

}  // namespace resonate
