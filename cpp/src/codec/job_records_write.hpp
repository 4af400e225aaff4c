// Encodes jobs and queues in two forms: the record of a reply, projected at an instant, and the complete form for snapshots and
// storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "codec/described_write.hpp"
#include "codec/members_write.hpp"
#include "codec/records_encode.hpp"
#include "resonate/records.hpp"

namespace resonate {

// The first of what a waiting job lacks, and how many there are.
template <DocumentSink Sink>
void encode_awaits(Sink& sink, const Job& job) {
  sink.begin_object();
  sink.key(Field::ids);
  sink.begin_array();
  for (std::size_t i = 0; i < std::min(job.awaits.size(), kAwaitsShown); ++i) sink.string(job.awaits[i]);
  sink.end_array();
  write_integer(sink, Field::count, static_cast<std::int64_t>(job.awaits.size()) + job.more_awaits);
  sink.end_object();
}

namespace detail {

template <DocumentSink Sink>
class JobEncoder {
 public:
  explicit JobEncoder(Sink& sink) : sink_(sink) {}

  void record(const Row& row) {
    sink_.begin_object();
    [&]<std::size_t... I>(std::index_sequence<I...>) { (part<kRecord[I]>(row), ...); }
    (std::make_index_sequence<std::size(kRecord)>());
    each_field<JobSpec>([&]<std::size_t I>() {
      if constexpr (std::ranges::find(kRecord, kField<JobSpec, I>.field) == std::end(kRecord))
        DescribedWriter<Sink, Audience::replies>(sink_).template one<JobSpec, I>(*row.job->spec);
    });
    sink_.end_object();
  }

  // Beside its task and its keepers.
  void whole(const Job& job) {
    sink_.begin_object();
    members(job);
    sink_.end_object();
  }

  // By itself, with its holder (null: none) and the number of its keepers.
  void alone(const Job& job, const SharedString* holder) {
    sink_.begin_object();
    if (holder) write_text(sink_, Field::claimed_by, holder->text);
    members(job);
    if (job.keepers) write_integer(sink_, Field::keepers, job.keepers);
    if (job.kept_callbacks) write_integer(sink_, Field::kept_callbacks, job.kept_callbacks);
    if (job.drained_through) write_integer(sink_, Field::drained_through, job.drained_through);
    sink_.end_object();
  }

  void queue_record(const Queue& queue) {
    sink_.begin_object();
    DescribedWriter<Sink, Audience::replies>(sink_).members(queue);
    write_integer(sink_, Field::active, queue.active());
    sink_.end_object();
  }

  void whole(const Queue& queue) {
    sink_.begin_object();
    DescribedWriter<Sink>(sink_).members(queue);
    counts(queue);
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

 private:
  // The order of a record (JOBS 2); other members of the specification follow.
  static constexpr Field kRecord[] = {
      Field::id,           Field::queue,       Field::type,        Field::state,        Field::payload,      Field::tags,
      Field::priority,     Field::version,     Field::max_retries, Field::retry_count,  Field::retry_policy, Field::on_exhausted,
      Field::claimed_by,   Field::lease_until, Field::group,       Field::batch,        Field::gathering,    Field::process_at,
      Field::good_until,   Field::timeout,     Field::deadline,    Field::retention,    Field::unique_key,   Field::unique_for,
      Field::result,       Field::error,       Field::attempts,    Field::report,       Field::after,        Field::after_failed,
      Field::awaits,       Field::steps,       Field::args,        Field::restarts,     Field::created_at,   Field::sent_at,
      Field::enqueued_at,  Field::claimed_at,  Field::started_at,  Field::completed_at, Field::failed_at,    Field::next_retry_at,
      Field::cancelled_at, Field::expired_at,
  };

  void members(const Job& job) {
    const DescribedWriter<Sink> all(sink_);
    all.members(*job.spec);
    all.members(job);
  }

  template <Field F>
  void part(const Row& row) {
    const Job& job = *row.job;
    if constexpr (F == Field::id) {
      write_text(sink_, F, row.id());
    } else if constexpr (F == Field::state) {
      write_text(sink_, F, name_of(job.state));
    } else if constexpr (F == Field::payload) {
      value(F, row.payload());
    } else if constexpr (F == Field::tags) {
      sink_.key(F);
      encode_strings(sink_, row.promise_spec->tags);
    } else if constexpr (F == Field::version) {
      write_integer(sink_, F, row.acquisitions);
    } else if constexpr (F == Field::claimed_by) {
      if (is_held(job.state)) write_text(sink_, F, row.pid->text);
    } else if constexpr (F == Field::lease_until) {
      if (is_held(job.state)) write_integer(sink_, F, row.expires_at);
    } else if constexpr (F == Field::deadline) {
      if (row.promise_spec->timeout_at != kNever) write_integer(sink_, F, row.promise_spec->timeout_at);
    } else if constexpr (F == Field::created_at) {
      write_instant(sink_, F, row.promise_spec->created_at);
    } else if constexpr (F == Field::awaits) {
      if (job.state != JobState::waiting) return;
      sink_.key(F);
      encode_awaits(sink_, job);
    } else if constexpr (F == Field::result) {
      if (is_terminal(job.state)) value(F, row.result());
    } else if constexpr (place_of<JobSpec>(F) < kSize<JobSpec>) {
      DescribedWriter<Sink, Audience::replies>(sink_).template one<JobSpec, place_of<JobSpec>(F)>(*job.spec);
    } else {
      DescribedWriter<Sink, Audience::replies>(sink_).template one<Job, place_of<Job>(F)>(job);
    }
  }

  void value(Field key, const Value& value) {
    sink_.key(key);
    encode_value(sink_, DialectId::k2026_04_01, value);
  }

  Sink& sink_;
};

}  // namespace detail

// Encodes the job of a row as a reply contains it.
template <DocumentSink Sink>
void encode_job(Sink& sink, const Row& row) {
  detail::JobEncoder<Sink>(sink).record(row);
}

template <DocumentSink Sink>
void encode_queue(Sink& sink, const Queue& queue) {
  detail::JobEncoder<Sink>(sink).queue_record(queue);
}

}  // namespace resonate
