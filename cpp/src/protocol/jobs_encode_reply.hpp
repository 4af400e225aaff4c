// The `data` of replies on jobs and queues.
#pragma once

#include <algorithm>
#include <string>

#include "codec/job_records_write.hpp"
#include "codec/members_write.hpp"
#include "codec/records_encode.hpp"
#include "protocol/envelope.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

// Formats a day as YYYY-MM-DD, UTC.
std::string date_of_day(std::int64_t day);

template <DocumentSink Sink>
class JobReplyEncoder {
 public:
  JobReplyEncoder(Sink& sink, const Reply& reply, DialectId dialect) : sink_(sink), reply_(reply), dialect_(dialect) {}

  // Encodes the members of `data` into an open object.
  void data(Kind kind) {
    switch (kind) {
      case Kind::job_enqueue_many:
      case Kind::job_start_many:
      case Kind::job_complete_many: return items();
      case Kind::job_claim: jobs(); return write_instant(sink_, Field::next_at, reply_.jobs->next_at);
      case Kind::job_search:
        jobs();
        if (reply_.cursor) write_text(sink_, Field::cursor, *reply_.cursor);
        return;
      case Kind::job_record:
      case Kind::job_history:
        sink_.key(Field::promises);
        sink_.begin_array();
        for (const RowRef& row : reply_.rows) encode_promise(sink_, dialect_, *row);
        sink_.end_array();
        if (reply_.cursor) write_text(sink_, Field::cursor, *reply_.cursor);
        return;
      case Kind::job_receive:
      case Kind::job_send: sink_.key(Field::promise); return encode_promise(sink_, dialect_, *reply_.promise);
      case Kind::job_heartbeat: texts(Field::cancelled, reply_.jobs->cancelled); return texts(Field::lost, reply_.jobs->lost);
      case Kind::job_cancel:
      case Kind::job_run:
      case Kind::job_archive:
      case Kind::job_delete:
        if (reply_.jobs) return changed();
        return job();
      case Kind::job_stats: return statistics();
      case Kind::queue_list: return queues();
      case Kind::queue_set:
      case Kind::queue_get:
      case Kind::queue_pause:
      case Kind::queue_resume: sink_.key(Field::queue); return encode_queue(sink_, *reply_.jobs->queues.front());
      default: return job();
    }
  }

 private:
  void job() {
    if (!reply_.promise) return;
    sink_.key(Field::job);
    encode_job(sink_, *reply_.promise);
  }
  void jobs() {
    sink_.key(Field::jobs);
    sink_.begin_array();
    for (const RowRef& row : reply_.rows) encode_job(sink_, *row);
    sink_.end_array();
  }
  void items() {
    sink_.key(Field::jobs);
    sink_.begin_array();
    for (const JobReply::Item& item : reply_.jobs->items) {
      sink_.begin_object();
      write_integer(sink_, Field::status, item.status);
      if (item.status == status::kOk) {
        sink_.key(Field::job);
        encode_job(sink_, *item.row);
      } else {
        write_text(sink_, Field::error, item.error);
      }
      sink_.end_object();
    }
    sink_.end_array();
  }
  void changed() {
    write_integer(sink_, Field::count, reply_.jobs->count);
    sink_.key(Field::more);
    sink_.boolean(reply_.jobs->more);
  }
  void texts(Field key, const std::vector<std::string>& texts) {
    sink_.key(key);
    sink_.begin_array();
    for (const std::string& text : texts) sink_.string(text);
    sink_.end_array();
  }
  void queues() {
    sink_.key(Field::queues);
    sink_.begin_array();
    for (const QueueRef& queue : reply_.jobs->queues) encode_queue(sink_, *queue);
    sink_.end_array();
  }
  void statistics() {
    sink_.key(Field::queues);
    sink_.begin_array();
    for (const JobReply::Statistics& one : reply_.jobs->statistics) {
      const Queue& queue = *one.queue;
      sink_.begin_object();
      write_text(sink_, Field::name, queue.name);
      sink_.key(Field::paused);
      sink_.boolean(queue.paused);
      JobEncoder<Sink>(sink_).counts(queue);
      write_instant(sink_, Field::oldest_pending_at, one.oldest_pending_at);
      const bool waits = one.oldest_pending_at != kUnset;
      write_integer(sink_, Field::latency, waits ? std::max<Duration>(0, saturating_sub(reply_.now, one.oldest_pending_at)) : 0);
      write_integer(sink_, Field::active, queue.active());
      sink_.key(Field::days);
      sink_.begin_array();
      for (const QueueDay& day : queue.days) {
        sink_.begin_object();
        write_text(sink_, Field::day, date_of_day(day.day));
        write_integer(sink_, Field::processed, day.processed);
        write_integer(sink_, Field::failed, day.failed);
        sink_.end_object();
      }
      sink_.end_array();
      sink_.end_object();
    }
    sink_.end_array();
  }

  Sink& sink_;
  const Reply& reply_;
  DialectId dialect_;
};

}  // namespace detail
}  // namespace resonate
