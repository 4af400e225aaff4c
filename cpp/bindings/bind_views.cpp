// store.views: reads for people (resonate/views.hpp).
#include "resonate/views.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "bind.hpp"
#include "codec/snapshot.hpp"
#include "display.hpp"
#include "keyword_method.hpp"
#include "machine/calendar.hpp"
#include "open_store.hpp"
#include "sequence_class.hpp"
#include "state_types.hpp"
#include "view_dicts.hpp"

namespace resonate::python {

namespace {

using JobStates = Shown<"collections.abc.Iterable[resonate_core._core.JobState] | None">;
using PromiseStates = Shown<"collections.abc.Iterable[resonate_core._core.PromiseState] | None">;
using Dicts = Shown<"list[dict[str, typing.Any]]">;

// Rows that a search found.
template <class RecordOfRow>
struct FoundRecords {
  using Record = RecordOfRow;
  Found found;
  std::size_t size() const noexcept { return found.rows.size(); }
  Record at(std::size_t i) const { return {found.rows[i]}; }
};
using JobsFound = FoundRecords<JobRecord>;
using PromisesFound = FoundRecords<PromiseRecord>;

// A call of body(storage, now) as a call with the storage alone.
template <class Body>
auto at_present(Engine& engine, Body& body) {
  return [&](Storage& storage) { return body(storage, std::max(engine.clock()->now(), storage.counters().now)); };
}

// Calls body(storage, now) on a snapshot, without the GIL.
template <class Body>
auto on_snapshot(const Views& self, Body body) {
  return self.store->without_gil([&](Engine& engine) { return engine.with_snapshot(at_present(engine, body)); });
}

// The same for a body that reads few rows, by no index of ids (Engine::with_few_rows).
template <class Body>
auto on_few_rows(const Views& self, Body body) {
  return self.store->without_gil([&](Engine& engine) { return engine.with_few_rows(at_present(engine, body)); });
}

std::size_t size_of(py::handle given, const char* argument, std::size_t otherwise, std::int64_t least = 1,
                    std::int64_t most = 100'000) {
  if (given.is_none()) return otherwise;
  const std::int64_t number = integer(given, argument);
  if (number < least || number > most)
    raise(ErrorClass::invalid, std::string(argument) + " must be " + std::to_string(least) + ".." + std::to_string(most) +
                                   ", got " + std::to_string(number));
  return static_cast<std::size_t>(number);
}

template <class State, class Parse>
std::vector<State> states_of(py::handle given, Parse parse, const char* what) {
  std::vector<State> states;
  if (given.is_none()) return states;
  for (const std::string& name : texts(given, "states")) {
    const std::optional<State> state = parse(name);
    if (!state) raise(ErrorClass::invalid, "states must contain " + std::string(what) + ", got '" + name + "'");
    states.push_back(*state);
  }
  return states;
}

void fill(FindQuery& query, const OptionalStr& id, const StringMapping& tags, const OptionalInstant& created_since,
          const OptionalInstant& created_until, const OptionalInstant& settled_since, const OptionalInstant& settled_until,
          const OptionalInt& limit, const OptionalInt& scan, const OptionalStr& cursor, const OptionalStr& prefix) {
  query.prefix = optional_text(prefix, "prefix").value_or("");
  query.id = optional_text(id, "id");
  query.tags = string_map(tags, "tags");
  query.created_since = optional_instant(created_since, "created_since").value_or(kUnset);
  query.created_until = optional_instant(created_until, "created_until").value_or(kNever);
  query.settled_since = optional_instant(settled_since, "settled_since");
  query.settled_until = optional_instant(settled_until, "settled_until");
  query.limit = size_of(limit, "limit", query.limit, 1, 1000);
  query.scan = size_of(scan, "scan", query.scan);
  query.cursor = optional_text(cursor, "cursor").value_or("");
}

JobsFound jobs(const Views& self, const JobStates& states, const OptionalStr& queue, const OptionalStr& type, const OptionalStr& id,
               const StringMapping& tags, const OptionalStr& error, const OptionalStr& payload,
               const OptionalInstant& created_since, const OptionalInstant& created_until, const OptionalInstant& settled_since,
               const OptionalInstant& settled_until, const OptionalInt& limit, const OptionalInt& scan, const OptionalStr& cursor,
               const OptionalStr& prefix) {
  FindJobs query;
  fill(query, id, tags, created_since, created_until, settled_since, settled_until, limit, scan, cursor, prefix);
  query.states = states_of<JobState>(states, job_state_named, "states of a job");
  query.queue = optional_text(queue, "queue");
  query.type = optional_text(type, "type");
  query.error = optional_text(error, "error");
  query.payload = optional_text(payload, "payload");
  return {on_snapshot(self, [&](Storage& storage, Instant now) { return find_jobs(storage, query, now); })};
}

PromisesFound promises(const Views& self, const PromiseStates& states, const OptionalStr& id, const StringMapping& tags,
                       const OptionalInstant& created_since, const OptionalInstant& created_until,
                       const OptionalInstant& settled_since, const OptionalInstant& settled_until, const OptionalInt& limit,
                       const OptionalInt& scan, const OptionalStr& cursor, const OptionalStr& prefix) {
  FindPromises query;
  fill(query, id, tags, created_since, created_until, settled_since, settled_until, limit, scan, cursor, prefix);
  query.states = states_of<PromiseState>(states, promise_state_named, "states of a promise");
  return {on_snapshot(self, [&](Storage& storage, Instant now) { return find_roots(storage, query, now); })};
}

constexpr std::size_t kMostIds = 1000;

JsonDict rows(const Views& self, const Shown<"collections.abc.Iterable[str]">& ids) {
  const std::vector<std::string> wanted = texts(ids, "ids");
  if (wanted.size() > kMostIds)
    raise(ErrorClass::invalid, "ids must be at most " + std::to_string(kMostIds) + ", got " + std::to_string(wanted.size()));
  const std::string document = self.store->without_gil([&](Engine& engine) {
    return engine.with_snapshot([&](Storage& storage) { return write_part(storage, wanted, engine.options()); });
  });
  return JsonDict(call(member_of_module("json", "loads"), py::str(document)));
}

Dicts due(const Views& self, const Int& limit, const OptionalStr& prefix) {
  const std::size_t most = size_of(limit, "limit", 0, 1, 1000);
  const std::string start = optional_text(prefix, "prefix").value_or("");
  const std::vector<NextDue> next = on_snapshot(self, [&](Storage& storage, Instant) { return next_due_of(storage, most, start); });
  return Dicts(due_list(next));
}

JsonDict leases(const Views& self, const Int& limit, const OptionalStr& prefix) {
  const std::size_t most = size_of(limit, "limit", 0, 1, 10'000);
  const std::string start = optional_text(prefix, "prefix").value_or("");
  const Leases found = start.empty()
                           ? on_few_rows(self, [&](Storage& storage, Instant) { return leases_of(storage, most); })
                           : on_snapshot(self, [&](Storage& storage, Instant) { return leases_of(storage, most, start); });
  py::list items;
  for (const RowRef& row : found.rows) items.append(lease_dict(*row));
  py::dict made;
  made["items"] = std::move(items);
  made["complete"] = found.complete;
  return JsonDict(std::move(made));
}

Dicts late_schedules(const Views& self, const Int& limit) {
  const std::size_t most = size_of(limit, "limit", 0, 1, 1000);
  const std::vector<ScheduleRef> late =
      on_few_rows(self, [&](Storage& storage, Instant now) { return resonate::late_schedules(storage, most, now); });
  py::list made;
  for (const ScheduleRef& schedule : late) {
    py::dict shown;
    shown["id"] = schedule->id;
    shown["cron"] = schedule->cron;
    shown["dueAt"] = schedule->next_run_at;
    if (schedule->set_aside) shown["problem"] = schedule->set_aside->problem;
    made.append(std::move(shown));
  }
  return Dicts(std::move(made));
}

Dicts hours(const Views& self, const OptionalStr& queue, const OptionalInstant& since) {
  const std::optional<std::string> name = optional_text(queue, "queue");
  const std::optional<Instant> from = optional_instant(since, "since");
  const std::int64_t first = from ? calendar::floor_div(*from, kHour) : kFirstPlace;
  const auto all = on_snapshot(self, [&](Storage& storage, Instant) { return hours_of(storage, name, first); });
  return Dicts(hours_list(all));
}

constexpr std::size_t kMostTotals = 10'000;

JsonDict queue_totals(const Views& self, const Int& limit, const Shown<"collections.abc.Iterable[str]">& keep, const Int& aged) {
  const std::size_t most = size_of(limit, "limit", 0, 0, kMostTotals);
  const std::size_t looked_at = size_of(aged, "aged", 0, 0, kMostTotals);
  const std::vector<std::string> named = texts(keep, "keep");
  Instant at = 0;
  const QueueTotals totals = on_few_rows(self, [&](Storage& storage, Instant now) {
    at = now;
    return totals_of(storage, named, most, looked_at, now);
  });
  return JsonDict(totals_dict(totals, at));
}

template <class Sequence>
void bind_found(py::module_& module, const char* name, const char* records, const char* doc) {
  py::class_<Sequence> bound(module, name, doc);
  def_items(bound);
  bound
      .def_property_readonly(
          "cursor", [](const Sequence& self) { return self.found.cursor; },
          "Where the next page begins; None if no row is left. A page without records may have one.")
      .def_property_readonly(
          "scanned", [](const Sequence& self) { return self.found.scanned; }, "The number of rows that were examined.")
      .def_property_readonly(
          "reached_at", [](const Sequence& self) { return self.found.reached_at; },
          "When the last examined row was created, in Unix ms; None if none was examined.")
      .def("__repr__", [name, records](const Sequence& self) {
        std::string shown = std::string(name) + " of " + std::to_string(self.size()) + " " + records + ", " +
                            std::to_string(self.found.scanned) + " rows examined";
        if (self.found.cursor) shown += "; cursor=" + std::string(repr_of(py::str(*self.found.cursor)));
        return shown;
      });
}

}  // namespace

void bind_views(py::module_& module) {
  bind_found<JobsFound>(module, "JobsFound", "jobs", R"doc(
The jobs that `Views.jobs` found, the newest first.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a")
    >>> store.views.jobs()
    JobsFound of 1 jobs, 1 rows examined
)doc");
  bind_found<PromisesFound>(module, "PromisesFound", "promises", R"doc(
The promises that `Views.promises` found, the newest first.

Example:
    >>> rc.Store(clock=rc.ManualClock()).views.promises()
    PromisesFound of 0 promises, 0 rows examined
)doc");
  py::class_<Views> bound(module, "Views", R"doc(
Reads for people: `store.views`. They are no requests: no recording contains them, and they change nothing. Each reads a snapshot, so
that it holds no other call up, and examines a limited number of rows.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a"), store.clock.advance(1000), store.jobs.enqueue("t", id="b")
    >>> [job.id for job in store.views.jobs()]
    ['b', 'a']
)doc");
  bound
      .def("due", &due, py::arg("limit") = 50, py::kw_only(), py::arg("prefix") = py::none(), R"doc(
Return the next timers, the earliest first.

Args:
    limit: The most timers, 1..1000.
    prefix: If it is not empty, only the first 10,000 promises and schedules whose ids begin with it are examined.

Returns:
    For each its instant `at` (Unix ms; None: at once), its `kind` ("drain", "timeout", "lease", "dispatch", "retention" or "schedule") and
    the `id` of its promise or schedule.

Raises:
    Invalid: The limit is out of range.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
    >>> store.views.due()
    [{'at': 60000, 'kind': 'dispatch', 'id': 'a'}]
)doc")
      .def("leases", &leases, py::arg("limit") = 1000, py::kw_only(), py::arg("prefix") = py::none(), R"doc(
Return the tasks and jobs that processes hold, by process and id.

Args:
    limit: The most leases, 1..10000.
    prefix: If it is not empty, only the first 10,000 promises whose ids begin with it are examined.

Returns:
    `items`, each with `pid`, `kind` ("task" or "job"), `id`, `version`, `expiresAt`, `ttl`, `heartbeatAt` (when it was last renewed:
    `expiresAt` - `ttl`), and for jobs `queue`, `type`, `state` and `startedAt`; and `complete`: False if more are held than are listed.

Raises:
    Invalid: The limit is out of range.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", id="a"), store.jobs.claim("default", worker="w", lease=1000)
    >>> [(one["pid"], one["id"], one["expiresAt"]) for one in store.views.leases()["items"]]
    [('w', 'a', 1000)]
)doc")
      .def(
          "index", [](const Views& self) { self.store->without_gil([](Engine& engine) { engine.index_newest(); }); }, R"doc(
Make the indexes that `jobs` and `promises` read, unless the store has them.

A store in a file or a database begins without them: they cost each write 10 to 20 %, and only these two views read them. Without them,
both views sort all rows in each call. The dashboard makes them. While they are made, writers of a file wait: about a second for a
million rows. A store in memory always has them.

Raises:
    ReadOnly: The store is open for reading only.

Example:
    >>> rc.Store(clock=rc.ManualClock()).views.index()
)doc")
      .def("rows", &rows, py::arg("ids"), R"doc(
Return a part of the state: these promises, with their tasks and jobs, and schedules.

Args:
    ids: The ids, 1000 at most. Ids that do not exist are left out.

Returns:
    As `Store.snapshot`, without the other promises and schedules, and without the ended hours of the queues. `messages` are those about
    these promises; an execute is left out if 1000 messages to its address are before it.

Raises:
    Invalid: There are too many ids.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000), store.promises.create("b", timeout=1000)
    >>> [promise["id"] for promise in store.views.rows(["b", "c"])["promises"]]
    ['b']
)doc")
      .def("late_schedules", &late_schedules, py::arg("limit") = 100, R"doc(
Return the schedules whose next occurrence is due and has not fired, the earliest first, and then those that are set aside.

Args:
    limit: The most schedules, 1..1000.

Returns:
    For each `id`, `cron`, `dueAt` (its next occurrence, Unix ms), and if it is set aside its `problem`.

Raises:
    Invalid: The limit is out of range.

Example:
    >>> rc.Store(clock=rc.ManualClock()).views.late_schedules()
    []
)doc")
      .def("hours", &hours, py::arg("queue") = py::none(), py::kw_only(), py::arg("since") = py::none(), R"doc(
Return the events of the jobs of each queue, by hour (UTC); the last 168 hours are kept.

Args:
    queue: One queue; None: all. A queue that does not exist has no hours.
    since: The first hour contains this instant; None: all hours that are kept.

Returns:
    For each queue, by name, `queue` and `hours`, in order, each with `at` (its begin, Unix ms) and the numbers of jobs or attempts:
    `enqueued` (jobs that were created), `started` (attempts), `completed` (jobs), `failed` (attempts that failed or timed out, and
    jobs that failed without one), `retried`, `archived`, `crashed` (attempts whose lease ended), `expired`, `cancelled`; `latency`,
    the sum of the times from pending to started, and `runTime`, that of the times from started to ended, both in ms. An hour without
    an event is absent.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t")
    >>> [(hour["at"], hour["enqueued"]) for hour in store.views.hours("default")[0]["hours"]]
    [(0, 1)]
)doc")
      .def("queue_totals", &queue_totals, py::arg("limit") = 100, py::kw_only(), py::arg("keep") = py::tuple(),
           py::arg("aged") = 1000, R"doc(
Return the jobs of the queues by state, for a scrape: of some queues by name, of all others added up.

Args:
    limit: The most queues by name, 0..10000.
    keep: Queues that come first, if they exist; then those with the most pending jobs.
    aged: In how many queues the oldest pending job is looked up, 0..10000: the first in this order.

Returns:
    `queues`, each with `name`, `counts` by state and `latency` (how long the oldest pending job has waited, ms; 0 if it was not looked up); `others`, with their number
    (`queues`), `counts` and `latency`; and `paused`, the number of paused queues.

Raises:
    Invalid: A number is out of range.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = [store.jobs.enqueue("t", queue=name) for name in ("mail", "mail", "video")]
    >>> totals = store.views.queue_totals(1)
    >>> [(one["name"], one["counts"]["pending"]) for one in totals["queues"]], totals["others"]["counts"]["pending"]
    ([('mail', 2)], 1)
)doc");

  KeywordMethod<&jobs>::bind(bound, "jobs",
                             {{{"states"},
                               {"queue"},
                               {"type"},
                               {"id"},
                               {"tags"},
                               {"error"},
                               {"payload"},
                               {"created_since"},
                               {"created_until"},
                               {"settled_since"},
                               {"settled_until"},
                               {"limit"},
                               {"scan"},
                               {"cursor"},
                               {"prefix"}}},
                             "resonate_core._core.JobsFound", R"doc(
Return the newest matching jobs.

Args:
    states: Their current states; None or none: all.
    queue: The name of the queue.
    type: The type of the jobs.
    id: A pattern in which `*` stands for any characters.
    tags: Tags that a job must have, with these values.
    error: A part of the code or message of its last error. ASCII letters of both cases are equal.
    payload: A part of its payload, likewise; base64 is decoded.
    created_since: The earliest creation, in Unix ms or as an aware datetime.
    created_until: The latest creation.
    settled_since: The earliest end.
    settled_until: The latest end.
    limit: The most jobs, 1..1000; default: 50.
    scan: The most rows that are examined, 1..100000; default: 10000.
    cursor: The `cursor` of the previous page.
    prefix: If it is not empty, only rows whose ids begin with it are read and counted: in slices of 10,000 by id, each the newest
        first.

Returns:
    A page. Its `cursor` is None if no row is left; otherwise the search continues there, also if the page is empty.

Raises:
    Invalid: A state is unknown, a number is out of range, or the cursor is of no page of this search.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue_many("t", [{"to": "ann"}, {"to": "bob"}], ids=["a", "b"])
    >>> [job.id for job in store.views.jobs(states=["pending"], payload="ANN")]
    ['a']
)doc");
  KeywordMethod<&promises>::bind(bound, "promises",
                                 {{{"states"},
                                   {"id"},
                                   {"tags"},
                                   {"created_since"},
                                   {"created_until"},
                                   {"settled_since"},
                                   {"settled_until"},
                                   {"limit"},
                                   {"scan"},
                                   {"cursor"},
                                   {"prefix"}}},
                                 "resonate_core._core.PromisesFound", R"doc(
Return the newest matching promises that are no jobs and that are their own origin: the roots of workflows.

Args:
    states: Their current states; None or none: all.
    id: A pattern in which `*` stands for any characters.
    tags: Tags that a promise must have, with these values.
    created_since: The earliest creation, in Unix ms or as an aware datetime.
    created_until: The latest creation.
    settled_since: The earliest settlement.
    settled_until: The latest settlement.
    limit: The most promises, 1..1000; default: 50.
    scan: The most rows that are examined, 1..100000; default: 10000.
    cursor: The `cursor` of the previous page.
    prefix: If it is not empty, only rows whose ids begin with it are read and counted: in slices of 10,000 by id, each the newest
        first.

Returns:
    A page. Its `cursor` is None if no row is left; otherwise the search continues there, also if the page is empty.

Raises:
    Invalid: A state is unknown, a number is out of range, or the cursor is of no page of this search.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("order", timeout=1000)
    >>> _ = store.promises.create("order.1", timeout=1000, tags={"resonate:origin": "order"})
    >>> [promise.id for promise in store.views.promises()]
    ['order']
)doc");
}

}  // namespace resonate::python
