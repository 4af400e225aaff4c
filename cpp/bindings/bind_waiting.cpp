// Store.aio, Store.wait, Store.result: Python functions make them, from calls and from a Watch.
#include <pybind11/pybind11.h>

#include "arguments.hpp"
#include "gil.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using StoreObject = Shown<"resonate_core._core.Store">;
using WaitLimit = Shown<"float | datetime.timedelta | None">;

}  // namespace

void bind_waiting(StoreClass& bound) {
  bound.def_property_readonly(
      "aio",
      [](const StoreObject& self) {
        return Shown<"resonate_core.aio.AsyncStore">(call(member_of_module("resonate_core.aio", "face"), self));
      },
      R"doc(
The same calls for asyncio: they do not block the event loop, and tasks share commits.

Example:
    >>> import asyncio
    >>> async def main():
    ...     store = rc.Store(clock=rc.ManualClock())
    ...     await store.aio.promises.create("a", timeout=1000)
    ...     return await store.aio.promises.resolve("a", 42)
    >>> asyncio.run(main()).value.json()
    42
)doc");
  bound.def(
      "wait",
      [](const StoreObject& self, const Str& id, const WaitLimit& timeout) {
        return Shown<"resonate_core._core.Promise">(
            call(member_of_module("resonate_core.calls.waiting", "wait"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none(), R"doc(
Block the thread until a promise is settled, and return it. A job is waited for by its id, too.

A commit of this process ends the wait at once, a commit of another process 50 ms later at most. With a `ManualClock` a wait ends when
another thread moves the clock to the deadline.

Args:
    id: The id of the promise.
    timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

Returns:
    The promise: resolved, rejected, cancelled, or past its deadline.

Raises:
    NotFound: It does not exist, or was deleted meanwhile.
    TimeoutError: It is still pending after the timeout.
    Closed: The store is closed.

Example:
    >>> import threading
    >>> store = rc.Store()
    >>> _ = store.promises.create("a", timeout=60_000)
    >>> threading.Timer(0.01, store.promises.resolve, ["a", 42]).start()
    >>> store.wait("a", timeout=10).value.json()
    42
)doc");
  bound.def(
      "result",
      [](const StoreObject& self, const Str& id, const WaitLimit& timeout) {
        return AnyValue(call(member_of_module("resonate_core.calls.waiting", "result"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none(), R"doc(
Block the thread until a promise or a job is settled, and return its decoded value; otherwise like `wait`.

Args:
    id: The id of the promise or job.
    timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

Raises:
    Rejected: It was rejected or cancelled, or its deadline has passed.
    NotFound: It does not exist, or was deleted meanwhile.
    TimeoutError: It is still pending after the timeout.
    Invalid: The value is not JSON; `wait(id)` returns the promise with it.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> _ = store.promises.resolve("a", {"total": 3})
    >>> store.result("a")
    {'total': 3}
)doc");
}

}  // namespace resonate::python
