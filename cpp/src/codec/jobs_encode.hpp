// Jobs and queues as documents: the record of a reply, shown projected at an instant, and the whole that snapshots and storage
// keep. Instants and what else is not set are left out.
#pragma once

#include <string_view>

#include "codec/node.hpp"
#include "codec/records_encode.hpp"
#include "resonate/job_requests.hpp"
#include "resonate/records.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
class JobEncoder {
 public:
  explicit JobEncoder(Sink& sink) : sink_(sink) {}

  void record(const Row& row) {
    const Job& job = *row.job;
    const JobSpec& spec = *job.spec;
    sink_.begin_object();
    text(Field::id, row.id());
    text(Field::queue, spec.queue);
    text(Field::type, spec.type);
    text(Field::state, name_of(job.state));
    value(Field::payload, row.payload());
    sink_.key(Field::tags);
    encode_strings(sink_, row.birth->tags);
    integer(Field::priority, spec.priority);
    integer(Field::version, row.acquisitions);
    integer(Field::max_retries, spec.max_retries);
    integer(Field::retry_count, job.retry_count);
    policy(Field::retry_policy, spec.policy);
    text(Field::on_exhausted, name_of(spec.on_exhausted));
    if (is_held(job.state)) {
      text(Field::claimed_by, row.pid->text);
      integer(Field::lease_until, row.expires_at);
    }
    if (spec.group) text(Field::group, spec.group->text);
    if (job.batch) text(Field::batch, job.batch->text);
    flag(Field::gathering, job.gathering);
    instant(Field::process_at, job.process_at);
    if (spec.good_until != kNever) integer(Field::good_until, spec.good_until);
    if (spec.timeout) integer(Field::timeout, spec.timeout);
    if (row.birth->timeout_at != kNever) integer(Field::deadline, row.birth->timeout_at);
    if (spec.retention != kKept) integer(Field::retention, spec.retention);
    unique(spec);
    if (is_terminal(job.state)) value(Field::result, row.result());
    if (job.error) error(Field::error, *job.error);
    attempts(job);
    integer(Field::sent_at, spec.sent_at);
    instant(Field::enqueued_at, job.enqueued_at);
    instant(Field::claimed_at, job.claimed_at);
    instant(Field::started_at, job.started_at);
    instant(Field::completed_at, job.completed_at);
    instant(Field::failed_at, job.failed_at);
    instant(Field::next_retry_at, job.next_retry_at);
    instant(Field::cancelled_at, job.cancelled_at);
    instant(Field::expired_at, job.expired_at);
    sink_.end_object();
  }

  // `holder`: where nothing else keeps who holds it.
  void whole(const Job& job, const SharedString* holder = nullptr) {
    const JobSpec& spec = *job.spec;
    sink_.begin_object();
    if (holder) text(Field::claimed_by, holder->text);
    text(Field::queue, spec.queue);
    text(Field::type, spec.type);
    if (spec.payload) value(Field::payload, *spec.payload);
    flag(Field::adopted, spec.adopted);
    integer(Field::priority, spec.priority);
    integer(Field::max_retries, spec.max_retries);
    policy(Field::retry_policy, spec.policy);
    text(Field::on_exhausted, name_of(spec.on_exhausted));
    sink_.key(Field::one_step);
    sink_.boolean(spec.one_step);
    if (spec.good_until != kNever) integer(Field::good_until, spec.good_until);
    if (spec.timeout) integer(Field::timeout, spec.timeout);
    if (spec.retention != kKept) integer(Field::retention, spec.retention);
    unique(spec);
    if (spec.group) text(Field::group, spec.group->text);
    integer(Field::sent_at, spec.sent_at);
    text(Field::state, name_of(job.state));
    if (job.batch) text(Field::batch, job.batch->text);
    flag(Field::gathering, job.gathering);
    if (job.flight) flight(*job.flight);
    integer(Field::retry_count, job.retry_count);
    instant(Field::process_at, job.process_at);
    instant(Field::enqueued_at, job.enqueued_at);
    instant(Field::claimed_at, job.claimed_at);
    instant(Field::started_at, job.started_at);
    instant(Field::completed_at, job.completed_at);
    instant(Field::failed_at, job.failed_at);
    instant(Field::next_retry_at, job.next_retry_at);
    instant(Field::cancelled_at, job.cancelled_at);
    instant(Field::expired_at, job.expired_at);
    if (job.error) error(Field::error, *job.error);
    attempts(job);
    integer(Field::attempt_count, job.attempt_count);
    sink_.key(Field::awaiters);
    sink_.begin_array();
    for (const std::string& id : job.awaiters) sink_.string(id);
    sink_.end_array();
    if (job.run_lease) integer(Field::run_lease, job.run_lease);
    instant(Field::reclaim_at, job.reclaim_at);
    flag(Field::deleted, job.deleted);
    sink_.end_object();
  }

  void queue_record(const Queue& queue) {
    sink_.begin_object();
    settings(queue);
    integer(Field::active, queue.active());
    sink_.end_object();
  }

  void whole(const Queue& queue) {
    sink_.begin_object();
    settings(queue);
    if (queue.rate) {
      integer(Field::level, queue.level);
      integer(Field::refilled_at, queue.refilled_at);
    }
    integer(Field::current, queue.current);
    counts(queue);
    sink_.key(Field::days);
    sink_.begin_array();
    for (const QueueDay& day : queue.days) {
      sink_.begin_object();
      integer(Field::day, day.day);
      integer(Field::processed, day.processed);
      integer(Field::failed, day.failed);
      sink_.end_object();
    }
    sink_.end_array();
    sink_.end_object();
  }

  void counts(const Queue& queue) {
    sink_.key(Field::counts);
    sink_.begin_object();
    for (std::size_t i = 0; i < kJobStates; ++i) {
      sink_.key(name_of(static_cast<JobState>(i)));
      sink_.integer(queue.counts[i]);
    }
    sink_.end_object();
  }

  void policy(Field key, const RetryPolicy& policy) {
    sink_.key(key);
    sink_.begin_object();
    text(Field::kind, name_of(policy.kind));
    if (policy.kind == PolicyKind::fixed) {
      sink_.key(Field::intervals);
      sink_.begin_array();
      for (const Duration interval : policy.intervals) sink_.integer(interval);
      sink_.end_array();
    }
    if (policy.kind == PolicyKind::exponential) {
      integer(Field::base, policy.base);
      sink_.key(Field::factor);
      sink_.real(policy.factor);
      integer(Field::cap, policy.cap);
      sink_.key(Field::jitter);
      sink_.real(policy.jitter);
    }
    if (policy.codes) {
      sink_.key(Field::codes);
      sink_.begin_array();
      for (const std::string& code : *policy.codes) sink_.string(code);
      sink_.end_array();
    }
    sink_.end_object();
  }

  void rate(const RateLimit& rate) {
    sink_.key(Field::rate);
    sink_.begin_object();
    integer(Field::limit, rate.limit);
    integer(Field::per, rate.per);
    integer(Field::burst, rate.burst);
    sink_.end_object();
  }

  void groups(const GroupLimits& groups) {
    sink_.key(Field::groups);
    sink_.begin_object();
    integer(Field::size, groups.size);
    integer(Field::grace, groups.grace);
    if (groups.max_delay) integer(Field::max_delay, *groups.max_delay);
    sink_.end_object();
  }

  void defaults(const JobDefaults& defaults) {
    sink_.key(Field::defaults);
    sink_.begin_object();
    if (defaults.max_retries) integer(Field::max_retries, *defaults.max_retries);
    if (defaults.policy) policy(Field::retry_policy, *defaults.policy);
    if (defaults.on_exhausted) text(Field::on_exhausted, name_of(*defaults.on_exhausted));
    if (defaults.retention) retention(*defaults.retention);
    if (defaults.timeout) integer(Field::timeout, *defaults.timeout);
    if (defaults.priority) integer(Field::priority, *defaults.priority);
    sink_.end_object();
  }

  // Null: kept.
  void retention(Duration retention) {
    sink_.key(Field::retention);
    if (retention == kKept) {
      sink_.null();
    } else {
      sink_.integer(retention);
    }
  }

  void error(Field key, const JobError& error) {
    sink_.key(key);
    sink_.begin_object();
    text(Field::code, error.code);
    text(Field::message, error.message);
    if (error.data) text(Field::data, *error.data);
    sink_.end_object();
  }

  void attempt(const Attempt& attempt) {
    sink_.begin_object();
    integer(Field::number, attempt.number);
    text(Field::worker, attempt.worker->text);
    integer(Field::started_at, attempt.started_at);
    instant(Field::finished_at, attempt.finished_at);
    if (attempt.outcome != Outcome::open) text(Field::outcome, name_of(attempt.outcome));
    if (attempt.error) error(Field::error, *attempt.error);
    sink_.end_object();
  }

  void text(Field key, std::string_view text) {
    sink_.key(key);
    sink_.string(text);
  }
  void integer(Field key, std::int64_t number) {
    sink_.key(key);
    sink_.integer(number);
  }
  void instant(Field key, Instant at) {
    if (at != kUnset) integer(key, at);
  }
  // Nothing where nothing is given.
  void given(Field key, const std::optional<std::string>& one) {
    if (one) text(key, *one);
  }
  void given(Field key, const std::optional<std::int64_t>& one) {
    if (one) integer(key, *one);
  }
  void given(Field key, const Value& one) {
    if (!one.empty()) value(key, one);
  }
  void given(Field key, const StringMap& map) {
    if (map.empty()) return;
    sink_.key(key);
    encode_strings(sink_, map);
  }

 private:
  void flag(Field key, bool set) {
    if (!set) return;
    sink_.key(key);
    sink_.boolean(true);
  }
  void value(Field key, const Value& value) {
    sink_.key(key);
    encode_value(sink_, DialectId::k2026_04_01, value);
  }
  void flight(const Flight& flight) {
    sink_.key(Field::flight);
    sink_.begin_object();
    integer(Field::first_at, flight.first_at);
    integer(Field::last_at, flight.last_at);
    integer(Field::count, flight.count);
    sink_.end_object();
  }
  void unique(const JobSpec& spec) {
    if (spec.unique_key) text(Field::unique_key, *spec.unique_key);
    if (spec.unique_for) integer(Field::unique_for, spec.unique_for);
  }
  void attempts(const Job& job) {
    sink_.key(Field::attempts);
    sink_.begin_array();
    for (const Attempt& one : job.attempts) attempt(one);
    sink_.end_array();
  }
  void settings(const Queue& queue) {
    text(Field::name, queue.name);
    sink_.key(Field::paused);
    sink_.boolean(queue.paused);
    if (queue.lifecycle != Lifecycle::none) text(Field::lifecycle, name_of(queue.lifecycle));
    integer(Field::weight, queue.weight);
    if (queue.concurrency) integer(Field::concurrency, queue.concurrency);
    if (queue.rate) rate(*queue.rate);
    if (queue.groups) groups(*queue.groups);
    if (!queue.defaults.empty()) defaults(queue.defaults);
  }

  Sink& sink_;
};

}  // namespace detail

// The job of a row as a reply shows it.
template <DocumentSink Sink>
void encode_job(Sink& sink, const Row& row) {
  detail::JobEncoder<Sink>(sink).record(row);
}

template <DocumentSink Sink>
void encode_queue(Sink& sink, const Queue& queue) {
  detail::JobEncoder<Sink>(sink).queue_record(queue);
}

}  // namespace resonate
