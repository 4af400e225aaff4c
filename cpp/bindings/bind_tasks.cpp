// store.tasks
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

using Awaiting = Shown<"collections.abc.Iterable[str]">;

Claim claim_of(Reply reply) {
  return {.task = {std::move(reply.task)},
          .promise = {std::move(reply.promise)},
          .preload = std::move(reply.preload),
          .preload_cut = reply.preload_cut};
}

TaskRecord get(const Tasks& self, const Str& id) { return self.store->run_for_task(TaskGet{id_of(id)}); }

Claim create(const Tasks& self, const Str& id, const OptionalInstant& timeout_at, const Str& pid, const DurationArgument& ttl,
             const OptionalDuration& timeout, const OptionalStr& target, const AnyValue& param, const StringMapping& headers,
             const StringMapping& tags, const OptionalStr& idempotency_key) {
  TaskCreate create{.pid = std::string(text(pid, "pid")),
                    .ttl = duration(ttl, "ttl"),
                    .action = promise_create(*self.store, id, timeout_at, timeout, param, headers, tags, idempotency_key)};
  if (!target.is_none()) {
    const std::string_view address = text(target, "target");
    const std::string* tagged = create.action.tags.find("resonate:target");
    if (tagged && *tagged != address) {
      raise(ErrorClass::invalid,
            "target is '" + std::string(address) + "' and the tag resonate:target is '" + *tagged + "'; give one");
    }
    create.action.tags.set("resonate:target", std::string(address));
  }
  return claim_of(self.store->run(std::move(create)));
}

Claim acquire(const Tasks& self, const Str& id, const Int& version, const Str& pid, const DurationArgument& ttl) {
  return claim_of(self.store->run(TaskAcquire{
      .id = id_of(id), .version = integer(version, "version"), .pid = std::string(text(pid, "pid")), .ttl = duration(ttl, "ttl")}));
}

Suspension suspend(const Tasks& self, const Str& id, const Int& version, const Awaiting& awaiting) {
  TaskSuspend suspend{.id = id_of(id), .version = integer(version, "version"), .actions = {}};
  for (std::string& awaited : texts(awaiting, "awaiting"))
    suspend.actions.push_back({.awaited = std::move(awaited), .awaiter = suspend.id});
  Reply reply = self.store->run(std::move(suspend));
  return {.status = reply.status, .preload = std::move(reply.preload), .preload_cut = reply.preload_cut};
}

PromiseRecord fulfill(const Tasks& self, const Str& id, const Int& version, const AnyValue& value, const SettledState& state,
                      const StringMapping& headers, const OptionalStr& idempotency_key) {
  return self.store->run_for_promise(
      TaskFulfill{.id = id_of(id),
                  .version = integer(version, "version"),
                  .action = promise_settle(text(id, "id"), text(state, "state"), value, headers, idempotency_key)});
}

void release(const Tasks& self, const Str& id, const Int& version) {
  self.store->run(TaskRelease{.id = id_of(id), .version = integer(version, "version")});
}

void halt(const Tasks& self, const Str& id) { self.store->run(TaskHalt{id_of(id)}); }

void resume(const Tasks& self, const Str& id) { self.store->run(TaskContinue{id_of(id)}); }

void heartbeat(const Tasks& self, const Str& pid, const Held& tasks) {
  self.store->run(TaskHeartbeat{.pid = std::string(text(pid, "pid")), .tasks = held<TaskRef>(tasks, "tasks")});
}

TaskPage search(const Tasks& self, const OptionalStr& id, const OptionalTaskState& state, const OptionalStr& target,
                const StringMapping& tags, const Int& limit, const OptionalStr& cursor) {
  TaskSearch search{search_query(id, tags, limit, cursor)};
  search.query.filter.state = optional_text(state, "state");
  search.query.filter.target = optional_text(target, "target");
  Reply reply = self.store->run(std::move(search));
  return {{std::move(reply.cursor)}, std::move(reply.rows)};
}

constexpr const char* kClaimType = "resonate_core._core.Claim";

void bind_claiming(py::class_<Tasks>& bound) {
  bound.def("get", &get, py::arg("id"), R"doc(
Return the task as it is now (PROTOCOL 3.8). A read: it stores nothing and runs no step.

Args:
    id: The id of the task and of its promise.

Returns:
    The task; fulfilled if its promise's deadline has passed.

Raises:
    NotFound: The promise does not exist or has no task.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.tasks.get("job")
    Task(id='job', state='pending', version=0, resumes=0)
)doc");

  KeywordMethod<&create>::bind(bound, "create",
                               {{{"id", Given::required},
                                 {"timeout_at", Given::optional},
                                 {"pid", Given::required_keyword},
                                 {"ttl", Given::required_keyword},
                                 {"timeout"},
                                 {"target"},
                                 {"param"},
                                 {"headers"},
                                 {"tags"},
                                 {"idempotency_key"}}},
                               kClaimType, R"doc(
Create a promise and acquire its task at once, without a message (PROTOCOL 3.9).

If the promise exists, a pending task is acquired, and a fulfilled task is returned unchanged.

Args:
    id: The id of the promise and the task.
    timeout_at: The promise's deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
    pid: The name of the worker that holds the lease.
    ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.
    timeout: The promise's deadline from now on, in ms or as a timedelta.
    target: The address to which the task is dispatched after its lease has expired; the tag `resonate:target`.
    param: The input of the promise: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the param.
    tags: Strings by name.
    idempotency_key: A key of the creation, as in `Promises.create`.

Returns:
    The task and its promise.

Raises:
    Invalid: The target is missing, there is a tag `resonate:delay`, or the ttl is below 1 (PROTOCOL 3, shape rules).
    Conflict: The task is acquired, suspended or halted, or the idempotency key differs.
    Unprocessable: The promise exists and has no task.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> claim = store.tasks.create("job", pid="w1", ttl=60_000, timeout=1000, target="poll://any@workers")
    >>> claim.task.state, claim.promise.tags
    ('acquired', {'resonate:target': 'poll://any@workers'})
)doc");

  KeywordMethod<&acquire>::bind(
      bound, "acquire",
      {{{"id", Given::required}, {"version", Given::required}, {"pid", Given::required_keyword}, {"ttl", Given::required_keyword}}},
      kClaimType, R"doc(
Acquire a pending task under a lease (PROTOCOL 3.10). Its version rises by one.

Args:
    id: The id of the task.
    version: The version in its message.
    pid: The name of the worker that holds the lease.
    ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.

Returns:
    The task with its new version, and its promise.

Raises:
    NotFound: The task does not exist.
    Conflict: The task is not pending, or has another version; a version cannot be acquired twice.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.tasks.acquire("job", 0, pid="w1", ttl=60_000).task.version
    1
)doc");

  bound
      .def("heartbeat", &heartbeat, py::arg("pid"), py::arg("tasks") = py::tuple(), R"doc(
Renew leases (PROTOCOL 3.15): each ends at now + ttl. Tasks that the pid no longer holds are skipped.

Args:
    pid: The name of the worker that holds the leases.
    tasks: Pairs of id and version. Without pairs, every lease of the pid (under strict rules: none).

Raises:
    Invalid: The pid is empty, or a version is negative.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.tasks.create("job", pid="w1", ttl=1000, timeout=90_000, target="poll://any@workers")
    >>> _ = clock.advance(900)
    >>> store.tasks.heartbeat("w1", [("job", 1)])
    >>> store.next_due()
    1900
)doc")
      .def("search", &search, py::arg("id") = py::none(), py::kw_only(), py::arg("state") = py::none(),
           py::arg("target") = py::none(), py::arg("tags") = py::none(), py::arg("limit") = 100, py::arg("cursor") = py::none(),
           R"doc(
Return a page of the matching tasks, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

Args:
    id: A pattern in which `*` stands for any characters; None: any id.
    state: The current state, with deadlines considered; None: any state.
    target: The address to which tasks are dispatched.
    tags: Tags that the promise must have, with these values.
    limit: The size of the page, 1 to 1000.
    cursor: The `cursor` of the previous page.

Returns:
    A page; its `cursor` is None on the last page.

Raises:
    Invalid: The limit is out of range, or the state is unknown.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> [task.id for task in store.tasks.search(state="pending", target="poll://any@workers")]
    ['job']
)doc");
}

void bind_running(py::class_<Tasks>& bound) {
  bound
      .def("suspend", &suspend, py::arg("id"), py::arg("version"), py::arg("awaiting"), R"doc(
Suspend an acquired task until one of the awaited promises is settled (PROTOCOL 3.12).

Args:
    id: The id of the task.
    version: Its version.
    awaiting: The ids of the awaited promises, at least one.

Returns:
    Whether the task is suspended. If an awaited promise is already settled, the task stays acquired.

Raises:
    Invalid: No promise is awaited, or the task itself is, or, under strict rules, one promise is named twice.
    NotFound: The task does not exist.
    Conflict: The task is not acquired, or has another version.
    Unprocessable: An awaited promise does not exist or, under strict rules, is internal. No callback was registered.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> _ = store.promises.create("child", timeout=90_000)
    >>> store.tasks.suspend("job", 1, ["child"])
    Suspension(suspended=True, status=200)
    >>> _ = store.promises.resolve("child")
    >>> store.tasks.get("job").state
    'pending'
)doc")
      .def("fulfill", &fulfill, py::arg("id"), py::arg("version"), py::arg("value") = py::none(), py::kw_only(),
           py::arg("state") = "resolved", py::arg("headers") = py::none(), py::arg("idempotency_key") = py::none(), R"doc(
Settle the promise of an acquired task, and fulfil the task (PROTOCOL 3.13).

Args:
    id: The id of the task.
    version: Its version.
    value: The result: bytes, a `Value`, or any JSON-able object.
    state: `resolved`, `rejected` or `rejected_canceled`.
    headers: Headers of the value.
    idempotency_key: A key of the settlement, as in `Promises.resolve`.

Returns:
    The settled promise.

Raises:
    Invalid: The state is another one.
    NotFound: The task does not exist.
    Conflict: The task is not acquired, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.fulfill("job", 1, {"total": 3}).value.json()
    {'total': 3}
)doc")
      .def("release", &release, py::arg("id"), py::arg("version"), R"doc(
Release an acquired task: it is pending, and is dispatched at once (PROTOCOL 3.11).

Args:
    id: The id of the task.
    version: Its version.

Raises:
    NotFound: The task does not exist.
    Conflict: The task is not acquired, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.release("job", 1)
    >>> [message.key for message in store.messages()]
    ['execute:job']
)doc")
      .def("halt", &halt, py::arg("id"), R"doc(
Halt a task until `resume` (PROTOCOL 3.16): it loses its lease and is not dispatched. It has no effect on a halted task.

Args:
    id: The id of the task.

Raises:
    NotFound: The task does not exist.
    Conflict: The task is fulfilled.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.halt("job")
    >>> store.tasks.get("job").state
    'halted'
)doc")
      .def("resume", &resume, py::arg("id"), R"doc(
Resume a halted task (PROTOCOL 3.17, `task.continue`): it is pending, and is dispatched at once.

Args:
    id: The id of the task.

Raises:
    NotFound: The task does not exist.
    Conflict: The task is not halted.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.halt("job")
    >>> store.tasks.resume("job")
    >>> store.tasks.get("job").state
    'pending'
)doc");
}

}  // namespace

void bind_tasks(py::module_& module) {
  py::class_<Tasks> bound(module, "Tasks", R"doc(
The tasks of a store: `store.tasks`. A task is the work behind the promise of the same id.

Versions count acquisitions (PROTOCOL 2): a request that acts on a task names the version under which the caller holds it.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> claim = store.tasks.acquire("job", version=0, pid="w1", ttl=60_000)
    >>> store.tasks.fulfill("job", claim.task.version, "done").state
    'resolved'
)doc");
  bind_claiming(bound);
  bind_running(bound);
  bind_fencing(bound);
  bound.def("__repr__", [](const Tasks& self) { return self.store->closed() ? "Tasks of a closed store" : "Tasks of a store"; });
}

}  // namespace resonate::python
