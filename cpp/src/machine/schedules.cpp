// Requests on schedules (PROTOCOL 3.18) and the step that fires one occurrence (PROTOCOL 4).
#include "machine/schedules.hpp"

#include <algorithm>
#include <optional>

#include "machine/derive.hpp"
#include "machine/glob.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/transitions.hpp"
#include "machine/validate.hpp"
#include "resonate/cron.hpp"

namespace resonate {

namespace {

constexpr Duration kReexamineInterval = 60'000;  // the interval at which a schedule that is set aside is examined again
constexpr Duration kMisfireGrace = 60'000;       // catchup "none" skips an occurrence that is later than this

constexpr std::string_view kId = "{{.id}}";
constexpr std::string_view kTimestamp = "{{.timestamp}}";

std::string expand(const std::string& text, const std::string& id, Instant at) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, kId.size(), kId) == 0) {
      expanded += id;
      i += kId.size();
    } else if (text.compare(i, kTimestamp.size(), kTimestamp) == 0) {
      expanded += std::to_string(at);
      i += kTimestamp.size();
    } else {
      expanded += text[i++];
    }
  }
  return expanded;
}

// Parses a schedule's expression. The last one is cached, because a schedule that catches up fires many times in a row. The result
// depends on the text alone, so the cache is invisible.
const CronExpression& expression_of(const std::string& cron) {
  thread_local std::optional<CronExpression> last;
  if (!last || last->text() != cron) last = CronExpression::parse(cron);
  return *last;
}

StringMap tags_of(const Schedule& schedule, const std::string& id, const Rules& rules) {
  StringMap tags = schedule.promise_tags;
  if (!rules.occurrence_gets_lineage_tags) return tags;
  tags.set("resonate:schedule", schedule.id);
  for (const char* tag : {"resonate:origin", "resonate:branch", "resonate:parent", "resonate:prefix"})
    if (!tags.find(tag)) tags.set(tag, id);
  return tags;
}

// Enqueues the job of an occurrence as of its instant, and returns whether it was created. If its unique key is held, it is
// skipped.
bool enqueue_occurrence(WorkingSet& set, const Schedule& schedule, const std::string& id, Instant at, const Options& options) {
  JobOrder order = schedule.job->order;
  order.id = id;
  order.payload = schedule.promise_param;
  order.tags = tags_of(schedule, id, rules(options.rules, dialect(schedule.dialect)));
  order.deadline = saturating_add(at, schedule.promise_timeout);
  order.sent_at = at;
  return Machine(set, at, dialect(schedule.dialect), options).enqueue(order).status == status::kOk;
}

// Creates the promise of an occurrence as of its instant.
Shared<Row> occurrence(const Schedule& schedule, std::string id, Instant at, const Rules& rules) {
  auto* promise_spec = new PromiseSpec;
  Shared<const PromiseSpec> held(promise_spec);
  promise_spec->param = schedule.promise_param;
  promise_spec->tags = tags_of(schedule, id, rules);
  promise_spec->id = std::move(id);
  promise_spec->created_at = at;
  promise_spec->timeout_at = saturating_add(at, schedule.promise_timeout);
  promise_spec->dialect = schedule.dialect;
  derive_promise_spec(*promise_spec);

  Shared<Row> row(new Row);
  row->promise_spec = std::move(held);
  row->external = promise_spec->initially_external;
  const bool initially_settled = promise_spec->timeout_at <= at;
  if (initially_settled) {
    row->state = timeout_state(promise_spec->timer);
    row->settled_at = promise_spec->timeout_at;
  }
  if (promise_spec->target) {
    row->task = initially_settled ? TaskState::fulfilled : *next_state(TaskEvent::enqueue, TaskState::none);
    if (!initially_settled) row->retry_at = dispatch_instant(*promise_spec, at);
  }
  return row;
}

// Stores a copy of the schedule that `change` has changed.
template <class Change>
ScheduleRef change_schedule(WorkingSet& set, const Schedule& schedule, Change change) {
  auto* changed = new Schedule(schedule);
  ScheduleRef held(changed);
  change(*changed);
  set.put_schedule(held);
  return held;
}

std::optional<Fired> set_aside(WorkingSet& set, const Schedule& schedule, std::string problem, Instant now) {
  std::optional<Fired> fired;
  if (!schedule.set_aside || schedule.set_aside->problem != problem)
    fired = Fired{.kind = StepKind::schedule_set_aside,
                  .id = schedule.id,
                  .at = schedule.due_at(),
                  .now = now,
                  .detail = problem,
                  .created = false};
  Shared<SetAside> set_aside(new SetAside);
  set_aside->problem = std::move(problem);
  set_aside->retry_at = saturating_add(now, kReexamineInterval);
  change_schedule(set, schedule, [&](Schedule& changed) { changed.set_aside = std::move(set_aside); });
  return fired;
}

}  // namespace

Reply Machine::no_schedule(const std::string& id) const {
  return refusal(status::kNotFound, "schedule " + quoted(id) + " does not exist");
}

Reply Machine::run(ScheduleGet& request) {
  const auto* entry = set_.find_schedule(request.id);
  if (!entry) return no_schedule(request.id);
  Reply reply = ok();
  reply.schedule = entry->now;
  return reply;
}

Reply Machine::run(ScheduleCreate& request) {
  Reply reply = ok();
  if (const auto* existing = set_.find_schedule(request.id)) {
    reply.schedule = existing->now;
    return reply;
  }
  std::optional<Instant> next;
  try {
    next = expression_of(request.cron).next_after(now_);
  } catch (const InvalidCron& problem) {  // its zone was removed after the request was validated
    return refusal(status::kInvalid, problem.what());
  }
  if (!next)
    return refusal(status::kInvalid,
                   "cron must have an occurrence after " + std::to_string(now_) + ", got " + quoted(request.cron));
  if (request.job)
    if (auto refused = refuse_by_lifecycle(*request.job)) return refusal(status::kInvalid, "job of a schedule: " + *refused);
  auto* schedule = new Schedule;
  reply.schedule = ScheduleRef(schedule);
  schedule->id = std::move(request.id);
  schedule->cron = std::move(request.cron);
  schedule->promise_id = std::move(request.promise_id);
  schedule->promise_timeout = request.promise_timeout;
  schedule->promise_param = std::move(request.promise_param);
  schedule->promise_tags = std::move(request.promise_tags);
  if (request.job) {
    Shared<JobTemplate> job(new JobTemplate);
    job->order = std::move(*request.job);
    schedule->job = std::move(job);
  }
  schedule->created_at = now_;
  schedule->next_run_at = *next;
  schedule->dialect = dialect_.id;
  set_.put_schedule(reply.schedule);
  return reply;
}

Reply Machine::run(ScheduleDelete& request) {
  auto* entry = set_.find_schedule(request.id);
  if (!entry) return no_schedule(request.id);
  set_.remove_schedule(*entry);
  return ok();
}

Reply Machine::run(SchedulePause& request) {
  const auto* entry = set_.find_schedule(request.id);
  if (!entry) return no_schedule(request.id);
  Reply reply = ok();
  reply.schedule = entry->now;
  if (entry->now->paused) return reply;
  reply.schedule = change_schedule(set_, *entry->now, [](Schedule& changed) {
    changed.paused = true;
    changed.set_aside = nullptr;
  });
  return reply;
}

// Occurrences in the pause are not made up for, whatever `catchup` is.
Reply Machine::run(ScheduleResume& request) {
  const auto* entry = set_.find_schedule(request.id);
  if (!entry) return no_schedule(request.id);
  Reply reply = ok();
  reply.schedule = entry->now;
  if (!entry->now->paused) return reply;
  try {
    reply.schedule = change_schedule(set_, *entry->now, [this](Schedule& changed) {
      const Instant after = std::max(now_, changed.last_run_at.value_or(now_));
      changed.next_run_at = expression_of(changed.cron).next_after(after).value_or(kNever);
      changed.paused = false;
    });
  } catch (const InvalidCron& problem) {
    return refusal(status::kInvalid, "schedule " + quoted(request.id) + " must have a valid cron to be resumed: " + problem.what());
  }
  return reply;
}

Reply Machine::run(ScheduleSearch& request) {
  const SearchQuery& query = request.query;
  const std::optional<Glob> glob = query.filter.id ? std::optional<Glob>(*query.filter.id) : std::nullopt;
  const auto limit = static_cast<std::size_t>(query.limit.value_or(10));
  Reply reply = ok();
  reply.schedules = set_.scan_schedules(query.cursor, limit + 1, [&](const Schedule& schedule) {
    return in_scope(schedule.id) && schedule.promise_tags.contains(query.filter.tags) && (!glob || glob->matches(schedule.id));
  });
  if (reply.schedules.size() > limit) {
    reply.schedules.pop_back();
    reply.cursor = reply.schedules.back()->id;
  }
  return reply;
}

std::string occurrence_id(const Schedule& schedule, Instant at) { return expand(schedule.promise_id, schedule.id, at); }

std::string fixed_beginning(const std::string& promise_id_template, const std::string& schedule_id) {
  return expand(promise_id_template.substr(0, promise_id_template.find(kTimestamp)), schedule_id, 0);
}

ScheduleProblem problem_of(const Schedule& schedule) {
  using Kind = ScheduleProblem::Kind;
  if (schedule.job && !schedule.job->unread.empty()) return {Kind::of_template, "its job cannot be read: " + schedule.job->problem};
  if (auto refused = refuse_stored(schedule)) return {Kind::of_template, *std::move(refused)};
  try {
    (void)expression_of(schedule.cron);
  } catch (const UnknownZone& problem) {
    return {Kind::zone, problem.what()};
  } catch (const InvalidCron& problem) {
    return {Kind::cron, problem.what()};
  }
  return {};
}

std::optional<Fired> fire_schedule(WorkingSet& set, WorkingSet::ScheduleEntry& entry, Instant now, const Options& options) {
  const ScheduleRef schedule = entry.now;
  std::string problem;
  if (options.recorded_problem) problem = options.recorded_problem(*schedule, now);
  if (problem.empty()) problem = problem_of(*schedule).text;
  if (!problem.empty()) return set_aside(set, *schedule, std::move(problem), now);
  const CronExpression& cron = expression_of(schedule->cron);
  Fired fired{
      .kind = StepKind::schedule, .id = schedule->id, .at = schedule->next_run_at, .now = now, .detail = {}, .created = false};
  Instant at = schedule->next_run_at;
  // While a schedule is set aside its next_run_at need not be an occurrence, because occurrences could not be computed.
  if (schedule->set_aside) at = cron.next_after(saturating_sub(at, 1)).value_or(kNever);
  if (at > now) {
    change_schedule(set, *schedule, [at](Schedule& changed) {
      changed.next_run_at = at;
      changed.set_aside = nullptr;
    });
    return fired;
  }
  if (options.catchup != CatchUp::all) at = cron.latest_at_or_before(now, at).value_or(at);
  const bool skipped = options.catchup == CatchUp::none && at < saturating_sub(now, kMisfireGrace);

  const Instant next = cron.next_after(at).value_or(kNever);  // before its job is checked, which may parse another expression
  if (!skipped) {
    fired.detail = occurrence_id(*schedule, at);
    if (!set.follow(fired.detail)) {
      if (schedule->job) {
        fired.created = enqueue_occurrence(set, *schedule, fired.detail, at, options);
      } else {
        set.create(occurrence(*schedule, fired.detail, at, rules(options.rules, dialect(schedule->dialect))));
        fired.created = true;
      }
    }
  }
  change_schedule(set, *schedule, [&](Schedule& changed) {
    changed.set_aside = nullptr;
    changed.next_run_at = next;
    if (!skipped) changed.last_run_at = at;
  });
  return fired;
}

}  // namespace resonate
