#include "open_store.hpp"

#include "fork_safety.hpp"
#include "machine/tag_advice.hpp"
#include "recorder.hpp"

namespace resonate::python {

// If warnings are errors, the request has not run yet.
void OpenStore::warn_of_tags(const Operation& operation, int level) {
  for (const std::string& advice : tag_advice(operation)) {
    if (PyErr_WarnEx(PyExc_UserWarning, advice.c_str(), level) != 0) throw py::error_already_set();
  }
}

Reply OpenStore::reply_that_says_nothing() {
  static const auto* const nothing = [] {
    auto* const jobs = new Shared<JobReply>(new JobReply);
    (*jobs)->queues.push_back(make_shared_value<const Queue>());  // a request on one queue is answered with it
    return jobs;
  }();
  Reply reply;
  reply.jobs = *nothing;
  reply.fenced_status = status::kOk;
  return reply;
}

Instant OpenStore::now() const {
  if (made_) {
    made_->relative_deadline = true;
    return 0;
  }
  return without_gil([](Engine& engine) { return engine.clock()->now(); });
}

PromiseBatch OpenStore::run_all(std::vector<Request> requests) const {
  if (made_) {
    made_->requests = std::move(requests);
    return {};
  }
  for (const Request& request : requests) warn_of_tags(request.operation);
  PromiseBatch batch;
  batch.records.reserve(requests.size());
  std::optional<Reply> refusal;
  without_gil([&](Engine& engine) {
    for (Reply& reply : engine.apply(std::move(requests), {}, Atomicity::all_or_nothing)) {
      if (reply.ok()) {
        batch.records.push_back({std::move(reply.promise)});
      } else if (!refusal || refusal->status == status::kConflict) {
        refusal = std::move(reply);  // in an undone batch, all other replies are 409
      }
    }
  });
  if (refusal) raise_refusal(refusal->status, refusal->error);
  return batch;
}

void OpenStore::close() {
  if (closed()) return;
  if (recorder && !recorder->closed()) recorder->close();
  recorder.reset();
  std::shared_ptr<Engine> engine = std::exchange(engine_, nullptr);
  std::shared_ptr<EnvelopeHandler> handler = std::exchange(handler_, nullptr);
  std::shared_ptr<CommitNotices> ended = std::exchange(notices, nullptr);
  const OutsidePython outside;
  ended.reset();
  handler.reset();
  engine.reset();
}

}  // namespace resonate::python
