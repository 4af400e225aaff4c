// store.tasks
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using Awaiting = Shown<"collections.abc.Iterable[str]">;

Claim claim_of(Reply reply) {
  return {.task = {std::move(reply.task), reply.now},
          .promise = {std::move(reply.promise), reply.now},
          .preload = std::move(reply.preload),
          .preload_cut = reply.preload_cut};
}

TaskRecord get(const Tasks& self, const Str& id) { return self.store->run_for_task(TaskGet{id_of(id)}); }

Claim create(const Tasks& self, const Str& id, const OptionalInt& timeout_at, const Str& pid, const DurationArgument& ttl,
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
  return {.status = reply.status, .now = reply.now, .preload = std::move(reply.preload), .preload_cut = reply.preload_cut};
}

PromiseRecord fulfill(const Tasks& self, const Str& id, const Int& version, const AnyValue& value, const Str& state,
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

TaskPage search(const Tasks& self, const OptionalStr& id, const OptionalStr& state, const OptionalStr& target,
                const StringMapping& tags, const Int& limit, const OptionalStr& cursor) {
  TaskSearch search{search_query(id, tags, limit, cursor)};
  search.query.filter.state = optional_text(state, "state");
  search.query.filter.target = optional_text(target, "target");
  Reply reply = self.store->run(std::move(search));
  return {{std::move(reply.cursor)}, std::move(reply.rows), reply.now};
}

constexpr const char* kClaimType = "resonate_core._core.Claim";

void bind_claiming(py::class_<Tasks>& bound) {
  bound.def("get", &get, py::arg("id"), R"doc(
The task as it is now (PROTOCOL 3.8). A read: nothing is stored and nothing fires.

Args:
    id: The id of the task, which is that of its promise.

Returns:
    The task, fulfilled where its promise's deadline has passed.

Raises:
    NotFound: There is no promise of this id, or it has no task.

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
Creates a promise whose task the caller holds at once, without a message (PROTOCOL 3.9).

Where the promise exists: a pending task is acquired, a fulfilled one is answered as it is.

Args:
    id: The id of the promise and the task.
    timeout_at: The promise's deadline in Unix ms. Either this or `timeout` has to be given.
    pid: Who holds the lease.
    ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.
    timeout: The promise's deadline from now on, in ms or as a timedelta.
    target: The address to which messages go when the lease is lost; the tag `resonate:target`.
    param: What is kept with the promise: bytes, a `Value`, or anything JSON-able.
    headers: Headers of the param.
    tags: Strings by name.
    idempotency_key: A key of the creation, as in `Promises.create`.

Returns:
    The task and its promise.

Raises:
    Invalid: No target, a tag `resonate:delay`, a ttl below 1 (PROTOCOL 3, shape rules).
    Conflict: It is acquired, suspended or halted; or the idempotency key differs.
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
Takes a pending task under a lease (PROTOCOL 3.10). Its version rises by one.

Args:
    id: The id of the task.
    version: The version that its message carried.
    pid: Who holds the lease.
    ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.

Returns:
    The task with its new version, and its promise.

Raises:
    NotFound: It does not exist.
    Conflict: It is not pending, or has another version; the same version cannot be acquired twice.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.tasks.acquire("job", 0, pid="w1", ttl=60_000).task.version
    1
)doc");

  bound
      .def("heartbeat", &heartbeat, py::arg("pid"), py::arg("tasks") = py::tuple(), R"doc(
Renews leases (PROTOCOL 3.15): each becomes now + ttl. What the pid does not hold any more is skipped.

Args:
    pid: Who holds the leases.
    tasks: Pairs of id and version. None at all: every lease of the pid (under strict rules: none).

Raises:
    Invalid: An empty pid, or a negative version.

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
The tasks that match, ordered by id, a page at a time (PROTOCOL 3.7). A read: nothing is stored and nothing fires.

Args:
    id: A pattern in which `*` stands for any run of characters; None for all.
    state: A state that they have now, their promises' deadlines considered; None for all.
    target: The address that they go to.
    tags: Tags of the promise that all have to be there with these values.
    limit: How many at most, 1 to 1000.
    cursor: The `cursor` of the page before.

Returns:
    A page; its `cursor` is None where there is no more.

Raises:
    Invalid: A limit out of range, or an unknown state.

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
Lets an acquired task sleep until one of the promises that it awaits is settled (PROTOCOL 3.12).

Args:
    id: The id of the task.
    version: Its version.
    awaiting: The ids of the awaited promises, at least one.

Returns:
    Whether it sleeps. Where one of them is settled already it stays acquired and goes on.

Raises:
    Invalid: Nothing is awaited, or the task itself; under strict rules also: the same promise twice.
    NotFound: The task does not exist.
    Conflict: It is not acquired, or has another version.
    Unprocessable: An awaited promise does not exist; under strict rules also: it is internal. Nothing was registered then.

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
Settles the promise of an acquired task, and fulfils the task with it (PROTOCOL 3.13).

Args:
    id: The id of the task.
    version: Its version.
    value: The result: bytes, a `Value`, or anything JSON-able.
    state: `resolved`, `rejected` or `rejected_canceled`.
    headers: Headers of the value.
    idempotency_key: A key of the settlement, as in `Promises.resolve`.

Returns:
    The settled promise.

Raises:
    Invalid: Another state.
    NotFound: The task does not exist.
    Conflict: It is not acquired, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.fulfill("job", 1, {"total": 3}).value.json()
    {'total': 3}
)doc")
      .def("release", &release, py::arg("id"), py::arg("version"), R"doc(
Gives an acquired task back: it is pending, and a new message goes out at once (PROTOCOL 3.11).

Args:
    id: The id of the task.
    version: Its version.

Raises:
    NotFound: It does not exist.
    Conflict: It is not acquired, or has another version.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.release("job", 1)
    >>> [message.key for message in store.messages()]
    ['execute:job']
)doc")
      .def("halt", &halt, py::arg("id"), R"doc(
Stops a task until `resume` (PROTOCOL 3.16): nobody holds it and no message goes out. Without effect where it is halted already.

Args:
    id: The id of the task.

Raises:
    NotFound: It does not exist.
    Conflict: It is fulfilled.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.halt("job")
    >>> store.tasks.get("job").state
    'halted'
)doc")
      .def("resume", &resume, py::arg("id"), R"doc(
Lets a halted task go on (PROTOCOL 3.17, `task.continue`): it is pending, and a message goes out at once.

Args:
    id: The id of the task.

Raises:
    NotFound: It does not exist.
    Conflict: It is not halted.

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
