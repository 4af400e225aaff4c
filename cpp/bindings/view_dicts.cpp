#include "view_dicts.hpp"

#include <algorithm>
#include <array>

#include "bind.hpp"
#include "codec/snapshot.hpp"
#include "machine/calendar.hpp"

namespace resonate::python {

namespace {

const char* name_of(DueKind kind) noexcept {
  constexpr std::array kNames = {"drain", "timeout", "lease", "dispatch", "retention", "schedule", "none"};
  return kNames[static_cast<std::size_t>(kind)];
}

py::dict hour_dict(const QueueHour& hour) {
  py::dict made;
  made["at"] = saturating_mul(hour.hour, kHour);
  each_field<QueueHour>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<QueueHour, I>.field;
    if constexpr (kWhich != Field::hour) made[py::str(std::string(resonate::name_of(kWhich)))] = kField<QueueHour, I>.access(hour);
  });
  return made;
}

py::dict counts_dict(const std::array<std::int64_t, kJobStates>& counts) {
  py::dict made;
  for (std::size_t state = 0; state < kJobStates; ++state)
    made[py::str(std::string(resonate::name_of(static_cast<JobState>(state))))] = counts[state];
  return made;
}

}  // namespace

py::list due_list(const std::vector<NextDue>& next) {
  py::list made;
  for (const NextDue& one : next) {
    py::dict shown;
    shown["at"] = one.due.at == kAtOnce ? py::object(py::none()) : py::object(py::int_(one.due.at));
    shown["kind"] = name_of(one.due.kind);
    shown["id"] = one.id;
    made.append(std::move(shown));
  }
  return made;
}

py::dict lease_dict(const Row& row) {
  py::dict made;
  made["pid"] = row.pid->text;
  made["kind"] = row.job ? "job" : "task";
  made["id"] = row.id();
  made["version"] = row.acquisitions;
  made["expiresAt"] = row.expires_at;
  made["ttl"] = row.ttl;
  made["heartbeatAt"] = saturating_sub(row.expires_at, row.ttl);
  if (!row.job) return made;
  made["queue"] = row.job->spec->queue;
  made["type"] = row.job->spec->type;
  made["state"] = std::string(resonate::name_of(row.job->state));
  if (row.job->started_at != kUnset) made["startedAt"] = row.job->started_at;
  return made;
}

py::list hours_list(const std::vector<std::pair<std::string, std::vector<QueueHour>>>& all) {
  py::list made;
  for (const auto& [one, counted] : all) {
    py::list shown;
    for (const QueueHour& hour : counted) shown.append(hour_dict(hour));
    py::dict of_queue;
    of_queue["queue"] = one;
    of_queue["hours"] = std::move(shown);
    made.append(std::move(of_queue));
  }
  return made;
}

py::dict totals_dict(const QueueTotals& totals, Instant at) {
  const auto latency = [at](Instant oldest) { return oldest == kUnset ? 0 : std::max<Duration>(0, saturating_sub(at, oldest)); };
  py::list queues;
  for (const QueueTotals::One& one : totals.shown) {
    py::dict queue;
    queue["name"] = one.queue->name;
    queue["counts"] = counts_dict(one.queue->counts);
    queue["latency"] = latency(one.oldest_pending_at);
    queues.append(std::move(queue));
  }
  py::dict others;
  others["queues"] = totals.others;
  others["counts"] = counts_dict(totals.counts_of_others);
  others["latency"] = latency(totals.oldest_of_others);
  py::dict made;
  made["queues"] = std::move(queues);
  made["others"] = std::move(others);
  made["paused"] = totals.paused;
  return made;
}

}  // namespace resonate::python
