// store.promises
#include <pybind11/pybind11.h>

#include "bind.hpp"
#include "columns.hpp"
#include "described_method.hpp"
#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

PromiseRecord create(const Promises& self, const Str& id, const OptionalInstant& timeout_at, const OptionalDuration& timeout,
                     const AnyValue& param, const StringMapping& headers, const StringMapping& tags,
                     const OptionalStr& idempotency_key) {
  return self.store->run_for_promise(promise_create(*self.store, id, timeout_at, timeout, param, headers, tags, idempotency_key));
}

PromiseRecord run_for_promise(const Promises& self, Operation&& operation) {
  return self.store->run_for_promise(std::move(operation));
}

PromiseRecord settle(const Promises& self, const Str& id, std::string_view state, const AnyValue& value,
                     const StringMapping& headers, const OptionalStr& idempotency_key) {
  return self.store->run_for_promise(promise_settle(text(id, "id"), state, value, headers, idempotency_key));
}

PromiseRecord resolve(const Promises& self, const Str& id, const AnyValue& value, const StringMapping& headers,
                      const OptionalStr& idempotency_key) {
  return settle(self, id, "resolved", value, headers, idempotency_key);
}

PromiseRecord reject(const Promises& self, const Str& id, const AnyValue& value, const StringMapping& headers,
                     const OptionalStr& idempotency_key) {
  return settle(self, id, "rejected", value, headers, idempotency_key);
}

PromiseRecord cancel(const Promises& self, const Str& id, const AnyValue& value, const StringMapping& headers,
                     const OptionalStr& idempotency_key) {
  return settle(self, id, "rejected_canceled", value, headers, idempotency_key);
}

PromisePage search(const Promises& self, const OptionalStr& id, const OptionalPromiseState& state, const StringMapping& tags,
                   const Int& limit, const OptionalStr& cursor) {
  PromiseSearch search{search_query(id, tags, limit, cursor)};
  search.query.filter.state = optional_text(state, "state");
  Reply reply = self.store->run(std::move(search));
  return {{std::move(reply.cursor)}, std::move(reply.rows)};
}

std::size_t count(const Promises& self) {
  return self.store->without_gil([](Engine& engine) { return engine.promise_count(); });
}

PromiseBatch create_many(const Promises& self, const TextColumn& ids, const InstantColumn& timeout_at, const ValueColumn& params,
                         const StringMapping& tags) {
  return self.store->run_all(creations(ids, timeout_at, params, tags));
}

PromiseBatch settle_many(const Promises& self, const TextColumn& ids, const ValueColumn& values, const SettledState& state) {
  return self.store->run_all(settlements(ids, values, text(state, "state")));
}

void bind_single(py::class_<Promises>& bound);
void bind_awaiting(py::class_<Promises>& bound);
void bind_many(py::class_<Promises>& bound);

}  // namespace

void bind_promises(py::module_& module) {
  py::class_<Promises> bound(module, "Promises");
  bind_single(bound);
  bind_awaiting(bound);
  bind_many(bound);
}

namespace {

constexpr const char* kPromiseType = "resonate_core._core.Promise";
constexpr std::array<Parameter, 4> kSettleParameters = {
    {{"id", Given::required}, {"value", Given::optional}, {"headers"}, {"idempotency_key"}}};

void bind_single(py::class_<Promises>& bound) {
  KeywordMethod<&create>::bind(bound, "create",
                               {{{"id", Given::required},
                                 {"timeout_at", Given::optional},
                                 {"timeout"},
                                 {"param"},
                                 {"headers"},
                                 {"tags"},
                                 {"idempotency_key"}}},
                               kPromiseType);

  DescribedMethod<PromiseGet, &run_for_promise>::bind(bound, "get");

  KeywordMethod<&resolve>::bind(bound, "resolve", kSettleParameters, kPromiseType);

  KeywordMethod<&reject>::bind(bound, "reject", kSettleParameters, kPromiseType);

  KeywordMethod<&cancel>::bind(bound, "cancel", kSettleParameters, kPromiseType);
}

void bind_awaiting(py::class_<Promises>& bound) {
  DescribedMethod<RegisterCallback, &run_for_promise>::bind(bound, "register_callback");
  DescribedMethod<RegisterListener, &run_for_promise>::bind(bound, "register_listener");
  bound.def("search", &search, py::arg("id") = py::none(), py::kw_only(), py::arg("state") = py::none(),
            py::arg("tags") = py::none(), py::arg("limit") = 100, py::arg("cursor") = py::none());
}

void bind_many(py::class_<Promises>& bound) {
  bound.def("count", &count)
      .def("create_many", &create_many, py::arg("ids"), py::arg("timeout_at"), py::kw_only(), py::arg("params") = py::none(),
           py::arg("tags") = py::none())
      .def("settle_many", &settle_many, py::arg("ids"), py::arg("values") = py::none(), py::kw_only(),
           py::arg("state") = "resolved")
      .def("__repr__", [](const Promises& self) {
        return self.store->closed() ? std::string("Promises of a closed store")
                                    : "Promises(count=" + std::to_string(count(self)) + ")";
      });
}

}  // namespace
}  // namespace resonate::python
