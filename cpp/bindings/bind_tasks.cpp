// store.tasks
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.hpp"
#include "described_method.hpp"
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

Claim create_task(const Tasks& self, const Str& id, const OptionalInstant& timeout_at, const Str& pid, const DurationArgument& ttl,
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

TaskRecord get_task(const Tasks& self, Operation&& operation) { return self.store->run_for_task(std::move(operation)); }

void run(const Tasks& self, Operation&& operation) { self.store->run(std::move(operation)); }

void heartbeat(const Tasks& self, const Str& pid, const Held& tasks) {
  self.store->run(TaskHeartbeat{.pid = std::string(text(pid, "pid")), .tasks = held<TaskRef>(tasks, "tasks")});
}

TaskPage search_tasks(const Tasks& self, const OptionalStr& id, const OptionalTaskState& state, const OptionalStr& target,
                      const StringMapping& tags, const Int& limit, const OptionalStr& cursor) {
  TaskSearch search{search_query(id, tags, limit, cursor)};
  search.query.filter.state = optional_text(state, "state");
  search.query.filter.target = optional_text(target, "target");
  Reply reply = self.store->run(std::move(search));
  return {{std::move(reply.cursor)}, std::move(reply.rows)};
}

constexpr const char* kClaimType = "resonate_core._core.Claim";

void bind_claiming(py::class_<Tasks>& bound) {
  DescribedMethod<TaskGet, &get_task>::bind(bound, "get");

  KeywordMethod<&create_task>::bind(bound, "create",
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
                                    kClaimType);

  KeywordMethod<&acquire>::bind(
      bound, "acquire",
      {{{"id", Given::required}, {"version", Given::required}, {"pid", Given::required_keyword}, {"ttl", Given::required_keyword}}},
      kClaimType);

  bound.def("heartbeat", &heartbeat, py::arg("pid"), py::arg("tasks") = py::tuple())
      .def("search", &search_tasks, py::arg("id") = py::none(), py::kw_only(), py::arg("state") = py::none(),
           py::arg("target") = py::none(), py::arg("tags") = py::none(), py::arg("limit") = 100, py::arg("cursor") = py::none());
}

void bind_running(py::class_<Tasks>& bound) {
  bound.def("suspend", &suspend, py::arg("id"), py::arg("version"), py::arg("awaiting"))
      .def("fulfill", &fulfill, py::arg("id"), py::arg("version"), py::arg("value") = py::none(), py::kw_only(),
           py::arg("state") = "resolved", py::arg("headers") = py::none(), py::arg("idempotency_key") = py::none());
  DescribedMethod<TaskRelease, &run>::bind(bound, "release");
  DescribedMethod<TaskHalt, &run>::bind(bound, "halt");
  DescribedMethod<TaskContinue, &run>::bind(bound, "resume");
}

}  // namespace

void bind_tasks(py::module_& module) {
  py::class_<Tasks> bound(module, "Tasks");
  bind_claiming(bound);
  bind_running(bound);
  bind_fencing(bound);
  bound.def("__repr__", [](const Tasks& self) { return self.store->closed() ? "Tasks of a closed store" : "Tasks of a store"; });
}

}  // namespace resonate::python
