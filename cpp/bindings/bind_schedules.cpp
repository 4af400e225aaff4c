// store.schedules
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "described_arguments.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

ScheduleRecord create(const Schedules& self, const Str& id, const Str& cron, const Str& promise_id,
                      const DurationArgument& promise_timeout, const AnyValue& param, const StringMapping& headers,
                      const StringMapping& tags, const MembersArgument& job) {
  Box<JobOrder> order;
  if (!job.is_none()) order = described_argument<JobOrder>(job, "job");
  Reply reply = self.store->run(ScheduleCreate{.id = id_of(id),
                                               .cron = std::string(text(cron, "cron")),
                                               .promise_id = std::string(text(promise_id, "promise_id")),
                                               .promise_timeout = duration(promise_timeout, "promise_timeout"),
                                               .promise_param = value_of(param, headers, "param"),
                                               .promise_tags = string_map(tags, "tags"),
                                               .job = std::move(order)});
  return {std::move(reply.schedule)};
}

ScheduleRecord get_schedule(const Schedules& self, const Str& id) { return {self.store->run(ScheduleGet{id_of(id)}).schedule}; }

void remove_schedule(const Schedules& self, const Str& id) { self.store->run(ScheduleDelete{id_of(id)}); }

ScheduleRecord pause_schedule(const Schedules& self, const Str& id) { return {self.store->run(SchedulePause{id_of(id)}).schedule}; }

ScheduleRecord resume_schedule(const Schedules& self, const Str& id) {
  return {self.store->run(ScheduleResume{id_of(id)}).schedule};
}

SchedulePage search_schedules(const Schedules& self, const OptionalStr& id, const StringMapping& tags, const Int& limit,
                              const OptionalStr& cursor) {
  Reply reply = self.store->run(ScheduleSearch{search_query(id, tags, limit, cursor)});
  return {{std::move(reply.cursor)}, std::move(reply.schedules)};
}

}  // namespace

void bind_schedules(py::module_& module) {
  py::class_<Schedules>(module, "Schedules", R"doc(
The schedules of a store: `store.schedules`. Each creates a promise at every occurrence of a cron expression.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.schedules.create("nightly", "0 3 * * *", promise_timeout=3_600_000)
    >>> _ = clock.advance(86_400_000)
    >>> [promise.id for promise in store.promises.search("nightly.*")]
    ['nightly.10800000']
)doc")
      .def("create", &create, py::arg("id"), py::arg("cron"), py::kw_only(), py::arg("promise_id") = "{{.id}}.{{.timestamp}}",
           py::arg("promise_timeout"), py::arg("param") = py::none(), py::arg("headers") = py::none(), py::arg("tags") = py::none(),
           py::arg("job") = py::none(), R"doc(
Create a schedule, or return the existing schedule with this id (PROTOCOL 3.18, 4).

Args:
    id: The id of the schedule.
    cron: Five fields (minute hour day-of-month month day-of-week), six with seconds first, or a word such as `@hourly`; in UTC,
        unless it begins with `CRON_TZ=Area/City`.
    promise_id: The ids of its promises; `{{.id}}` stands for the schedule's id and `{{.timestamp}}` for the occurrence in Unix ms.
    promise_timeout: The time from an occurrence to its promise's deadline, in ms or as a timedelta.
    param: The input of each promise: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the param.
    tags: Tags of each promise; under compatible rules lineage tags are added (PROTOCOL 2.1).
    job: Makes each of its promises a job (JOBS 5) with `param` as payload and the promise's deadline: {"type"} and, as on the wire,
        optionally "queue", "priority", "processIn", "goodFor", "timeout", "retention", "maxRetries", "retryPolicy", "onExhausted",
        "lifecycle", "uniqueKey", "uniqueFor", "group" and "cancelWithAwaiters". An occurrence whose unique key is held enqueues nothing.

Returns:
    The schedule, new or existing.

Raises:
    Invalid: The expression is invalid or never fires, there is a tag `resonate:delay`, or `job` breaks a rule of jobs.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.schedules.create("weekly", "CRON_TZ=Europe/Berlin 30 9 * * MON", promise_timeout=1000).next_run_at
    376200000
)doc")
      .def("get", &get_schedule, py::arg("id"), R"doc(
Return the schedule. A read: it stores nothing and runs no step.

Args:
    id: The id of the schedule.

Raises:
    NotFound: The schedule does not exist.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> store.schedules.get("hourly").cron
    '@hourly'
)doc")
      .def("delete", &remove_schedule, py::arg("id"), R"doc(
Delete a schedule. The promises that it created stay.

Args:
    id: The id of the schedule.

Raises:
    NotFound: The schedule does not exist.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> store.schedules.delete("hourly")
    >>> len(store.schedules.search())
    0
)doc")
      .def("pause", &pause_schedule, py::arg("id"), R"doc(
Pause a schedule: it does not fire until it is resumed (PROTOCOL 3.20). It has no effect on a paused schedule.

Args:
    id: The id of the schedule.

Returns:
    The schedule.

Raises:
    NotFound: The schedule does not exist.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> store.schedules.pause("hourly").paused
    True
    >>> clock.advance(86_400_000)
    []
)doc")
      .def("resume", &resume_schedule, py::arg("id"), R"doc(
Resume a paused schedule from now on (PROTOCOL 3.20): occurrences in the pause are not made up for, whatever `catchup` is.

It has no effect on a schedule that is not paused.

Args:
    id: The id of the schedule.

Returns:
    The schedule.

Raises:
    Invalid: Its cron expression names a time zone that this system does not have.
    NotFound: The schedule does not exist.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> _ = store.schedules.pause("hourly")
    >>> _ = clock.advance(5_400_000)
    >>> store.schedules.resume("hourly").next_run_at
    7200000
)doc")
      .def("search", &search_schedules, py::arg("id") = py::none(), py::kw_only(), py::arg("tags") = py::none(),
           py::arg("limit") = 10, py::arg("cursor") = py::none(), R"doc(
Return a page of the matching schedules, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

Args:
    id: A pattern in which `*` stands for any characters; None: any id.
    tags: Tags that its promises must have, with these values.
    limit: The size of the page, 1 to 1000.
    cursor: The `cursor` of the previous page.

Returns:
    A page; its `cursor` is None on the last page.

Raises:
    Invalid: The limit is out of range.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> [schedule.id for schedule in store.schedules.search()]
    ['hourly']
)doc")
      .def("__repr__",
           [](const Schedules& self) { return self.store->closed() ? "Schedules of a closed store" : "Schedules of a store"; });
}

}  // namespace resonate::python
