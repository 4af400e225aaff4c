// Actions on other promises under the fence of a task: store.tasks.fence_create, fence_settle.
#include <pybind11/pybind11.h>

#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

Fenced run_fenced(const Tasks& self, TaskFence fence) {
  Reply reply = self.store->run(std::move(fence));
  if (reply.fenced_status != status::kOk) raise_refusal(reply.fenced_status, reply.error);
  return {.promise = {std::move(reply.promise)}, .preload = std::move(reply.preload), .preload_cut = reply.preload_cut};
}

Fenced fence_create(const Tasks& self, const Str& id, const Int& version, const Str& promise_id, const OptionalInstant& timeout_at,
                    const OptionalDuration& timeout, const AnyValue& param, const StringMapping& headers, const StringMapping& tags,
                    const OptionalStr& idempotency_key) {
  return run_fenced(
      self, {.id = id_of(id),
             .version = integer(version, "version"),
             .action = promise_create(*self.store, promise_id, timeout_at, timeout, param, headers, tags, idempotency_key)});
}

Fenced fence_settle(const Tasks& self, const Str& id, const Int& version, const Str& promise_id, const AnyValue& value,
                    const SettledState& state, const StringMapping& headers, const OptionalStr& idempotency_key) {
  return run_fenced(
      self, {.id = id_of(id),
             .version = integer(version, "version"),
             .action = promise_settle(text(promise_id, "promise_id"), text(state, "state"), value, headers, idempotency_key)});
}

}  // namespace

void bind_fencing(py::class_<Tasks>& bound) {
  bound
      .def("fence_create", &fence_create, py::arg("id"), py::arg("version"), py::arg("promise_id"),
           py::arg("timeout_at") = py::none(), py::kw_only(), py::arg("timeout") = py::none(), py::arg("param") = py::none(),
           py::arg("headers") = py::none(), py::arg("tags") = py::none(), py::arg("idempotency_key") = py::none(), R"doc(
Create another promise if the caller still holds the task (PROTOCOL 3.14).

Args:
    id: The id of the task.
    version: Its version.
    promise_id: The id of the promise to create, not the task's own.
    timeout_at: Its deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
    timeout: Its deadline from now on, in ms or as a timedelta.
    param: The input of the promise: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the param.
    tags: Strings by name.
    idempotency_key: A key of the creation, as in `Promises.create`.

Returns:
    The promise, new or existing.

Raises:
    Invalid: The promise has the task's id, or `Promises.create` would refuse it.
    NotFound: The task does not exist.
    Conflict: The task is not acquired or has another version, or the idempotency key differs.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> store.tasks.fence_create("job", 1, "job.1", timeout=1000).promise.state
    'pending'
)doc")
      .def("fence_settle", &fence_settle, py::arg("id"), py::arg("version"), py::arg("promise_id"), py::arg("value") = py::none(),
           py::kw_only(), py::arg("state") = "resolved", py::arg("headers") = py::none(), py::arg("idempotency_key") = py::none(),
           R"doc(
Settle another promise if the caller still holds the task (PROTOCOL 3.14).

Args:
    id: The id of the task.
    version: Its version.
    promise_id: The id of the promise to settle, not the task's own.
    value: The result: bytes, a `Value`, or any JSON-able object.
    state: `resolved`, `rejected` or `rejected_canceled`.
    headers: Headers of the value.
    idempotency_key: A key of the settlement, as in `Promises.resolve`.

Returns:
    The settled promise.

Raises:
    Invalid: The promise has the task's id, or the state is another one.
    NotFound: The task or the promise does not exist.
    Conflict: The task is not acquired or has another version, or the idempotency key differs.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
    >>> _ = store.tasks.fence_create("job", 1, "job.1", timeout=1000)
    >>> store.tasks.fence_settle("job", 1, "job.1", 42).promise.value.json()
    42
)doc");
}

}  // namespace resonate::python
