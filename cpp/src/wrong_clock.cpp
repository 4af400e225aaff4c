// Sets the clock of a store back (docs/decisions/0016). There are three rules, by kind of instant:
//   a past event (createdAt, settledAt, claimed_at, ...) happened now at the latest
//   a deadline keeps its distance from its promise's creation, a good_until its distance from the job's sent_at
//   a timer that was set ahead of now keeps the remaining time that it had at the last instant of the store
#include "wrong_clock.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codec/state_view.hpp"
#include "machine/calendar.hpp"
#include "machine/derive.hpp"
#include "machine/schedules.hpp"
#include "resonate/cron.hpp"

namespace resonate {

namespace {

constexpr Duration kDay = 86'400'000;

class ClockRepair {
 public:
  ClockRepair(Instant from, Instant to) noexcept : from_(from), to_(to), ahead_(saturating_sub(from, to)) {}

  // Returns the same pointer if no instant of the row is ahead.
  RowRef row(const RowRef& given) {
    changed_ = false;
    const Row& was = *given;
    Shared<PromiseSpec> promise_spec(copy_of(*was.promise_spec));
    Shared<Row> row(new Row(was));
    const Duration created_ahead = ahead_of_now(was.promise_spec->created_at);
    const bool at_deadline = was.settled_at != kUnset && was.settled_at == was.promise_spec->timeout_at;
    put(promise_spec->created_at, past(was.promise_spec->created_at));
    put(row->settled_at, past(was.settled_at));
    put(promise_spec->timeout_at, at_deadline ? row->settled_at : earlier(was.promise_spec->timeout_at, created_ahead));
    const bool promise_spec_changed = changed_;
    if (was.job) row->job = job(was, row->settled_at);
    if (was.expires_at != kUnset && saturating_sub(was.expires_at, was.ttl) > to_) put(row->expires_at, to_go(was.expires_at));
    if (was.retry_at != kUnset) put(row->retry_at, retry_at(was, *promise_spec));
    if (!changed_) return given;
    if (promise_spec_changed) row->promise_spec = std::move(promise_spec);
    row->due = next_due(*row);
    return row;
  }

  ScheduleRef schedule(const ScheduleRef& given) {
    changed_ = false;
    Shared<Schedule> schedule(new Schedule(*given));
    put(schedule->created_at, past(given->created_at));
    const Instant last = given->last_run_at.value_or(kUnset);
    if (given->next_run_at > to_ || last > to_) place(*schedule, last);
    if (given->set_aside && given->set_aside->retry_at > to_) {
      Shared<SetAside> set_aside(new SetAside(*given->set_aside));
      put(set_aside->retry_at, to_);  // examined again now
      schedule->set_aside = std::move(set_aside);
    }
    return changed_ ? ScheduleRef(std::move(schedule)) : given;
  }

  // Moves an hour that has not ended yet into the queue's present hour, and returns whether it did.
  bool joins_present(Queue& queue, const EndedHour& ended) const {
    if (!queue.hour || ended.counted.hour < queue.hour->hour) return false;
    add_to(*queue.hour, ended.counted);
    return true;
  }

  QueueRef queue(const QueueRef& given) {
    changed_ = false;
    Shared<Queue> queue(new Queue(*given));
    // Days in the future count as today.
    const std::int64_t today = calendar::floor_div(to_, kDay);
    QueueDay sum{today, 0, 0};
    while (!queue->days.empty() && (queue->days.back().day > today || (changed_ && queue->days.back().day == today))) {
      sum.processed = saturating_add(sum.processed, queue->days.back().processed);
      sum.failed = saturating_add(sum.failed, queue->days.back().failed);
      queue->days.pop_back();
      changed_ = true;
    }
    if (changed_) queue->days.push_back(sum);
    const std::int64_t hour = calendar::floor_div(to_, kHour);
    if (queue->hour && queue->hour->hour > hour) {
      queue->hour->hour = hour;
      changed_ = true;
    }
    put(queue->refilled_at, past(given->refilled_at));
    for (std::size_t i = 0; i < queue->claims.size(); ++i) put(queue->claims[i].at, past(given->claims[i].at));
    return changed_ ? QueueRef(std::move(queue)) : given;
  }

  MessageRef message(const MessageRef& given) {
    if (given->queued_at <= to_) return given;
    Shared<OutboxMessage> message(new OutboxMessage(*given));
    message->queued_at = to_;
    return message;
  }

 private:
  void put(Instant& place, Instant at) noexcept {
    changed_ = changed_ || place != at;
    place = at;
  }
  Instant past(Instant at) const noexcept { return std::min(at, to_); }  // kUnset is the least instant
  Duration ahead_of_now(Instant at) const noexcept { return std::max<Duration>(0, saturating_sub(at, to_)); }
  static Instant earlier(Instant at, Duration by) noexcept { return at == kNever ? at : saturating_sub(at, by); }
  Instant to_go(Instant at) const noexcept { return std::max(to_, earlier(at, ahead_)); }

  static PromiseSpec* copy_of(const PromiseSpec& promise_spec) {
    auto* copy = new PromiseSpec;
    copy->id = promise_spec.id;
    copy->param = promise_spec.param;
    copy->tags = promise_spec.tags;
    copy->timeout_at = promise_spec.timeout_at;
    copy->created_at = promise_spec.created_at;
    copy->ikc = promise_spec.ikc;
    copy->dialect = promise_spec.dialect;
    copy->child = promise_spec.child;
    derive_promise_spec(*copy);
    return copy;
  }

  // The new retry_at of a row's task.
  Instant retry_at(const Row& was, const PromiseSpec& promise_spec) const {
    const Instant at = was.retry_at;
    if (was.job) {
      if (was.job->group_state) return was.job->group_state->last_at > to_ ? to_go(at) : at;
      if (at == was.promise_spec->timeout_at) return promise_spec.timeout_at;
      return set_at(*was.job) > to_ ? to_go(at) : at;
    }
    if (at == was.promise_spec->timeout_at) return promise_spec.timeout_at;
    if (at <= to_ || (was.promise_spec->created_at <= to_ && at == delay_of(*was.promise_spec))) return at;
    return to_go(at);
  }
  static Instant delay_of(const PromiseSpec& promise_spec) {
    Instant at = kUnset;
    if (const std::string* delay = promise_spec.tags.find("resonate:delay"))
      (void)std::from_chars(delay->data(), delay->data() + delay->size(), at);
    return at;
  }
  // The instant at which the timer of a waiting job was set: its last attempt's end, or sent_at.
  static Instant set_at(const Job& job) noexcept {
    return job.attempts.empty() ? job.spec->sent_at : std::max(job.attempts.back().started_at, job.attempts.back().finished_at);
  }

  Shared<const Job> job(const Row& was, Instant settled_at) {
    const bool row_changed = std::exchange(changed_, false);
    Shared<Job> job(new Job(*was.job));
    const JobState state = job->state;
    const bool waits = (state == JobState::scheduled && !job->gathering) || state == JobState::retry;
    if (waits && was.retry_at != was.promise_spec->timeout_at) {
      const Instant at = set_at(*was.job) > to_ ? to_go(was.retry_at) : was.retry_at;
      put(state == JobState::retry ? job->next_retry_at : job->process_at, at);
    }
    if (state == JobState::waiting && job->process_at > to_) {  // it counts once the last awaited promise is settled
      if (set_at(*was.job) > to_) put(job->process_at, to_go(job->process_at));
    } else if (state != JobState::scheduled || job->gathering) {
      put(job->process_at, past(job->process_at));
    }
    for (Instant* at : {&job->enqueued_at, &job->first_enqueued_at, &job->claimed_at, &job->started_at, &job->completed_at,
                        &job->failed_at, &job->cancelled_at, &job->expired_at})
      put(*at, past(*at));
    for (Attempt& attempt : job->attempts) {
      put(attempt.started_at, past(attempt.started_at));
      put(attempt.finished_at, past(attempt.finished_at));
    }
    if (job->group_state && job->group_state->last_at > to_) {
      Shared<GroupState> group_state(new GroupState(*job->group_state));
      put(group_state->first_at, past(group_state->first_at));
      put(group_state->last_at, to_);
      job->group_state = std::move(group_state);
    }
    job->spec = spec(*was.job);
    if (job->reclaim_at != kUnset && job->reclaim_at > to_) {
      const bool retained = job->completed_at != kUnset && job->spec->retention != kKept && !job->deleted;
      put(job->reclaim_at, retained ? saturating_add(settled_at, job->spec->retention) : to_);
    }
    const bool job_changed = std::exchange(changed_, changed_ || row_changed);
    return job_changed ? Shared<const Job>(std::move(job)) : was.job;
  }

  Shared<const JobSpec> spec(const Job& was) {
    const bool changed = std::exchange(changed_, false);
    Shared<JobSpec> spec(new JobSpec(*was.spec));
    const Duration sent_ahead = ahead_of_now(was.spec->sent_at);
    put(spec->sent_at, past(was.spec->sent_at));
    put(spec->good_until, earlier(was.spec->good_until, sent_ahead));
    // Another job may hold by now the key that this job no longer holds.
    if (was.spec->unique_key && was.spec->unique_for && !is_terminal(was.state) && !was.holds_unique_key(from_)) {
      spec->unique_key.reset();
      spec->unique_for = 0;
      changed_ = true;
    }
    const bool spec_changed = std::exchange(changed_, changed_ || changed);
    return spec_changed ? Shared<const JobSpec>(std::move(spec)) : was.spec;
  }

  // Recomputes the next occurrence of a schedule that ran ahead.
  void place(Schedule& schedule, Instant last) {
    Instant next = kUnset;
    try {
      const CronExpression cron = CronExpression::parse(schedule.cron);
      next = cron.next_after(to_).value_or(kNever);
      if (last > to_) {
        schedule.last_run_at = cron.latest_at_or_before(to_, schedule.created_at);
        changed_ = true;
      }
    } catch (const InvalidCron&) {  // the next occurrence is computed when the schedule can be fired again
      next = saturating_add(to_, 1);
      if (last > to_) {
        schedule.last_run_at = to_;
        changed_ = true;
      }
    }
    put(schedule.next_run_at, next);
  }

  Instant from_;
  Instant to_;
  Duration ahead_;
  bool changed_ = false;
};

// The ids of promises that schedules created ahead of an instant.
class Occurrences {
 public:
  Occurrences(Storage& contents, Instant to) : to_(to) {
    each_schedule(contents, [this](const ScheduleRef& schedule) {
      std::string beginning = fixed_beginning(schedule->promise_id, schedule->id);
      lengths_.insert(beginning.size());
      by_beginning_[std::move(beginning)].push_back(schedule);
    });
  }

  bool ahead(const Row& row) const {
    const Instant at = row.job ? row.job->spec->sent_at : row.promise_spec->created_at;
    if (at <= to_) return false;
    for (const std::size_t length : lengths_) {
      if (length > row.id().size()) continue;
      const auto found = by_beginning_.find(row.id().substr(0, length));
      if (found == by_beginning_.end()) continue;
      for (const ScheduleRef& schedule : found->second)
        if (occurrence_id(*schedule, at) == row.id()) return true;
    }
    return false;
  }

 private:
  Instant to_;
  std::set<std::size_t> lengths_;
  std::unordered_map<std::string, std::vector<ScheduleRef>> by_beginning_;
};

// The ids that other records refer to; these promises are kept.
std::unordered_set<std::string> named_ids(Storage& contents) {
  std::unordered_set<std::string> named;
  each_message(contents, [&named](const MessageRef& message) {
    if (message->kind == MessageKind::unblock) named.insert(message->id);
  });
  each_promise(contents, [&named](const StateView::Promise& promise) {
    const Row& row = *promise.row;
    if (row.resumes) named.insert(row.resumes->items.begin(), row.resumes->items.end());
    if (row.current) named.insert(row.current->text);
    for (const EdgeRef& edge : promise.callbacks) named.insert(edge->other);
  });
  return named;
}

// Returns whether only its schedule and its deadline have changed the promise.
bool untouched(const Row& row) {
  if (row.acquisitions > 0 || row.callbacks > 0 || row.listeners > 0) return false;
  if (row.promise_spec->child) return false;
  if (row.job &&
      (row.job->attempt_count > 0 || row.job->has_family() || row.job->batch || row.job->deleted || !row.job->awaiters.empty()))
    return false;
  if (row.task == TaskState::halted) return false;
  const bool expired = row.job && row.job->state == JobState::expired;
  return row.state == PromiseState::pending || row.settled_at == row.promise_spec->timeout_at || expired;
}

}  // namespace

std::unique_ptr<Storage> with_clock_set_back(Storage& contents, Instant to, ClockReset& done) {
  done.from = std::max(contents.counters().now, to);
  done.to = to;
  ClockRepair repair(done.from, to);
  const Occurrences occurrences(contents, to);
  const std::unordered_set<std::string> named = named_ids(contents);
  std::unordered_set<std::string> removed;
  std::unordered_map<std::string, std::array<std::int64_t, kJobStates>> jobs_gone;
  const auto count = [](const auto& was, const auto& is, std::int64_t& changed) {
    if (was != is) ++changed;
  };

  Changes all;
  all.counters = contents.counters();
  all.counters.now = to;
  each_promise(contents, [&](const StateView::Promise& promise) {
    const RowRef& row = promise.row;
    if (untouched(*row) && !named.contains(row->id()) && occurrences.ahead(*row)) {
      removed.insert(row->id());
      if (row->job) ++jobs_gone[row->job->spec->queue][static_cast<std::size_t>(row->job->state)];
      return;
    }
    RowRef repaired = repair.row(row);
    count(row, repaired, done.promises);
    all.rows.push_back({RowRef(), std::move(repaired)});
    for (const auto* edges : {&promise.callbacks, &promise.listeners, &promise.keepers})
      all.edges_added.insert(all.edges_added.end(), edges->begin(), edges->end());
  });
  done.removed = static_cast<std::int64_t>(removed.size());
  each_schedule(contents, [&](const ScheduleRef& schedule) {
    ScheduleRef repaired = repair.schedule(schedule);
    count(schedule, repaired, done.schedules);
    all.schedules.push_back({ScheduleRef(), std::move(repaired)});
  });
  for (const QueueRef& queue : contents.queues()) {
    QueueRef repaired = repair.queue(queue);
    count(queue, repaired, done.queues);
    if (const auto gone = jobs_gone.find(queue->name); gone != jobs_gone.end()) {
      Shared<Queue> counted(new Queue(*repaired));
      for (std::size_t i = 0; i < kJobStates; ++i) counted->counts[i] = saturating_sub(counted->counts[i], gone->second[i]);
      repaired = std::move(counted);
    }
    Shared<Queue> merged(new Queue(*repaired));
    for (HourRef& hour : contents.hours(queue->name, std::numeric_limits<std::int64_t>::min()))
      if (!repair.joins_present(*merged, *hour)) all.hours.push_back({std::move(hour), std::numeric_limits<std::int64_t>::min()});
    all.queues.push_back({QueueRef(), std::move(merged)});
  }
  each_message(contents, [&](const MessageRef& message) {
    if (removed.contains(message->id)) return;
    MessageRef repaired = repair.message(message);
    count(message, repaired, done.messages);
    all.messages_added.push_back(std::move(repaired));
  });
  std::unique_ptr<Storage> repaired = make_memory_storage();
  repaired->write(all);
  return repaired;
}

}  // namespace resonate
