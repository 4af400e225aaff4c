// Store.aio, Store.workflows, Store.wait, Store.result: Python functions make them, from calls and from a Watch.
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
  bound.def_property_readonly("aio", [](const StoreObject& self) {
    return Shown<"resonate_core.aio.AsyncStore">(call(member_of_module("resonate_core.aio", "face"), self));
  });
  bound.def_property_readonly("workflows", [](const StoreObject& self) {
    return Shown<"resonate_core.calls.workflows.Workflows">(
        call(member_of_module("resonate_core.calls.workflows", "Workflows"), self));
  });
  bound.def(
      "wait",
      [](const StoreObject& self, const Str& id, const WaitLimit& timeout) {
        return Shown<"resonate_core._core.Promise">(
            call(member_of_module("resonate_core.calls.waiting", "wait"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none());
  bound.def(
      "result",
      [](const StoreObject& self, const Str& id, const WaitLimit& timeout) {
        return AnyValue(call(member_of_module("resonate_core.calls.waiting", "result"), self, id, timeout));
      },
      py::arg("id"), py::kw_only(), py::arg("timeout") = py::none());
}

}  // namespace resonate::python
