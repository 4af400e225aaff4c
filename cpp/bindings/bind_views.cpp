// store.views: reads for people (resonate/views.hpp).
#include "resonate/views.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "bind.hpp"
#include "codec/snapshot_part.hpp"
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

constexpr std::size_t kMostEdges = 10'000;

std::vector<std::string> ids_of(const Shown<"collections.abc.Iterable[str]">& given, const char* argument) {
  std::vector<std::string> ids = texts(given, argument);
  if (ids.size() > kMostIds)
    raise(ErrorClass::invalid,
          std::string(argument) + " must be at most " + std::to_string(kMostIds) + ", got " + std::to_string(ids.size()));
  return ids;
}

// How many edges a row has of each kind that it counts.
py::dict edge_counts(const Row& row) {
  py::dict counts;
  counts["callbacks"] = row.callbacks;
  counts["listeners"] = row.listeners;
  if (row.job) counts["keptBy"] = row.job->keepers;
  return counts;
}

JsonDict rows(const Views& self, const Shown<"collections.abc.Iterable[str]">& ids, const OptionalInt& edges) {
  const std::vector<std::string> wanted = ids_of(ids, "ids");
  const std::size_t most = size_of(edges, "edges", kAllEdges, 0, kMostEdges);
  const SnapshotPart part = self.store->without_gil([&](Engine& engine) {
    return engine.with_snapshot([&](Storage& storage) { return write_part(storage, wanted, engine.options(), most); });
  });
  py::dict made = call(member_of_module("json", "loads"), py::str(part.document));
  if (!edges.is_none()) {
    py::dict cut;
    for (const RowRef& row : part.cut) cut[py::str(row->id())] = edge_counts(*row);
    made["cut"] = std::move(cut);
  }
  return JsonDict(std::move(made));
}

Shown<"list[str]"> awaited_of(const Views& self, const Str& awaiter, const Shown<"collections.abc.Iterable[str]">& among) {
  const std::string other(text(awaiter, "awaiter"));
  const std::vector<std::string> owners = ids_of(among, "among");
  std::vector<Lookup<RowRef>> rows;
  std::vector<EdgeLookup> edges;
  for (const std::string& owner : owners) {
    rows.push_back({owner});
    edges.push_back({EdgeKind::callback, owner, other});
  }
  self.store->without_gil(
      [&](Engine& engine) { engine.with_snapshot([&](Storage& storage) { storage.load_many({.rows = rows, .edges = edges}); }); });
  py::list found;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i].found && rows[i].found && !is_drained(*rows[i].found, *edges[i].found)) found.append(py::str(owners[i]));
  return Shown<"list[str]">(std::move(found));
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
void bind_found(py::module_& module, const char* name, const char* records) {
  py::class_<Sequence> bound(module, name);
  def_items(bound);
  bound.def_property_readonly("cursor", [](const Sequence& self) { return self.found.cursor; })
      .def_property_readonly("scanned", [](const Sequence& self) { return self.found.scanned; })
      .def_property_readonly("reached_at", [](const Sequence& self) { return self.found.reached_at; })
      .def("__repr__", [name, records](const Sequence& self) {
        std::string shown = std::string(name) + " of " + std::to_string(self.size()) + " " + records + ", " +
                            std::to_string(self.found.scanned) + " rows examined";
        if (self.found.cursor) shown += "; cursor=" + std::string(repr_of(py::str(*self.found.cursor)));
        return shown;
      });
}

}  // namespace

void bind_views(py::module_& module) {
  bind_found<JobsFound>(module, "JobsFound", "jobs");
  bind_found<PromisesFound>(module, "PromisesFound", "promises");
  py::class_<Views> bound(module, "Views");
  bound.def("due", &due, py::arg("limit") = 50, py::kw_only(), py::arg("prefix") = py::none())
      .def("leases", &leases, py::arg("limit") = 1000, py::kw_only(), py::arg("prefix") = py::none())
      .def("index", [](const Views& self) { self.store->without_gil([](Engine& engine) { engine.index_newest(); }); })
      .def("rows", &rows, py::arg("ids"), py::kw_only(), py::arg("edges") = py::none())
      .def("awaited_of", &awaited_of, py::arg("awaiter"), py::arg("among"))
      .def("late_schedules", &late_schedules, py::arg("limit") = 100)
      .def("hours", &hours, py::arg("queue") = py::none(), py::kw_only(), py::arg("since") = py::none())
      .def("queue_totals", &queue_totals, py::arg("limit") = 100, py::kw_only(), py::arg("keep") = py::tuple(),
           py::arg("aged") = 1000);

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
                             "resonate_core._core.JobsFound");
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
                                 "resonate_core._core.PromisesFound");
}

}  // namespace resonate::python
