// Requests on jobs and queues → the `data` of their envelopes, for traces.
#pragma once

#include <string_view>

#include "codec/jobs_encode_order.hpp"
#include "resonate/job_requests.hpp"

namespace resonate {
namespace detail {

template <DocumentSink Sink>
class JobRequestEncoder {
 public:
  explicit JobRequestEncoder(Sink& sink) : sink_(sink), parts_(sink) {}

  void data(const JobEnqueue& enqueue) { order(enqueue.order.front()); }
  void data(const JobEnqueueMany& many) {
    sink_.begin_object();
    list(Field::jobs, many.orders, [this](const JobOrder& one) { order(one); });
    sink_.end_object();
  }
  void data(const JobGet& get) { named(Field::id, get.id); }
  void data(const JobClaim& claim) {
    sink_.begin_object();
    list(Field::queues, claim.queues, [this](const QueueChoice& queue) {
      sink_.begin_object();
      parts_.text(Field::name, queue.name);
      parts_.given(Field::weight, queue.weight);
      sink_.end_object();
    });
    parts_.integer(Field::count, claim.count);
    parts_.text(Field::worker, claim.worker);
    parts_.integer(Field::lease, claim.lease);
    parts_.given(Field::run_lease, claim.run_lease);
    sink_.key(Field::strict);
    sink_.boolean(claim.strict);
    if (claim.start) parts_.integer(Field::start, claim.start);
    sink_.end_object();
  }
  void data(const JobStart& start) {
    begin_held(start.id, start.version);
    parts_.given(Field::lease, start.lease);
    sink_.end_object();
  }
  void data(const JobStartMany& many) {
    sink_.begin_object();
    refs(many.jobs);
    parts_.given(Field::lease, many.lease);
    sink_.end_object();
  }
  void data(const JobHeartbeat& heartbeat) {
    sink_.begin_object();
    parts_.text(Field::worker, heartbeat.worker);
    refs(heartbeat.jobs);
    sink_.end_object();
  }
  void data(const JobComplete& complete) {
    begin_held(complete.id, complete.version);
    parts_.given(Field::result, complete.result);
    sink_.end_object();
  }
  void data(const JobCompleteMany& many) {
    sink_.begin_object();
    list(Field::jobs, many.jobs, [this](const JobComplete& one) { data(one); });
    sink_.end_object();
  }
  void data(const JobFail& fail) {
    begin_held(fail.id, fail.version);
    parts_.error(Field::error, fail.error);
    sink_.key(Field::retryable);
    sink_.boolean(fail.retryable);
    parts_.given(Field::retry_after, fail.retry_after);
    sink_.end_object();
  }
  void data(const JobRelease& release) {
    begin_held(release.id, release.version);
    sink_.end_object();
  }
  void data(const JobSnooze& snooze) {
    begin_held(snooze.id, snooze.version);
    parts_.integer(Field::delay, snooze.delay);
    sink_.end_object();
  }
  void data(const JobCancel& cancel) { filtered(cancel.which); }
  void data(const JobRun& run) { filtered(run.which); }
  void data(const JobArchive& archive) { filtered(archive.which); }
  void data(const JobDelete& gone) { filtered(gone.which); }
  void data(const JobSearch& search) {
    sink_.begin_object();
    filter(search.filter);
    parts_.given(Field::unique_key, search.unique_key);
    parts_.given(Field::limit, search.limit);
    if (!search.cursor.empty()) parts_.text(Field::cursor, search.cursor);
    sink_.end_object();
  }
  void data(const JobStats& stats) {
    sink_.begin_object();
    parts_.given(Field::queue, stats.queue);
    sink_.end_object();
  }
  void data(const QueueSet& set) {
    sink_.begin_object();
    parts_.text(Field::queue, set.queue);
    setting(Field::lifecycle, set.lifecycle, [this](const std::string& name) { parts_.text(Field::lifecycle, name); });
    parts_.given(Field::weight, set.weight);
    setting(Field::concurrency, set.concurrency, [this](std::int64_t limit) { parts_.integer(Field::concurrency, limit); });
    setting(Field::rate, set.rate, [this](const RateLimit& rate) { parts_.rate(rate); });
    setting(Field::groups, set.groups, [this](const GroupLimits& groups) { parts_.groups(groups); });
    setting(Field::defaults, set.defaults, [this](const JobDefaults& defaults) { parts_.defaults(defaults); });
    sink_.end_object();
  }
  void data(const QueueGet& get) { named(Field::queue, get.queue); }
  void data(const QueuePause& pause) { named(Field::queue, pause.queue); }
  void data(const QueueResume& resume) { named(Field::queue, resume.queue); }
  void data(const QueueList&) {
    sink_.begin_object();
    sink_.end_object();
  }

 private:
  template <class Items, class Body>
  void list(Field key, const Items& items, Body body) {
    sink_.key(key);
    sink_.begin_array();
    for (const auto& item : items) body(item);
    sink_.end_array();
  }
  void named(Field key, const std::string& name) {
    sink_.begin_object();
    parts_.text(key, name);
    sink_.end_object();
  }
  void begin_held(const std::string& id, std::int64_t version) {
    sink_.begin_object();
    parts_.text(Field::id, id);
    parts_.integer(Field::version, version);
  }
  void refs(const std::vector<JobRef>& jobs) {
    list(Field::jobs, jobs, [this](const JobRef& job) {
      begin_held(job.id, job.version);
      sink_.end_object();
    });
  }
  void filter(const JobFilter& filter) {
    parts_.given(Field::id, filter.id);
    parts_.given(Field::queue, filter.queue);
    parts_.given(Field::type, filter.type);
    parts_.given(Field::state, filter.state);
    parts_.given(Field::group, filter.group);
    parts_.given(Field::tags, filter.tags);
  }
  void filtered(const JobFilter& which) {
    sink_.begin_object();
    filter(which);
    sink_.end_object();
  }
  template <class T, class Body>
  void setting(Field key, const Setting<T>& setting, Body body) {
    if (!setting.given) return;
    if (setting.value) return body(*setting.value);
    sink_.key(key);
    sink_.null();
  }
  void order(const JobOrder& order) { encode_order(sink_, order); }

  Sink& sink_;
  JobEncoder<Sink> parts_;
};

}  // namespace detail
}  // namespace resonate
