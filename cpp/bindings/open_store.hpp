// OpenStore: a store and its nouns (store.promises, store.jobs, ...) share one. It has the engine until the store is closed. The
// one of requests() has no engine: a call puts its requests into a list.
//
// All members are touched with the GIL held; the engine itself is called without it.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "fork_safety.hpp"
#include "protocol/envelope_handler.hpp"
#include "record_types.hpp"
#include "resonate/engine.hpp"
#include "resonate/postgres.hpp"

namespace resonate::python {

namespace py = pybind11;

class Recorder;

// The requests of a call that was not run.
struct MadeRequests {
  std::vector<Request> requests;
  bool relative_deadline = false;  // the deadline of the promise is the time until then
};

class OpenStore {
 public:
  explicit OpenStore(std::shared_ptr<Engine> engine)
      : engine_(std::move(engine)), handler_(std::make_shared<EnvelopeHandler>(engine_)) {}
  // A call on such a store puts its requests into `made` and does not run them. Ignore its result.
  explicit OpenStore(MadeRequests& made) : made_(&made) {}

  // Error (closed) after close().
  std::shared_ptr<Engine> engine() const { return still_open(engine_); }
  std::shared_ptr<EnvelopeHandler> handler() const { return still_open(handler_); }
  bool closed() const noexcept { return !engine_; }
  void close();

  // Null: nothing tells of the commits of other processes.
  std::shared_ptr<CommitNotices> notices;

  // At most one recording at a time.
  std::shared_ptr<Recorder> recorder;

  // Calls body(engine) without the GIL.
  template <class Body>
  auto without_gil(Body body) const {
    const std::shared_ptr<Engine> engine = this->engine();
    const OutsidePython outside;
    return body(*engine);
  }

  // One request of the typed API; raises what is refused, and warns of tags that look misspelt.
  Reply run(Operation operation) const {
    if (made_) {
      made_->requests.push_back(Request{.operation = std::move(operation)});
      return reply_that_says_nothing();
    }
    warn_of_tags(operation);
    Reply reply = without_gil([&](Engine& engine) { return engine.apply(Request{.operation = std::move(operation)}); });
    if (!reply.ok()) raise_refusal(reply.status, reply.error);
    return reply;
  }
  // The same of a request on few records. In memory it takes a few µs, so it keeps the GIL if no other thread is in the engine:
  // threads that give the GIL away at each request take turns at each, and a turn takes longer.
  Reply run_short(Operation operation) const {
    if (made_) return run(std::move(operation));
    warn_of_tags(operation);  // may run code
    Request request{.operation = std::move(operation)};
    std::optional<Reply> quick;
    if (!fork_is_under_way()) quick = engine()->try_apply(request);
    Reply reply = quick ? *std::move(quick) : without_gil([&](Engine& engine) { return engine.apply(std::move(request)); });
    if (!reply.ok()) raise_refusal(reply.status, reply.error);
    return reply;
  }
  PromiseRecord run_for_promise(Operation operation) const { return {run(std::move(operation)).promise}; }
  TaskRecord run_for_task(Operation operation) const { return {run(std::move(operation)).task}; }
  JobRecord run_for_job(Operation operation) const { return {run(std::move(operation)).promise}; }
  // All or none, in one transaction.
  PromiseBatch run_all(std::vector<Request> requests) const;

  // Warns of tags that look misspelt. The warning names a line of Python: level 1 is the line that calls the binding, level 2 the
  // line that calls the function around it.
  static void warn_of_tags(const Operation& operation, int level = 1);

  // The instant to which a relative deadline is added.
  Instant now() const;

 private:
  template <class T>
  const std::shared_ptr<T>& still_open(const std::shared_ptr<T>& part) const {
    if (made_) throw py::type_error("the method is no request of the protocol");
    if (!part) throw Error(ErrorCode::closed, "the store is closed");
    return part;
  }

  // Every call can read it.
  static Reply reply_that_says_nothing();

  MadeRequests* made_ = nullptr;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<EnvelopeHandler> handler_;
};

// store.promises, store.tasks, store.schedules.
struct Promises {
  std::shared_ptr<OpenStore> store;
};
struct Tasks {
  std::shared_ptr<OpenStore> store;
};
struct Schedules {
  std::shared_ptr<OpenStore> store;
};

// store.jobs, store.queues.
struct Jobs {
  std::shared_ptr<OpenStore> store;
};
struct Queues {
  std::shared_ptr<OpenStore> store;
};
// store.views.
struct Views {
  std::shared_ptr<OpenStore> store;
};
// A `job.record` whose arguments were read: it runs in the place of an envelope, in another thread, and again if that fails.
struct RecordRequest {
  JobRecordSteps request;
};

// Runs envelopes, each on its own, and returns (status, data) of each.
py::list answers_of_calls(const OpenStore& store, const py::list& envelopes);
// The request of a call of Jobs.enqueue with these arguments, which is not run.
Request enqueue_request(const py::tuple& arguments, const py::dict& keywords);
// The requests of workers and of operators on jobs, each in a file of its own.
void bind_claims(py::module_& module, py::class_<Jobs>& bound);
void bind_job_inspection(py::class_<Jobs>& bound);

// fence_create and fence_settle of Tasks, which have a file of their own.
void bind_fencing(py::class_<Tasks>& bound);

}  // namespace resonate::python
