// Orders as documents: those of requests, of schedules, and of traces.
#pragma once

#include "codec/jobs_encode.hpp"
#include "resonate/job_requests.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
class OrderEncoder {
 public:
  explicit OrderEncoder(Sink& sink) : sink_(sink), parts_(sink) {}

  void order(const JobOrder& order) {
    sink_.begin_object();
    parts_.given(Field::id, order.id);
    parts_.text(Field::queue, order.queue);
    parts_.text(Field::type, order.type);
    parts_.given(Field::payload, order.payload);
    parts_.given(Field::tags, order.tags);
    parts_.given(Field::priority, order.priority);
    parts_.given(Field::process_at, order.process_at);
    parts_.given(Field::process_in, order.process_in);
    parts_.given(Field::good_until, order.good_until);
    parts_.given(Field::good_for, order.good_for);
    parts_.given(Field::timeout, order.timeout);
    if (order.deadline != kNever) parts_.integer(Field::deadline, order.deadline);
    if (order.retention) parts_.retention(*order.retention);
    parts_.given(Field::max_retries, order.max_retries);
    if (order.policy) parts_.policy(Field::retry_policy, *order.policy);
    parts_.given(Field::on_exhausted, order.on_exhausted);
    parts_.given(Field::lifecycle, order.lifecycle);
    parts_.given(Field::unique_key, order.unique_key);
    parts_.given(Field::unique_for, order.unique_for);
    parts_.given(Field::group, order.group);
    parts_.given(Field::sent_at, order.sent_at);
    sink_.end_object();
  }

 private:
  Sink& sink_;
  JobEncoder<Sink> parts_;
};

}  // namespace detail

template <DocumentSink Sink>
void encode_order(Sink& sink, const JobOrder& order) {
  detail::OrderEncoder<Sink>(sink).order(order);
}

}  // namespace resonate
