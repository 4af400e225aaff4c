// Envelope, RequestLimits, Store.run: decoded requests of a server.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "bind.hpp"
#include "codec/kinds.hpp"
#include "fork_safety.hpp"
#include "machine/tag_advice.hpp"
#include "protocol/admission.hpp"
#include "protocol/envelope_handler.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

struct Limits {
  RequestLimits of_request;
  std::size_t nesting = SIZE_MAX;
  std::shared_ptr<Clock> clock;
};

// Decoded once, so that the checks and the run use the same request even if its text is malicious.
class HeldEnvelope {
 public:
  HeldEnvelope(std::string_view text, const Limits& limits) : decoded_(decode(text, limits)) { note(); }

  const std::string& kind() const noexcept { return kind_; }
  const std::string& version() const noexcept { return version_; }
  const std::string& corr_id() const noexcept { return corr_id_; }
  bool refused() const noexcept { return refused_; }
  bool debug() const noexcept { return debug_; }
  bool search() const noexcept { return search_; }
  bool read() const noexcept { return read_; }
  std::size_t records() const noexcept { return records_; }
  std::optional<std::string> auth() const {
    const auto* known = std::get_if<resonate::Envelope>(&decoded());
    return known && !known->auth.empty() ? std::optional(known->auth) : std::nullopt;
  }
  std::vector<std::string> ids() const { return named(&Named::ids); }
  std::vector<std::string> queues() const { return named(&Named::queues); }
  std::vector<std::string> advice() const {
    const Request* request = this->request();
    return request ? tag_advice(request->operation) : std::vector<std::string>();
  }
  void set_scope(std::string scope) {
    if (Request* request = const_cast<Request*>(this->request())) request->scope = std::move(scope);
  }
  void forget_debug_time() {
    (void)decoded();
    if (auto* known = std::get_if<resonate::Envelope>(&decoded_)) known->debug_time.reset();
  }
  py::bytes refusal(int status, std::string message) const {
    return py::bytes(EnvelopeHandler::encode_json(
        Refusal{.kind = kind_, .corr_id = corr_id_, .version = version_, .status = status, .message = std::move(message)}));
  }
  Decoded take() {
    (void)decoded();
    taken_ = true;
    return std::move(decoded_);
  }

 private:
  std::vector<std::string> named(std::vector<std::string_view> Named::*which) const {
    const Request* request = this->request();
    if (!request) return {};
    std::string buffer;
    const Named all = named_by(request->operation, buffer);
    return {(all.*which).begin(), (all.*which).end()};
  }
  static Decoded decode(std::string_view text, const Limits& limits) {
    if (nests_deeper(text, limits.nesting)) return Refusal{.message = nests_too_deep(limits.nesting)};
    Decoded decoded = EnvelopeHandler::decode_json(text);
    if (const auto* known = std::get_if<resonate::Envelope>(&decoded)) {
      if (const auto* request = std::get_if<Request>(&known->operation)) {
        const std::optional<Instant> now = limits.clock ? std::optional(limits.clock->now()) : std::nullopt;
        if (auto problem = exceeded_limit(request->operation, limits.of_request, now))
          return refusal_of(known->head, status::kInvalid, *std::move(problem));
      }
    }
    return decoded;
  }
  const Decoded& decoded() const {
    if (taken_) raise(ErrorClass::invalid, "an envelope must run only once: decode the request again");
    return decoded_;
  }
  const Request* request() const {
    const auto* known = std::get_if<resonate::Envelope>(&decoded());
    return known ? std::get_if<Request>(&known->operation) : nullptr;
  }
  void note() {
    if (const auto* refusal = std::get_if<Refusal>(&decoded_)) {
      refused_ = true;
      kind_ = refusal->kind;
      version_ = refusal->version;
      corr_id_ = refusal->corr_id;
      return;
    }
    const ReplyHead& head = std::get<resonate::Envelope>(decoded_).head;
    kind_ = name_of(head.kind, head.dialect);
    version_ = dialect(head.dialect).version;
    corr_id_ = head.corr_id;
    debug_ = is_debug(head.kind);
    if (const Request* request = this->request()) {
      search_ = may_read_many(request->operation);
      read_ = is_read(request->operation);
      records_ = records_of(request->operation);
    }
  }

  Decoded decoded_;
  bool taken_ = false;
  bool refused_ = false;
  bool debug_ = false;
  bool search_ = false;
  bool read_ = false;
  std::size_t records_ = 1;
  std::string kind_;
  std::string version_;
  std::string corr_id_;
};

using StatusAndReply = py::typing::Tuple<py::int_, py::bytes>;

py::typing::List<StatusAndReply> run(const StoreHandle& store, const py::typing::List<HeldEnvelope>& envelopes) {
  std::vector<Decoded> decoded;
  decoded.reserve(envelopes.size());
  const auto handler = open(store).handler();
  for (py::handle one : envelopes) decoded.push_back(one.cast<HeldEnvelope&>().take());
  std::vector<std::pair<int, std::string>> replies;
  replies.reserve(decoded.size());
  {
    const OutsidePython outside;
    for (const Answer& answer : handler->run(std::move(decoded), std::nullopt, Atomicity::independent))
      replies.emplace_back(status_of(answer), EnvelopeHandler::encode_json(answer));
  }
  py::typing::List<StatusAndReply> made;
  for (const auto& [status, reply] : replies) made.append(py::make_tuple(status, py::bytes(reply)));
  return made;
}

py::typing::Set<py::str> kinds() {
  py::typing::Set<py::str> names;
  for (std::size_t kind = 0; kind < kKindCount; ++kind)
    for (const Dialect& dialect : kDialects)
      if (const std::string_view name = name_of(static_cast<Kind>(kind), dialect.id); !name.empty()) names.add(py::str(name));
  return names;
}

py::typing::Set<py::str> steps() {
  py::typing::Set<py::str> names;
  for (std::size_t kind = 0; kind < kStepKinds; ++kind) names.add(py::str(std::string(name_of(static_cast<StepKind>(kind)))));
  return names;
}

}  // namespace

void bind_requests(py::module_& module) {
  module.def("request_kinds", &kinds, R"doc(
Return the kinds of requests that a store answers, in both versions of the protocol.

Example:
    >>> from resonate_core._core import request_kinds
    >>> sorted(kind for kind in request_kinds() if kind.startswith("promise.reg"))
    ['promise.register', 'promise.register_callback', 'promise.register_listener']
)doc");
  module.def("step_kinds", &steps, R"doc(
Return the kinds of internal steps: the values of `Fired.kind`, which follow `step.` in a recording.

Example:
    >>> from resonate_core._core import step_kinds
    >>> sorted(kind for kind in step_kinds() if kind.endswith("drain"))
    ['callback_drain', 'cancel_drain', 'listener_drain']
)doc");
  py::class_<Limits>(module, "RequestLimits", R"doc(
Limits of a request's size and of the durations in it. A request beyond a limit is refused with status 400.

Args:
    id_bytes: Bytes of an id, a pid, an address or the name of a tag.
    tags: Number of tags of a promise, and of headers of a value.
    list_length: Number of tasks of a heartbeat, and of actions of a suspend.
    nesting: Depth of the JSON.
    lease: Longest lease of a job, in ms or as a timedelta.
    ttl: Longest lease of a task, in ms or as a timedelta.
    delay: Longest delay of a job, a message or a retry, in ms or as a timedelta.
    clock: The clock that `delay` counts from. Without a clock, instants are not limited.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"[[[]]]", RequestLimits(nesting=2)).refused
    True
)doc")
      .def(py::init([](std::size_t id_bytes, std::size_t tags, std::size_t list_length, std::size_t nesting,
                       const DurationArgument& lease, const DurationArgument& ttl, const DurationArgument& delay,
                       std::optional<std::shared_ptr<Clock>> clock) {
             return Limits{{.id_bytes = id_bytes,
                            .tags = tags,
                            .list_length = list_length,
                            .lease = duration(lease, "lease"),
                            .ttl = duration(ttl, "ttl"),
                            .delay = duration(delay, "delay")},
                           nesting,
                           std::move(clock).value_or(nullptr)};
           }),
           py::kw_only(), py::arg("id_bytes") = INT64_MAX, py::arg("tags") = INT64_MAX, py::arg("list_length") = INT64_MAX,
           py::arg("nesting") = INT64_MAX, py::arg("lease") = kNever, py::arg("ttl") = kNever, py::arg("delay") = kNever,
           py::arg("clock") = py::none());

  py::class_<HeldEnvelope>(module, "Envelope", R"doc(
A request in a server: decoded once, checked, then run by `Store.run`.

Args:
    text: JSON in UTF-8. Any text makes an envelope; a malformed one is `refused` and gets status 400.
    limits: The limits of the request.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> text = b'{"kind":"promise.get","head":{"corrId":"1","version":"2026-04-01"},"data":{"id":"a"}}'
    >>> envelope = Envelope(text, RequestLimits())
    >>> envelope.kind, envelope.ids
    ('promise.get', ['a'])
    >>> rc.Store(clock=rc.ManualClock()).run([envelope])[0][0]
    404
)doc")
      .def(py::init([](const py::bytes& text, const Limits& limits) { return HeldEnvelope(std::string_view(text), limits); }),
           py::arg("text"), py::arg("limits"))
      .def_property_readonly("kind", &HeldEnvelope::kind, "The kind of the request; any text if it is refused.")
      .def_property_readonly("version", &HeldEnvelope::version, "The dialect of the reply.")
      .def_property_readonly("corr_id", &HeldEnvelope::corr_id, "The correlation id, which the reply repeats.")
      .def_property_readonly("auth", &HeldEnvelope::auth, "head.auth; None if it is missing or empty.")
      .def_property_readonly("refused", &HeldEnvelope::refused, "Whether it is malformed or too large, and gets status 400.")
      .def_property_readonly("debug", &HeldEnvelope::debug, "Whether it is a debug operation, which runs alone.")
      .def_property_readonly("search", &HeldEnvelope::search,
                             "Whether it may read every row: a search, or a change of all jobs that match a filter. Run "
                             "alone, it does not block other requests.")
      .def_property_readonly("read", &HeldEnvelope::read,
                             "Whether it changes nothing. On a file, a batch of such requests does not wait for a commit.")
      .def_property_readonly("records", &HeldEnvelope::records,
                             "How many records it names or asks for, such as the jobs that it enqueues: a measure of its work.")
      .def_property_readonly("ids", &HeldEnvelope::ids,
                             "Every id that it names, including those of its inner actions; for a schedule also the constant "
                             "beginning of the ids of its "
                             "promises.")
      .def_property_readonly("queues", &HeldEnvelope::queues,
                             "Every queue that it enqueues into, claims from or searches. The name of a queue that it "
                             "sets, pauses or reads is an id.")
      .def_property_readonly("advice", &HeldEnvelope::advice,
                             "A sentence for each tag that looks like a tag of the protocol but is not, for a log.")
      .def("restrict", &HeldEnvelope::set_scope, py::arg("prefix"), R"doc(
Restrict the results of the request (searches, preloads, all leases of a pid) to ids that begin with `prefix`.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> text = b'{"kind":"promise.search","head":{"corrId":"1","version":"2026-04-01"},"data":{}}'
    >>> Envelope(text, RequestLimits()).restrict("mine.")
)doc")
      .def("forget_debug_time", &HeldEnvelope::forget_debug_time, R"doc(
Ignore its `resonate:debug_time`: it runs at the store's instant.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"{}", RequestLimits()).forget_debug_time()
)doc")
      .def("refusal", &HeldEnvelope::refusal, py::arg("status"), py::arg("message"), R"doc(
Return the envelope of a reply with this status and text, as JSON.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"{}", RequestLimits()).refusal(429, "later")
    b'{"kind":"unknown","head":{"corrId":"0","status":429,"version":"2026-04-01"},"data":"later"}'
)doc");
}

void bind_run(StoreClass& bound) {
  bound.def("run", &run, py::arg("envelopes"), R"doc(
Run envelopes in one transaction, in order, each with its own reply (PROTOCOL 8). For servers.

Args:
    envelopes: Each may run only once. A debug operation among others gets status 400.

Returns:
    For each envelope its status and its reply as JSON in ASCII.

Raises:
    Closed: The store is closed.
    StoreError: The commit failed; nothing was changed.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> rc.Store(clock=rc.ManualClock()).run([Envelope(b"{", RequestLimits())])[0][0]
    400
)doc");
  bound.def(
      "_limit_submissions",
      [](const StoreHandle& self, const Limits& limits, std::size_t body_bytes) {
        const auto handler = open(self).handler();
        const OutsidePython outside;
        handler->limit_submissions({.body_bytes = body_bytes, .nesting = limits.nesting, .of_request = limits.of_request});
      },
      py::arg("limits"), py::arg("body_bytes"), R"doc(
Refuse submitted requests beyond these limits when they would run. For servers, which apply the limits of their settings.

Without this call the limits are the defaults of a server, and durations are not limited.

Args:
    limits: As of the server's own requests; `process_at` and the like are limited without a clock, too.
    body_bytes: Bytes of the text of a request.

Raises:
    Closed: The store is closed.

Example:
    >>> rc.Store(clock=rc.ManualClock())._limit_submissions(rc.RequestLimits(tags=8), 100_000)
)doc");
}

}  // namespace resonate::python
