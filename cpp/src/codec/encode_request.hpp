// Requests → envelopes: the other direction of decode.hpp, for traces. What is absent and what is empty decode to the same request,
// so empty maps and values are left out.
#pragma once

#include <string_view>

#include "codec/jobs_encode_request.hpp"
#include "codec/kinds.hpp"
#include "codec/node.hpp"
#include "codec/records_encode.hpp"
#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
class RequestEncoder {
 public:
  RequestEncoder(Sink& sink, DialectId dialect) : sink_(sink), dialect_(dialect) {}

  // The `data` of each kind.
  void data(const PromiseGet& get) { id_alone(get.id); }
  void data(const PromiseCreate& create) {
    sink_.begin_object();
    text(Field::id, create.id);
    integer(Field::timeout_at, create.timeout_at);
    value(Field::param, create.param);
    strings(Field::tags, create.tags);
    text(Field::ikc, create.ikc);
    sink_.end_object();
  }
  void data(const PromiseSettle& settle) {
    sink_.begin_object();
    text(Field::id, settle.id);
    text(Field::state, settle.state);
    value(Field::value, settle.value);
    text(Field::iku, settle.iku);
    sink_.end_object();
  }
  void data(const RegisterCallback& callback) {
    sink_.begin_object();
    text(Field::awaited, callback.awaited);
    text(Field::awaiter, callback.awaiter);
    sink_.end_object();
  }
  void data(const RegisterListener& listener) {
    sink_.begin_object();
    text(Field::awaited, listener.awaited);
    text(Field::address, listener.address);
    sink_.end_object();
  }
  void data(const PromiseSearch& search) { query(search.query); }
  void data(const TaskGet& get) { id_alone(get.id); }
  void data(const TaskCreate& create) {
    sink_.begin_object();
    text(Field::pid, create.pid);
    integer(Field::ttl, create.ttl);
    action(Kind::promise_create, create.action);
    sink_.end_object();
  }
  void data(const TaskAcquire& acquire) {
    begin_held(acquire);
    text(Field::pid, acquire.pid);
    integer(Field::ttl, acquire.ttl);
    sink_.end_object();
  }
  void data(const TaskRelease& release) {
    begin_held(release);
    sink_.end_object();
  }
  void data(const TaskSuspend& suspend) {
    begin_held(suspend);
    sink_.key(Field::actions);
    sink_.begin_array();
    for (const RegisterCallback& callback : suspend.actions) envelope(Kind::register_callback, callback);
    sink_.end_array();
    sink_.end_object();
  }
  void data(const TaskFulfill& fulfill) {
    begin_held(fulfill);
    action(Kind::promise_settle, fulfill.action);
    sink_.end_object();
  }
  void data(const TaskFence& fence) {
    begin_held(fence);
    if (const auto* create = std::get_if<PromiseCreate>(&fence.action)) {
      action(Kind::promise_create, *create);
    } else {
      action(Kind::promise_settle, std::get<PromiseSettle>(fence.action));
    }
    sink_.end_object();
  }
  void data(const TaskHeartbeat& heartbeat) {
    sink_.begin_object();
    text(Field::pid, heartbeat.pid);
    sink_.key(Field::tasks);
    sink_.begin_array();
    for (const TaskRef& task : heartbeat.tasks) {
      begin_held(task);
      sink_.end_object();
    }
    sink_.end_array();
    sink_.end_object();
  }
  void data(const TaskHalt& halt) { id_alone(halt.id); }
  void data(const TaskContinue& again) { id_alone(again.id); }
  void data(const TaskSearch& search) { query(search.query); }
  void data(const ScheduleGet& get) { id_alone(get.id); }
  void data(const ScheduleCreate& create) {
    sink_.begin_object();
    text(Field::id, create.id);
    text(Field::cron, create.cron);
    text(Field::promise_id, create.promise_id);
    integer(Field::promise_timeout, create.promise_timeout);
    value(Field::promise_param, create.promise_param);
    strings(Field::promise_tags, create.promise_tags);
    if (!create.job.empty()) {
      sink_.key(Field::job);
      encode_order(sink_, create.job.front());
    }
    sink_.end_object();
  }
  void data(const ScheduleDelete& gone) { id_alone(gone.id); }
  void data(const ScheduleSearch& search) { query(search.query); }
  template <class JobRequest>
  void data(const JobRequest& request) {
    JobRequestEncoder<Sink>(sink_).data(request);
  }

 private:
  void text(Field key, std::string_view text) {
    sink_.key(key);
    sink_.string(text);
  }
  void text(Field key, const std::optional<std::string>& given) {
    if (given) text(key, std::string_view(*given));
  }
  void text(Field key, const std::string& given) { text(key, std::string_view(given)); }
  void integer(Field key, std::int64_t number) {
    sink_.key(key);
    sink_.integer(number);
  }
  void value(Field key, const Value& value) {
    if (value.empty()) return;
    sink_.key(key);
    encode_value(sink_, DialectId::k2026_04_01, value);  // the members that were given
  }
  void strings(Field key, const StringMap& map) {
    if (map.empty()) return;
    sink_.key(key);
    encode_strings(sink_, map);
  }
  void id_alone(const std::string& id) {
    sink_.begin_object();
    text(Field::id, id);
    sink_.end_object();
  }
  template <class Held>
  void begin_held(const Held& held) {
    sink_.begin_object();
    text(Field::id, held.id);
    integer(Field::version, held.version);
  }
  template <class Action>
  void envelope(Kind kind, const Action& action) {
    sink_.begin_object();
    text(Field::kind, name_of(kind, dialect_));
    sink_.key(Field::data);
    data(action);
    sink_.end_object();
  }
  template <class Action>
  void action(Kind kind, const Action& action) {
    sink_.key(Field::action);
    envelope(kind, action);
  }
  void query(const SearchQuery& query) {
    sink_.begin_object();
    text(Field::id, query.filter.id);
    text(Field::state, query.filter.state);
    text(Field::target, query.filter.target);
    strings(Field::tags, query.filter.tags);
    if (query.limit) integer(Field::limit, *query.limit);
    if (!query.cursor.empty()) text(Field::cursor, query.cursor);
    sink_.end_object();
  }

  Sink& sink_;
  DialectId dialect_;
};

}  // namespace detail

template <DocumentSink Sink>
void encode_request(Sink& sink, std::string_view corr_id, const Request& request) {
  sink.begin_object();
  sink.key(Field::kind);
  sink.string(name_of(kind_of(request.operation), request.dialect));
  sink.key(Field::head);
  sink.begin_object();
  sink.key(Field::corr_id);
  sink.string(corr_id);
  sink.key(Field::version);
  sink.string(dialect(request.dialect).version);
  sink.end_object();
  sink.key(Field::data);
  std::visit([&](const auto& operation) { detail::RequestEncoder<Sink>(sink, request.dialect).data(operation); },
             request.operation);
  sink.end_object();
}

}  // namespace resonate
