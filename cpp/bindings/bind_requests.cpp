// Envelope, RequestLimits, Store.run: requests as a server holds them, between their bytes and their answer.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "bind.hpp"
#include "fork_safety.hpp"
#include "machine/tag_advice.hpp"
#include "protocol/admission.hpp"
#include "protocol/door.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

struct Limits {
  RequestLimits of_request;
  std::size_t nesting = SIZE_MAX;
  std::shared_ptr<Clock> clock;
};

// Decoded once: whoever judges a request and whoever runs it see the same one, whatever tricks its text plays.
class HeldEnvelope {
 public:
  HeldEnvelope(std::string_view text, const Limits& limits) : decoded_(decode(text, limits)) { note(); }

  const std::string& kind() const noexcept { return kind_; }
  const std::string& version() const noexcept { return version_; }
  const std::string& corr_id() const noexcept { return corr_id_; }
  bool refused() const noexcept { return refused_; }
  bool debug() const noexcept { return debug_; }
  bool search() const noexcept { return search_; }
  std::optional<std::string> auth() const {
    const auto* known = std::get_if<resonate::Envelope>(&decoded());
    return known && !known->auth.empty() ? std::optional(known->auth) : std::nullopt;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    if (const Request* request = this->request()) {
      std::string room;
      for (const std::string_view id : touched_ids(request->operation, room)) ids.emplace_back(id);
    }
    return ids;
  }
  std::vector<std::string> queues() const {
    const Request* request = this->request();
    if (!request) return {};
    const std::vector<std::string_view> named = touched_queues(request->operation);
    return {named.begin(), named.end()};
  }
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
    return py::bytes(EnvelopeDoor::encode_json(
        Refusal{.kind = kind_, .corr_id = corr_id_, .version = version_, .status = status, .message = std::move(message)}));
  }
  Decoded take() {
    (void)decoded();
    taken_ = true;
    return std::move(decoded_);
  }

 private:
  static Decoded decode(std::string_view text, const Limits& limits) {
    if (nests_deeper(text, limits.nesting))
      return Refusal{.message = "the JSON nests deeper than " + std::to_string(limits.nesting) + " levels"};
    Decoded decoded = EnvelopeDoor::decode_json(text);
    if (const auto* known = std::get_if<resonate::Envelope>(&decoded)) {
      if (const auto* request = std::get_if<Request>(&known->operation)) {
        if (auto problem = beyond(request->operation, limits.of_request, limits.clock.get()))
          return refusal_of(known->head, status::kInvalid, *std::move(problem));
      }
    }
    return decoded;
  }
  const Decoded& decoded() const {
    if (taken_) raise(ErrorClass::invalid, "an envelope is run once, and this one was");
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
    if (const Request* request = this->request()) search_ = is_search(request->operation);
  }

  Decoded decoded_;
  bool taken_ = false;
  bool refused_ = false;
  bool debug_ = false;
  bool search_ = false;
  std::string kind_;
  std::string version_;
  std::string corr_id_;
};

using StatusAndReply = py::typing::Tuple<py::int_, py::bytes>;

py::typing::List<StatusAndReply> run(const StoreHandle& store, const py::typing::List<HeldEnvelope>& envelopes) {
  std::vector<Decoded> decoded;
  decoded.reserve(envelopes.size());
  const auto door = open(store).door();
  for (py::handle one : envelopes) decoded.push_back(one.cast<HeldEnvelope&>().take());
  std::vector<std::pair<int, std::string>> replies;
  replies.reserve(decoded.size());
  {
    const OutsidePython outside;
    for (const Answer& answer : door->run(std::move(decoded), std::nullopt, Atomicity::independent))
      replies.emplace_back(status_of(answer), EnvelopeDoor::encode_json(answer));
  }
  py::typing::List<StatusAndReply> made;
  for (const auto& [status, reply] : replies) made.append(py::make_tuple(status, py::bytes(reply)));
  return made;
}

}  // namespace

void bind_requests(py::module_& module) {
  py::class_<Limits>(module, "RequestLimits", R"doc(
How large a request may be, and how long what it asks for may last; what is beyond is answered with status 400.

Args:
    id_bytes: Of an id, a pid, an address or the name of a tag.
    tags: Tags of a promise, headers of a value.
    list_length: Tasks of a heartbeat, actions of a suspend.
    nesting: Levels of brackets in the JSON.
    lease: Ms for which a job may be claimed or started.
    ttl: Ms for which a task may be acquired.
    delay: Ms that a job, a message or a next attempt may lie ahead.
    clock: Tells how far ahead an instant is. Without one, instants may be any.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"[[[]]]", RequestLimits(nesting=2)).refused
    True
)doc")
      .def(py::init([](std::size_t id_bytes, std::size_t tags, std::size_t list_length, std::size_t nesting, Duration lease,
                       Duration ttl, Duration delay, std::optional<std::shared_ptr<Clock>> clock) {
             return Limits{
                 {.id_bytes = id_bytes, .tags = tags, .list_length = list_length, .lease = lease, .ttl = ttl, .delay = delay},
                 nesting,
                 std::move(clock).value_or(nullptr)};
           }),
           py::kw_only(), py::arg("id_bytes") = INT64_MAX, py::arg("tags") = INT64_MAX, py::arg("list_length") = INT64_MAX,
           py::arg("nesting") = INT64_MAX, py::arg("lease") = kNever, py::arg("ttl") = kNever, py::arg("delay") = kNever,
           py::arg("clock") = py::none());

  py::class_<HeldEnvelope>(module, "Envelope", R"doc(
A request as a server holds it: decoded once, judged, then run by `Store.run`.

Args:
    text: JSON in UTF-8. Whatever it is, it makes an envelope; a malformed one is `refused` and answered with status 400.
    limits: How large it may be.

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
      .def_property_readonly("kind", &HeldEnvelope::kind,
                             "What is asked for, as far as it can be told; any text where it is refused.")
      .def_property_readonly("version", &HeldEnvelope::version, "The dialect in which it is answered.")
      .def_property_readonly("corr_id", &HeldEnvelope::corr_id, "What its answer repeats.")
      .def_property_readonly("auth", &HeldEnvelope::auth, "head.auth; None where there is none, or an empty one.")
      .def_property_readonly("refused", &HeldEnvelope::refused,
                             "Whether it is malformed or too large, and so answered with status 400.")
      .def_property_readonly("debug", &HeldEnvelope::debug, "Whether it is a debug operation. It is run alone.")
      .def_property_readonly("search", &HeldEnvelope::search,
                             "Whether it may look at every row. Run alone it keeps nobody waiting.")
      .def_property_readonly(
          "ids", &HeldEnvelope::ids,
          "Every id that it names, those of the actions inside it among them; of a schedule also how the ids of its "
          "promises begin.")
      .def_property_readonly("queues", &HeldEnvelope::queues,
                             "Every queue that it enqueues into, claims from or looks for jobs in. The name of a queue that it "
                             "sets, pauses or reads is an id.")
      .def_property_readonly("advice", &HeldEnvelope::advice,
                             "A sentence for each tag that has no meaning though it looks like one that has. Fit for a log.")
      .def("restrict", &HeldEnvelope::set_scope, py::arg("prefix"), R"doc(
Makes what the request finds by itself (searches, preloads, all leases of a pid) only what has an id that begins with `prefix`.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> text = b'{"kind":"promise.search","head":{"corrId":"1","version":"2026-04-01"},"data":{}}'
    >>> Envelope(text, RequestLimits()).restrict("mine.")
)doc")
      .def("forget_debug_time", &HeldEnvelope::forget_debug_time, R"doc(
Makes it run at the store's own instant, whatever its `resonate:debug_time` says.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"{}", RequestLimits()).forget_debug_time()
)doc")
      .def("refusal", &HeldEnvelope::refusal, py::arg("status"), py::arg("message"), R"doc(
The envelope, as JSON, that answers it with this status and text.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> Envelope(b"{}", RequestLimits()).refusal(429, "later")
    b'{"kind":"unknown","head":{"corrId":"0","status":429,"version":"2026-04-01"},"data":"later"}'
)doc");
}

void bind_run(StoreClass& bound) {
  bound.def("run", &run, py::arg("envelopes"), R"doc(
Runs envelopes in one transaction, in order, each with its own answer (PROTOCOL 8). For servers.

Args:
    envelopes: Each is run once. A debug operation is answered with 400 unless it comes alone.

Returns:
    Of each its status and its answer as JSON in ASCII.

Raises:
    Closed: The store was closed.
    StoreError: The commit failed, and nothing of it was done.

Example:
    >>> from resonate_core import Envelope, RequestLimits
    >>> rc.Store(clock=rc.ManualClock()).run([Envelope(b"{", RequestLimits())])[0][0]
    400
)doc");
}

}  // namespace resonate::python
