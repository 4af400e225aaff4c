// Random requests over a few ids in both dialects, and replies as texts that can be compared.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "fake_store.hpp"

namespace resonate::fake {

inline std::string text_of(const Value& value) {
  std::string text;
  if (value.headers)
    for (const auto& [key, entry] : *value.headers) text += key + "=" + entry + ";";
  return text + (value.data ? *value.data : "-");
}

// Every stored member that a reply may show or a later step depends on.
inline std::string text_of(const RowRef& row) {
  if (!row) return "none";
  std::string text = row->id() + " " + std::string(name_of(row->state)) + "/" + std::string(name_of(row->task));
  for (const std::int64_t number :
       {row->promise_spec->timeout_at, row->promise_spec->created_at, row->settled_at, row->acquisitions, row->ttl, row->expires_at,
        row->retry_at, std::int64_t{row->callbacks}, std::int64_t{row->listeners}})
    text += " " + (number == kUnset ? "-" : std::to_string(number));
  text += row->external ? " external" : " internal";
  text += " param " + text_of(row->promise_spec->param) + " value " + (row->value ? text_of(row->value->value) : "-");
  text += " pid " + (row->pid ? row->pid->text : "-") + " current " + (row->current ? row->current->text : "-") + " resumes";
  if (row->resumes)
    for (const std::string& id : row->resumes->items) text += " " + id;
  return text;
}

inline std::string text_of(const Reply& reply) {
  std::string text = std::to_string(reply.status) + "@" + std::to_string(reply.now) + " " + reply.error;
  text += "\npromise " + text_of(reply.promise) + "\ntask " + text_of(reply.task) + (reply.show_task ? " shown" : "");
  text += "\nawaited " + text_of(reply.awaited) + "\nfenced " + std::to_string(reply.fenced_status);
  if (reply.has_preload) text += "\npreload";
  for (const RowRef& row : reply.preload) text += "\n  " + text_of(row);
  for (const RowRef& row : reply.rows) text += "\n- " + text_of(row);
  text += reply.schedule ? "\nschedule " + reply.schedule->id + " " + std::to_string(reply.schedule->next_run_at) : "";
  for (const ScheduleRef& each : reply.schedules) text += "\n- " + each->id + " " + std::to_string(each->next_run_at);
  return text + "\ncursor " + reply.cursor.value_or("-");
}

// Makes requests that a store in `store`'s state would often grant.
class RandomRequests {
 public:
  explicit RandomRequests(unsigned seed) : random_(seed) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  Request next(Store& store, Instant now) {
    ++made_;
    const DialectId dialect = below(3) == 0 ? kOld : kNew;
    return Request{dialect, operation(store, dialect, now)};
  }

 private:
  // No request deletes a promise, so the range of ids advances: it always has new ids and ids of pending promises.
  std::string id() { return "p" + std::to_string(100 + made_ / 30 + below(16)); }
  std::string pid() { return "w" + std::to_string(below(3)); }
  Duration ttl() { return below(4) ? 40 + below(400) : 1 + below(20); }

  // Mostly the version that a reply would show for the task.
  std::int64_t version(Store& store, const std::string& task, DialectId dialect_id) {
    const RowRef row = store.row(task);
    if (!row || below(10) == 0) return below(4);
    return std::max<std::int64_t>(0, shown_version(dialect(dialect_id), row->task, row->acquisitions));
  }
  // A task in that state, if the range has one.
  std::string task_in(Store& store, TaskState wanted) {
    for (int tries = 0; tries < 12; ++tries) {
      std::string some = id();
      const RowRef row = store.row(some);
      if (row && row->task == wanted) return some;
    }
    return id();
  }
  // A pending promise, if the range has one.
  std::string open(Store& store) {
    for (int tries = 0; tries < 12; ++tries) {
      std::string some = id();
      const RowRef row = store.row(some);
      if (row && row->state == PromiseState::pending) return some;
    }
    return id();
  }
  StringMap some_tags() {
    StringMap made;
    if (below(3)) made.set("resonate:target", "poll://w@" + std::to_string(below(2)));
    if (below(8) == 0) made.set("resonate:invoke", "poll://v");
    if (below(8) == 0) made.set("resonate:timer", "true");
    if (below(8) == 0) made.set("resonate:external", "true");
    if (below(3) == 0) made.set("resonate:branch", "b" + std::to_string(below(2)));
    return made;
  }
  PromiseCreate creation(Instant now) {
    PromiseCreate create = fake::creation(id(), now + (below(4) ? 100 + below(2000) : below(60) - 5), some_tags());
    create.timeout_at = std::max<Instant>(0, create.timeout_at);
    if (below(4) == 0) create.param = data("param");
    if (below(6) == 0) create.ikc = "k" + std::to_string(below(2));
    if (below(10) == 0 && create.tags.find("resonate:target")) create.tags.set("resonate:delay", std::to_string(now + below(20)));
    return create;
  }
  PromiseSettle settlement(const std::string& promise) {
    static const char* const kStates[] = {"resolved", "rejected", "rejected_canceled"};
    PromiseSettle settle = fake::settlement(promise, kStates[below(3)]);
    if (below(3) == 0) settle.value = data("value");
    if (below(6) == 0) settle.iku = "k" + std::to_string(below(2));
    return settle;
  }
  SearchQuery query(bool tasks) {
    SearchQuery made;
    if (below(2))
      made.filter.state = tasks ? name_of(static_cast<TaskState>(1 + below(5))) : name_of(static_cast<PromiseState>(below(5)));
    if (below(3) == 0) made.filter.id = "p1*";
    if (tasks && below(3) == 0) made.filter.target = "poll://w@1";
    if (below(4) == 0) made.filter.tags = tags({{"resonate:branch", "b1"}});
    if (below(2)) made.limit = 1 + below(5);
    if (below(3) == 0) made.cursor = id();
    return made;
  }

  Operation operation(Store& store, DialectId dialect, Instant now) {
    switch (below(24)) {
      case 0: return PromiseGet{id()};
      case 1:
      case 2: return creation(now);
      case 3:
      case 4: return settlement(id());
      case 5: return RegisterCallback{open(store), open(store)};
      case 6: return RegisterListener{id(), "http://" + std::to_string(below(2))};
      case 7: return PromiseSearch{query(false)};
      case 8: return TaskGet{id()};
      case 9:
      case 10: {
        PromiseCreate create = creation(now);
        if (below(5)) create.tags.set("resonate:target", "poll://w@1");
        return TaskCreate{pid(), ttl(), std::move(create)};
      }
      case 11:
      case 12: {
        const std::string task = task_in(store, TaskState::pending);
        return TaskAcquire{task, version(store, task, dialect), pid(), ttl()};
      }
      case 13: {
        const std::string task = task_in(store, TaskState::acquired);
        return TaskRelease{task, version(store, task, dialect)};
      }
      case 14:
      case 15: {
        const std::string task = task_in(store, TaskState::acquired);
        return suspension(task, version(store, task, dialect), {open(store), below(3) ? open(store) : id()});
      }
      case 16: {
        const std::string task = task_in(store, TaskState::acquired);
        return TaskFulfill{task, version(store, task, dialect), settlement(task)};
      }
      case 17: {
        const std::string task = task_in(store, TaskState::acquired);
        TaskFence fence{task, version(store, task, dialect), creation(now)};
        if (below(2)) fence.action = settlement(id());
        return fence;
      }
      case 18: {
        TaskHeartbeat beat{pid(), {}};
        for (int i = below(3); i > 0; --i) {
          const std::string task = task_in(store, TaskState::acquired);
          beat.tasks.push_back({task, version(store, task, dialect)});
        }
        return beat;
      }
      case 19: return TaskHalt{below(2) ? id() : task_in(store, static_cast<TaskState>(1 + below(5)))};
      case 20: return TaskContinue{task_in(store, TaskState::halted)};
      case 21: return TaskSearch{query(true)};
      case 22:
        if (below(3) == 0) return ScheduleDelete{"s" + std::to_string(below(3))};
        return ScheduleCreate{.id = "s" + std::to_string(below(3)),
                              .cron = below(2) ? "* * * * * *" : "*/2 * * * * *",
                              .promise_id = below(2) ? "p{{.timestamp}}" : "{{.id}}.{{.timestamp}}",
                              .promise_timeout = below(3000),
                              .promise_param = {},
                              .promise_tags = some_tags(),
                              .job = {}};
      default:
        if (below(2)) return ScheduleSearch{query(false)};
        if (below(3) == 0) return SchedulePause{"s" + std::to_string(below(3))};
        if (below(2)) return ScheduleResume{"s" + std::to_string(below(3))};
        return ScheduleGet{"s" + std::to_string(below(3))};
    }
  }

  std::mt19937 random_;
  int made_ = 0;
};

}  // namespace resonate::fake
