// What a store and its nouns (store.promises, store.jobs, ...) share: the engine, until it is closed; or, for requests(), the list
// in which a call leaves what it would run.
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

// What a call would have run.
struct MadeRequests {
  std::vector<Request> requests;
  bool relative_deadline = false;  // the deadline of the promise is the time until then
};

class OpenStore {
 public:
  explicit OpenStore(std::shared_ptr<Engine> engine)
      : engine_(std::move(engine)), handler_(std::make_shared<EnvelopeHandler>(engine_)) {}
  // A call on such a store leaves its requests in `made`, in place of running them; its result says nothing.
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
  PromiseRecord run_for_promise(Operation operation) const { return {run(std::move(operation)).promise}; }
  TaskRecord run_for_task(Operation operation) const { return {run(std::move(operation)).task}; }
  JobRecord run_for_job(Operation operation) const { return {run(std::move(operation)).promise}; }
  // All or none, in one transaction.
  PromiseBatch run_all(std::vector<Request> requests) const;

  // Warns of tags that look misspelt, at the line of a Python function: 1 is the one that called the binding, 2 its caller.
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
// What workers and operators ask of jobs has files of its own.
void bind_job_members(py::class_<JobRecord>& bound);
void bind_claims(py::class_<Jobs>& bound);
void bind_job_inspection(py::class_<Jobs>& bound);

// fence_create and fence_settle of Tasks, which have a file of their own.
void bind_fencing(py::class_<Tasks>& bound);

}  // namespace resonate::python
