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
  module.def("request_kinds", &kinds);
  module.def("step_kinds", &steps);
  py::class_<Limits>(module, "RequestLimits")
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

  py::class_<HeldEnvelope>(module, "Envelope")
      .def(py::init([](const py::bytes& text, const Limits& limits) { return HeldEnvelope(std::string_view(text), limits); }),
           py::arg("text"), py::arg("limits"))
      .def_property_readonly("kind", &HeldEnvelope::kind)
      .def_property_readonly("version", &HeldEnvelope::version)
      .def_property_readonly("corr_id", &HeldEnvelope::corr_id)
      .def_property_readonly("auth", &HeldEnvelope::auth)
      .def_property_readonly("refused", &HeldEnvelope::refused)
      .def_property_readonly("debug", &HeldEnvelope::debug)
      .def_property_readonly("search", &HeldEnvelope::search)
      .def_property_readonly("read", &HeldEnvelope::read)
      .def_property_readonly("records", &HeldEnvelope::records)
      .def_property_readonly("ids", &HeldEnvelope::ids)
      .def_property_readonly("queues", &HeldEnvelope::queues)
      .def_property_readonly("advice", &HeldEnvelope::advice)
      .def("restrict", &HeldEnvelope::set_scope, py::arg("prefix"))
      .def("forget_debug_time", &HeldEnvelope::forget_debug_time)
      .def("refusal", &HeldEnvelope::refusal, py::arg("status"), py::arg("message"));
}

void bind_run(StoreClass& bound) {
  bound.def("run", &run, py::arg("envelopes"));
  bound.def(
      "_limit_submissions",
      [](const StoreHandle& self, const Limits& limits, std::size_t body_bytes) {
        const auto handler = open(self).handler();
        const OutsidePython outside;
        handler->limit_submissions({.body_bytes = body_bytes, .nesting = limits.nesting, .of_request = limits.of_request});
      },
      py::arg("limits"), py::arg("body_bytes"));
}

}  // namespace resonate::python
