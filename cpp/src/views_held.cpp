// Timers, leases, schedules and hours, for people.
#include "views_held.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "machine/calendar.hpp"
#include "resonate/views.hpp"
#include "rows_of_prefix.hpp"

namespace resonate {

namespace {

constexpr std::size_t kMostTimersRead = 20'000;
constexpr std::size_t kHoldersAtOnce = 100;

bool is_before(const Row& a, const Row& b) noexcept {
  return a.pid->text != b.pid->text ? a.pid->text < b.pid->text : a.id() < b.id();
}

void sort_and_cut(Leases& found, std::size_t limit) {
  std::sort(found.rows.begin(), found.rows.end(), [](const RowRef& a, const RowRef& b) { return is_before(*a, *b); });
  if (found.rows.size() <= limit) return;
  found.rows.resize(limit);
  found.complete = false;
}

}  // namespace

Leases held_jobs(Storage& storage, const std::vector<QueueRef>& queues) {
  std::int64_t left = 0;
  for (const QueueRef& queue : queues) left = saturating_add(left, queue->active());
  Leases held;
  RowRange range = rows_by_due();
  range.limit = kLongPage;
  for (std::size_t read = 0; left > 0; read += range.limit) {
    if (read >= kMostTimersRead) {
      held.complete = false;
      break;
    }
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) {
      if (!row->job || !is_held(row->job->state)) continue;
      held.rows.push_back(row);
      --left;
    }
    if (page.size() < range.limit) break;
    range.after = place_in(range, *page.back());
  }
  return held;
}

Leases leases_of(Storage& storage, std::size_t limit) {
  Leases found = held_jobs(storage, storage.queues());
  for (std::string after;;) {
    const std::vector<std::string> pids = storage.holders(after, kHoldersAtOnce);
    for (const std::string& pid : pids) {
      if (found.rows.size() > limit) break;  // one more shows that there are more
      RowRange range = tasks_held_by(pid);
      range.limit = limit + 1 - found.rows.size();
      std::vector<RowRef> tasks = storage.rows(range);
      std::move(tasks.begin(), tasks.end(), std::back_inserter(found.rows));
    }
    if (pids.size() < kHoldersAtOnce || found.rows.size() > limit) break;
    after = pids.back();
  }
  sort_and_cut(found, limit);
  return found;
}

Leases leases_of(Storage& storage, std::size_t limit, const std::string& prefix) {
  OfPrefix<RowRef> all = rows_of_prefix(storage, {}, prefix, kMostOfPrefix);
  Leases found;
  found.complete = all.complete;
  for (RowRef& row : all.found)
    if (row->pid && (!row->job || is_held(row->job->state))) found.rows.push_back(std::move(row));
  sort_and_cut(found, limit);
  return found;
}

std::vector<NextDue> next_due_of(Storage& storage, std::size_t limit, const std::string& prefix) {
  std::vector<NextDue> next;
  const auto add_row = [&next](const Row& row) {
    if (row.due.kind != DueKind::none) next.push_back({row.due, row.id()});
  };
  const auto add_schedule = [&next](const Schedule& schedule) {
    if (const std::optional<Due> due = due_key(schedule)) next.push_back({*due, schedule.id});
  };
  if (prefix.empty()) {
    RowRange rows = rows_by_due();
    rows.limit = limit;
    for (const RowRef& row : storage.rows(rows)) add_row(*row);
    for (const ScheduleRef& schedule : storage.schedules({.by = ScheduleRange::By::due, .limit = limit})) add_schedule(*schedule);
  } else {
    for (const RowRef& row : rows_of_prefix(storage, {}, prefix, kMostOfPrefix).found) add_row(*row);
    for (const ScheduleRef& schedule : schedules_of_prefix(storage, prefix, kMostOfPrefix).found) add_schedule(*schedule);
  }
  std::sort(next.begin(), next.end(),
            [](const NextDue& a, const NextDue& b) { return a.due != b.due ? a.due < b.due : a.id < b.id; });
  if (next.size() > limit) next.resize(limit);
  return next;
}

std::vector<ScheduleRef> late_schedules(Storage& storage, std::size_t limit, Instant now) {
  std::vector<ScheduleRef> late = storage.schedules({.by = ScheduleRange::By::due, .until = now, .limit = limit});
  std::erase_if(late, [](const ScheduleRef& schedule) { return static_cast<bool>(schedule->set_aside); });
  for (ScheduleRef& schedule : storage.schedules({.by = ScheduleRange::By::set_aside, .limit = limit - late.size()}))
    late.push_back(std::move(schedule));
  return late;
}

std::vector<std::pair<std::string, std::vector<QueueHour>>> hours_of(Storage& storage, const std::optional<std::string>& queue,
                                                                     std::int64_t since) {
  std::vector<QueueRef> queues;
  if (!queue) {
    queues = storage.queues();
  } else if (QueueRef known = storage.load_queue(*queue)) {
    queues.push_back(std::move(known));
  }
  std::vector<std::pair<std::string, std::vector<QueueHour>>> all;
  for (const QueueRef& one : queues) {
    std::vector<QueueHour> hours;
    const bool ended_before = one->hour && one->hour->hour <= since;  // no hour ends behind the present one
    if (!ended_before)
      for (const HourRef& ended : storage.hours(one->name, since)) hours.push_back(ended->counted);
    if (one->hour && one->hour->hour >= since) hours.push_back(*one->hour);
    all.emplace_back(one->name, std::move(hours));
  }
  return all;
}

}  // namespace resonate
