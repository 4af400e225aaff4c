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
           py::arg("headers") = py::none(), py::arg("tags") = py::none(), py::arg("idempotency_key") = py::none())
      .def("fence_settle", &fence_settle, py::arg("id"), py::arg("version"), py::arg("promise_id"), py::arg("value") = py::none(),
           py::kw_only(), py::arg("state") = "resolved", py::arg("headers") = py::none(), py::arg("idempotency_key") = py::none());
}

}  // namespace resonate::python
