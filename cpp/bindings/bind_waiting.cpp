// Store.aio, Store.wait, Store.result: what Python code adds to a store, reached through it.
#include <pybind11/pybind11.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "gil.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

using StoreObject = Shown<"resonate_core._core.Store">;
using Seconds = Shown<"float | datetime.timedelta | None">;

}  // namespace

void bind_waiting(StoreClass& bound) {
  bound.def_property_readonly(
      "aio",
      [](const StoreObject& self) {
        return Shown<"resonate_core.aio.AsyncStore">(call(member_of_module("resonate_core.aio", "face"), self));
      },
      R"doc(
The calls of this store for asyncio: they never block the event loop, and calls of one loop share commits.

Example:
    >>> import asyncio
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> async def main():
    ...     return await store.aio.promises.create("a", timeout=1000)
    >>> asyncio.run(main()).state
    'pending'
)doc");
  bound.def(
      "wait",
      [](const StoreObject& self, const py::str& id, const Seconds& timeout) {
        return Shown<"resonate_core._core.Promise">(call(member_of_module("resonate_core._waiting", "wait"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none(), R"doc(
Wait until a promise is settled, and return it. A job is a promise, too. The thread blocks; other threads run.

Args:
    id: The id of the promise.
    timeout: How long to wait at most: seconds of real time, or a timedelta; None: without limit.

Returns:
    The settled promise.

Raises:
    NotFound: It does not exist, or it was deleted meanwhile.
    TimeoutError: It is still pending after `timeout`.
    Closed: The store is closed.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000), store.promises.resolve("a", 7)
    >>> store.wait("a", timeout=10).value.json()
    7
)doc");
  bound.def(
      "result",
      [](const StoreObject& self, const py::str& id, const Seconds& timeout) {
        return Shown<"typing.Any">(call(member_of_module("resonate_core._waiting", "result"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none(), R"doc(
Wait until a promise or a job is settled, and return its value, read as JSON.

Args:
    id: The id of the promise or job.
    timeout: As of `wait`.

Returns:
    The value; None if it is empty.

Raises:
    Rejected: It was rejected or cancelled, or its deadline passed; the error has the promise.
    NotFound: It does not exist, or it was deleted meanwhile.
    TimeoutError: It is still pending after `timeout`.
    Closed: The store is closed.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000), store.promises.resolve("a", 7)
    >>> store.result("a")
    7
)doc");
}

}  // namespace resonate::python
