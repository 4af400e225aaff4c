// store.promises
#include <pybind11/pybind11.h>

#include "bind.hpp"
#include "columns.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"
#include "state_types.hpp"

namespace resonate::python {

namespace {

PromiseRecord create(const Promises& self, const Str& id, const OptionalInstant& timeout_at, const OptionalDuration& timeout,
                     const AnyValue& param, const StringMapping& headers, const StringMapping& tags,
                     const OptionalStr& idempotency_key) {
  return self.store->run_for_promise(promise_create(*self.store, id, timeout_at, timeout, param, headers, tags, idempotency_key));
}

PromiseRecord get(const Promises& self, const Str& id) { return self.store->run_for_promise(PromiseGet{id_of(id)}); }

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

PromiseRecord register_callback(const Promises& self, const Str& awaited, const Str& awaiter) {
  return self.store->run_for_promise(
      RegisterCallback{.awaited = std::string(text(awaited, "awaited")), .awaiter = std::string(text(awaiter, "awaiter"))});
}

PromiseRecord register_listener(const Promises& self, const Str& awaited, const Str& address) {
  return self.store->run_for_promise(
      RegisterListener{.awaited = std::string(text(awaited, "awaited")), .address = std::string(text(address, "address"))});
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
  py::class_<Promises> bound(module, "Promises", R"doc(
The promises of a store: `store.promises`.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("order:1", timeout=1000, param={"amount": 3})
    >>> store.promises.resolve("order:1", "shipped").value.json()
    'shipped'
)doc");
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
                               kPromiseType, R"doc(
Create a promise, or return the existing promise with this id (PROTOCOL 3.2).

A promise with a target (tag `resonate:target`) gets a task, which is dispatched at once, or at the instant in the tag
`resonate:delay`. A promise whose deadline has passed is created settled (PROTOCOL 1.2).

Args:
    id: Any text that is not empty and contains no NUL.
    timeout_at: The deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
    timeout: The deadline from now on, in ms or as a timedelta.
    param: The input of the promise: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the param.
    tags: Strings by name; the protocol interprets names that begin with `resonate:`.
    idempotency_key: A key of the creation. An existing promise is returned only if it was created with the same key.

Returns:
    The promise, new or existing.

Raises:
    Invalid: The id is empty, the deadline is negative, or tags contradict each other (PROTOCOL 3, shape rules).
    Conflict: The promise exists and was created with another idempotency key, or without one.
    TypeError: An argument has a wrong type, or both or neither of `timeout_at` and `timeout` are given.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.promises.create("a", 1000).state
    'pending'
    >>> store.promises.create("b", timeout_at=0).state
    'rejected_timedout'
)doc");

  bound.def("get", &get, py::arg("id"), R"doc(
Return the promise as it is now (PROTOCOL 3.1). A read: it stores nothing and runs no step.

Args:
    id: The id of the promise.

Returns:
    The promise; settled if its deadline has passed.

Raises:
    NotFound: The promise does not exist.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.promises.get("a").timeout_at
    1000
)doc");

  KeywordMethod<&resolve>::bind(bound, "resolve", kSettleParameters, kPromiseType, R"doc(
Resolve a promise and fulfil its task (PROTOCOL 3.3). A promise that is already settled is returned unchanged.

Args:
    id: The id of the promise.
    value: The result: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the value.
    idempotency_key: A key of the settlement. A settled promise is returned only if it was settled with the same key.

Returns:
    The settled promise.

Raises:
    NotFound: The promise does not exist.
    Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

Example:
    >>> store = rc.Store(clock=rc.ManualClock(5))
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.promises.resolve("a", {"ok": True})
    Promise(id='a', state='resolved', value=Value(data='eyJvayI6dHJ1ZX0='), timeout_at=1005, created_at=5, settled_at=5)
)doc");

  KeywordMethod<&reject>::bind(bound, "reject", kSettleParameters, kPromiseType, R"doc(
Reject a promise (PROTOCOL 3.3); otherwise like `resolve`.

Args:
    id: The id of the promise.
    value: The error: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the value.
    idempotency_key: A key of the settlement.

Returns:
    The settled promise.

Raises:
    NotFound: The promise does not exist.
    Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.promises.reject("a", "no stock").state
    'rejected'
)doc");

  KeywordMethod<&cancel>::bind(bound, "cancel", kSettleParameters, kPromiseType, R"doc(
Cancel a promise: settle it as rejected_canceled (PROTOCOL 3.3); otherwise like `resolve`.

Args:
    id: The id of the promise.
    value: The reason: bytes, a `Value`, or any JSON-able object.
    headers: Headers of the value.
    idempotency_key: A key of the settlement.

Returns:
    The settled promise.

Raises:
    NotFound: The promise does not exist.
    Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.promises.cancel("a").state
    'rejected_canceled'
)doc");
}

void bind_awaiting(py::class_<Promises>& bound) {
  bound
      .def("register_callback", &register_callback, py::arg("awaited"), py::arg("awaiter"), R"doc(
Register a callback: wake a task when a promise is settled (PROTOCOL 3.4). It has no effect if one of the two is settled.

Args:
    awaited: The id of the awaited promise.
    awaiter: The id of the waiting task; its promise must have a target.

Returns:
    The awaited promise.

Raises:
    Invalid: Both ids are the same.
    NotFound: The awaited promise does not exist.
    Unprocessable: The awaiter does not exist or has no target, or, under strict rules, the awaited promise is internal.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("child", timeout=1000)
    >>> _ = store.promises.create("parent", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.promises.register_callback("child", "parent").id
    'child'
)doc")
      .def("register_listener", &register_listener, py::arg("awaited"), py::arg("address"), R"doc(
Register a listener: send a message to an address when a promise is settled (PROTOCOL 3.6). It has no effect if it is settled.

Args:
    awaited: The id of the awaited promise.
    address: `scheme:rest`; strict rules accept only `http://`, `https://` and `poll://` with an `@` (PROTOCOL 2.1).

Returns:
    The awaited promise.

Raises:
    Invalid: The address is malformed.
    NotFound: The promise does not exist.
    Unprocessable: Under strict rules, the promise is internal.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> _ = store.promises.register_listener("a", "poll://any@clients")
    >>> _ = store.promises.resolve("a")
    >>> [message.key for message in store.messages()]
    ['unblock:a:poll://any@clients']
)doc")
      .def("search", &search, py::arg("id") = py::none(), py::kw_only(), py::arg("state") = py::none(),
           py::arg("tags") = py::none(), py::arg("limit") = 100, py::arg("cursor") = py::none(), R"doc(
Return a page of the matching promises, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

Args:
    id: A pattern in which `*` stands for any characters; None: any id.
    state: The current state, with deadlines considered; None: any state.
    tags: Tags that a promise must have, with these values.
    limit: The size of the page, 1 to 1000.
    cursor: The `cursor` of the previous page.

Returns:
    A page; its `cursor` is None on the last page.

Raises:
    Invalid: The limit is out of range, or the state is unknown.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create_many(["order:1", "order:2", "other"], 1000)
    >>> [promise.id for promise in store.promises.search("order:*", state="pending")]
    ['order:1', 'order:2']
)doc");
}

void bind_many(py::class_<Promises>& bound) {
  bound
      .def("count", &count, R"doc(
Return the number of promises, including settled ones.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.promises.count()
    1
)doc")
      .def("create_many", &create_many, py::arg("ids"), py::arg("timeout_at"), py::kw_only(), py::arg("params") = py::none(),
           py::arg("tags") = py::none(), R"doc(
Create many promises in one transaction, all or none; like `create` for each, in order.

Args:
    ids: The ids.
    timeout_at: One deadline for all, in Unix ms or as an aware datetime, or one for each.
    params: One param for each, or None.
    tags: The tags of each promise.

Returns:
    The promises, new or existing, in order of the ids.

Raises:
    Invalid: As for `create`, or the lists have different lengths. Nothing was created.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> batch = store.promises.create_many(["a", "b"], [1000, 2000], params=[1, 2])
    >>> [(promise.id, promise.param.json()) for promise in batch]
    [('a', 1), ('b', 2)]
)doc")
      .def("settle_many", &settle_many, py::arg("ids"), py::arg("values") = py::none(), py::kw_only(),
           py::arg("state") = "resolved", R"doc(
Settle many promises in one transaction, all or none; like `resolve` for each, in order.

Args:
    ids: The ids.
    values: One value for each, or None.
    state: `resolved`, `rejected` or `rejected_canceled`, for all promises.

Returns:
    The settled promises, in order of the ids.

Raises:
    NotFound: A promise does not exist. Nothing was settled.
    Invalid: The state is another one, or the lists have different lengths.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create_many(["a", "b"], 1000)
    >>> store.promises.settle_many(["a", "b"], [1, 2]).states
    ['resolved', 'resolved']
)doc")
      .def("__repr__", [](const Promises& self) {
        return self.store->closed() ? std::string("Promises of a closed store")
                                    : "Promises(count=" + std::to_string(count(self)) + ")";
      });
}

}  // namespace
}  // namespace resonate::python
