// Orders as documents: those of requests, of schedules, and of traces.
#pragma once

#include "protocol/jobs_encode.hpp"
#include "resonate/job_requests.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
class OrderEncoder {
 public:
  explicit OrderEncoder(Sink& sink) : sink_(sink), parts_(sink) {}

  void order(const JobOrder& order) {
    sink_.begin_object();
    text(Field::id, order.id);
    parts_.text(Field::queue, order.queue);
    parts_.text(Field::type, order.type);
    if (!order.payload.empty()) {
      sink_.key(Field::payload);
      encode_value(sink_, DialectId::k2026_04_01, order.payload);
    }
    if (!order.tags.empty()) {
      sink_.key(Field::tags);
      encode_strings(sink_, order.tags);
    }
    integer(Field::priority, order.priority);
    integer(Field::process_at, order.process_at);
    integer(Field::process_in, order.process_in);
    integer(Field::good_until, order.good_until);
    integer(Field::good_for, order.good_for);
    integer(Field::timeout, order.timeout);
    if (order.deadline != kNever) parts_.integer(Field::deadline, order.deadline);
    if (order.retention) parts_.retention(*order.retention);
    integer(Field::max_retries, order.max_retries);
    if (order.policy) parts_.policy(Field::retry_policy, *order.policy);
    text(Field::on_exhausted, order.on_exhausted);
    text(Field::lifecycle, order.lifecycle);
    text(Field::unique_key, order.unique_key);
    integer(Field::unique_for, order.unique_for);
    text(Field::group, order.group);
    integer(Field::sent_at, order.sent_at);
    sink_.end_object();
  }

 private:
  void text(Field key, const std::optional<std::string>& given) {
    if (given) parts_.text(key, *given);
  }
  void integer(Field key, const std::optional<std::int64_t>& given) {
    if (given) parts_.integer(key, *given);
  }

  Sink& sink_;
  JobEncoder<Sink> parts_;
};

}  // namespace detail

template <DocumentSink Sink>
void encode_order(Sink& sink, const JobOrder& order) {
  detail::OrderEncoder<Sink>(sink).order(order);
}

}  // namespace resonate
