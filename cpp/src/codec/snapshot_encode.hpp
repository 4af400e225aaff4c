// Encodes a StateView as a full snapshot or as the reply of debug.snap (WIRE 5). Both contain rows as they are stored; only retryAt
// is computed for the stored instant.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "codec/job_records_write.hpp"
#include "codec/members_write.hpp"
#include "codec/messages.hpp"
#include "codec/node.hpp"
#include "codec/records_encode.hpp"
#include "codec/snapshot.hpp"
#include "codec/state_view.hpp"
#include "machine/derive.hpp"

namespace resonate {
namespace detail {

inline constexpr std::string_view kSnapshotFormat = "resonate_core/1";

// Computes retryAt of a task. While its execute waits, this needs more than its row.
struct RetryView {
  enum class As : std::uint8_t {
    instant,
    phase  // modulo the interval, which does not change while time passes
  };
  std::optional<Duration> retry_timeout;
  Instant now = 0;
  As as = As::instant;

  Instant of(const Row& row) const noexcept {
    const Instant shown = shown_retry_at(row, now, retry_timeout);
    if (as == As::instant || !row.execute_waits || shown == kNever) return shown;
    const Duration interval = retry_interval(row, retry_timeout);
    const Duration phase = shown % interval;
    return phase < 0 ? phase + interval : phase;
  }
};

template <DocumentSink Sink>
class SnapshotEncoder {
 public:
  SnapshotEncoder(Sink& sink, RetryView retry) : sink_(sink), retry_(retry) {}

  // Each of the last three calls its argument with every row, in order.
  template <class Promises, class Schedules, class Messages>
  void full(const Counters& counters, Promises each_promise, Schedules each_schedule, const std::vector<QueueRef>& queues,
            const std::vector<HourRef>& hours, Messages each_message) {
    sink_.begin_object();
    write_text(sink_, Field::format, kSnapshotFormat);
    write_integer(sink_, Field::now, counters.now);
    write_integer(sink_, Field::dropped, counters.dropped);
    if (counters.jobs) write_integer(sink_, Field::generated_jobs, counters.jobs);
    begin_list(Field::promises);
    each_promise([this](const StateView::Promise& promise) { full_promise(promise); });
    sink_.end_array();
    begin_list(Field::schedules);
    each_schedule([this](const ScheduleRef& schedule) { full_schedule(*schedule); });
    sink_.end_array();
    if (!queues.empty()) list(Field::queues, queues, [this](const QueueRef& queue) { JobEncoder<Sink>(sink_).whole(*queue); });
    if (!hours.empty()) list(Field::hours, hours, [this](const HourRef& hour) { full_hour(*hour); });
    begin_list(Field::messages);
    each_message([this](const MessageRef& message) { full_message(*message); });
    sink_.end_array();
    sink_.end_object();
  }

  void debug(const StateView& view) {
    sink_.begin_object();
    list(Field::promises, view.promises,
         [this](const StateView::Promise& promise) { encode_promise(sink_, DialectId::k2026_04_01, *promise.row); });
    begin_list(Field::promise_timeouts);
    for (const StateView::Promise& promise : view.promises) {
      const RowRef& row = promise.row;
      if (row->external && row->state == PromiseState::pending) timer(*row, row->promise_spec->timeout_at);
    }
    sink_.end_array();
    edges(Field::callbacks, view, &StateView::Promise::callbacks);
    edges(Field::listeners, view, &StateView::Promise::listeners);
    begin_list(Field::tasks);
    for (const StateView::Promise& promise : view.promises) {
      const RowRef& row = promise.row;
      if (row->has_task()) encode_task(sink_, DialectId::k2026_04_01, *row);
    }
    sink_.end_array();
    begin_list(Field::task_timeouts);
    for (const StateView::Promise& promise : view.promises) {
      const RowRef& row = promise.row;
      if (row->task == TaskState::pending) timer(*row, retry_.of(*row), 0);
      if (row->task == TaskState::acquired) timer(*row, row->expires_at, 1);
    }
    sink_.end_array();
    debug_messages(view);
    sink_.end_object();
  }

 private:
  void begin_list(Field key) {
    sink_.key(key);
    sink_.begin_array();
  }
  template <class Items, class Body>
  void list(Field key, const Items& items, Body body) {
    begin_list(key);
    for (const auto& item : items) body(item);
    sink_.end_array();
  }
  void value(Field key, const Value& value) {
    sink_.key(key);
    encode_value(sink_, DialectId::k2026_04_01, value);
  }

  void full_promise(const StateView::Promise& promise) {
    const Row& row = *promise.row;
    const PromiseSpec& promise_spec = *row.promise_spec;
    sink_.begin_object();
    write_text(sink_, Field::id, promise_spec.id);
    write_text(sink_, Field::state, name_of(row.state));
    value(Field::param, promise_spec.param);
    value(Field::value, row.value ? row.value->value : Value());
    sink_.key(Field::tags);
    encode_strings(sink_, promise_spec.tags);
    write_integer(sink_, Field::timeout_at, promise_spec.timeout_at);
    write_integer(sink_, Field::created_at, promise_spec.created_at);
    write_instant(sink_, Field::settled_at, row.settled_at);
    if (promise_spec.ikc) write_text(sink_, Field::ikc, promise_spec.ikc->text);
    if (row.iku) write_text(sink_, Field::iku, row.iku->text);
    write_text(sink_, Field::dialect, dialect(promise_spec.dialect).version);
    sink_.key(Field::external);
    sink_.boolean(row.external);
    list(Field::callbacks, promise.callbacks, [this](const EdgeRef& edge) { sink_.string(edge->other); });
    list(Field::listeners, promise.listeners, [this](const EdgeRef& edge) {
      sink_.begin_object();
      write_text(sink_, Field::address, edge->other);
      write_text(sink_, Field::dialect, dialect(edge->dialect).version);
      sink_.end_object();
    });
    if (promise_spec.child) full_child(*promise_spec.child, row.unread);
    if (!promise.keepers.empty()) list(Field::kept_by, promise.keepers, [this](const EdgeRef& edge) { sink_.string(edge->other); });
    if (row.has_task()) full_task(row);
    if (row.job) {
      sink_.key(Field::job);
      JobEncoder<Sink>(sink_).whole(*row.job);
    }
    sink_.end_object();
  }

  void full_child(const ChildMark& child, bool unread) {
    sink_.key(Field::child);
    sink_.begin_object();
    write_text(sink_, Field::parent, child.parent);
    write_text(sink_, Field::kind, name_of(child.kind));
    write_integer(sink_, Field::number, child.number);
    write_if_set(sink_, Field::unread, unread);
    sink_.end_object();
  }

  void full_task(const Row& row) {
    sink_.key(Field::task);
    sink_.begin_object();
    write_text(sink_, Field::state, name_of(row.task));
    write_integer(sink_, Field::acquisitions, row.acquisitions);
    // Writes a member that is set even if it must not be, so that a broken state is restored unchanged.
    if (row.pid) write_text(sink_, Field::pid, row.pid->text);
    if (row.task == TaskState::acquired && row.ttl != 0) write_integer(sink_, Field::ttl, row.ttl);
    write_instant(sink_, Field::expires_at, row.expires_at);
    if (row.ttl != 0) write_integer(sink_, Field::last_ttl, row.ttl);
    write_instant(sink_, Field::retry_at, retry_.of(row));
    begin_list(Field::resumes);
    if (row.resumes) {
      for (const std::string& id : row.resumes->items) sink_.string(id);
    }
    sink_.end_array();
    if (row.current) write_text(sink_, Field::current, row.current->text);
    sink_.end_object();
  }

  void full_schedule(const Schedule& schedule) {
    sink_.begin_object();
    write_text(sink_, Field::id, schedule.id);
    write_text(sink_, Field::cron, schedule.cron);
    write_text(sink_, Field::promise_id, schedule.promise_id);
    write_integer(sink_, Field::promise_timeout, schedule.promise_timeout);
    value(Field::promise_param, schedule.promise_param);
    sink_.key(Field::promise_tags);
    encode_strings(sink_, schedule.promise_tags);
    if (schedule.job && !schedule.job->unread.empty()) {
      write_text(sink_, Field::job, schedule.job->unread);
    } else if (schedule.job) {
      sink_.key(Field::job);
      encode_order(sink_, schedule.job->order);
    }
    write_integer(sink_, Field::created_at, schedule.created_at);
    write_integer(sink_, Field::next_run_at, schedule.next_run_at);
    if (schedule.last_run_at) write_integer(sink_, Field::last_run_at, *schedule.last_run_at);
    if (schedule.set_aside) {
      write_text(sink_, Field::problem, schedule.set_aside->problem);
      write_integer(sink_, Field::retry_at, schedule.set_aside->retry_at);
    }
    write_if_set(sink_, Field::paused, schedule.paused);
    write_text(sink_, Field::dialect, dialect(schedule.dialect).version);
    sink_.end_object();
  }

  void full_hour(const EndedHour& ended) {
    sink_.begin_object();
    write_text(sink_, Field::queue, ended.queue);
    DescribedWriter<Sink>(sink_).members(ended.counted);
    sink_.end_object();
  }

  void full_message(const OutboxMessage& message) {
    sink_.begin_object();
    write_text(sink_, Field::kind, kind_of(message));
    write_text(sink_, Field::id, message.id);
    if (message.kind == MessageKind::execute) write_integer(sink_, Field::version, message.version);
    write_text(sink_, Field::address, message.address);
    write_integer(sink_, Field::attempts, message.attempts);
    write_integer(sink_, Field::queued_at, message.queued_at);
    sink_.end_object();
  }

  // `type`: the type of a task's timer.
  void timer(const Row& row, Instant at, std::int64_t type = -1) {
    sink_.begin_object();
    write_text(sink_, Field::id, row.id());
    if (type >= 0) write_integer(sink_, Field::type, type);
    write_integer(sink_, Field::timeout, at);
    sink_.end_object();
  }

  void edges(Field key, const StateView& view, std::vector<EdgeRef> StateView::Promise::*which) {
    begin_list(key);
    for (const StateView::Promise& promise : view.promises) {
      std::vector<EdgeRef> ordered = promise.*which;
      std::sort(ordered.begin(), ordered.end(), [](const EdgeRef& a, const EdgeRef& b) { return a->other < b->other; });
      for (const EdgeRef& edge : ordered) {
        sink_.begin_object();
        write_text(sink_, key == Field::callbacks ? Field::awaiter : Field::id,
                   key == Field::callbacks ? edge->other : edge->owner);
        write_text(sink_, key == Field::callbacks ? Field::awaited : Field::address,
                   key == Field::callbacks ? edge->owner : edge->other);
        sink_.end_object();
      }
    }
    sink_.end_array();
  }

  // Executes before unblocks, each ordered by id.
  void debug_messages(const StateView& view) {
    std::vector<const StateView::Message*> ordered;
    for (const StateView::Message& message : view.messages) ordered.push_back(&message);
    std::sort(ordered.begin(), ordered.end(), [](const StateView::Message* a, const StateView::Message* b) {
      const auto order = [](const OutboxMessage& m) { return std::tie(m.kind, m.id, m.address, m.seq); };
      return order(*a->message) < order(*b->message);
    });
    begin_list(Field::messages);
    for (const StateView::Message* message : ordered) {
      sink_.begin_object();
      write_text(sink_, Field::address, message->message->address);
      sink_.key(Field::message);
      encode_message(sink_, *message->message, message->record);
      sink_.end_object();
    }
    sink_.end_array();
  }

  Sink& sink_;
  RetryView retry_;
};

}  // namespace detail

template <DocumentSink Sink>
void encode_debug_snapshot(Sink& sink, const StateView& view) {
  detail::SnapshotEncoder<Sink>(sink, {view.retry_timeout, view.counters.now}).debug(view);
}

// Encodes the full snapshot from storage, page by page. `counters` are those of the storage, or others to write in their place.
template <DocumentSink Sink>
void encode_full_snapshot(Sink& sink, Storage& storage, const Counters& counters, const detail::RetryView& retry) {
  detail::SnapshotEncoder<Sink>(sink, retry)
      .full(
          counters, [&](const auto& body) { each_promise(storage, body); }, [&](const auto& body) { each_schedule(storage, body); },
          storage.queues(), all_hours(storage), [&](const auto& body) { each_message(storage, body); });
}

}  // namespace resonate
