// Requests on queues (JOBS 5).
#include <utility>

#include "machine/machine.hpp"
#include "machine/queue_rate.hpp"
#include "machine/quoted.hpp"

namespace resonate {

Reply Machine::queue_reply(const Queue& queue) const {
  Shared<JobReply> job_reply(new JobReply);
  job_reply->queues.push_back(QueueRef(new Queue(queue)));
  Reply reply = ok();
  reply.jobs = std::move(job_reply);
  return reply;
}

Reply Machine::no_queue(const std::string& name) const {
  return refusal(status::kNotFound, "queue " + quoted(name) + " does not exist");
}

Reply Machine::run(QueueSet& request) {
  if (auto refused = refuse_retries(request)) return refusal(status::kInvalid, *std::move(refused));
  Queue& queue = set_.edit_queue(request.queue);
  if (request.lifecycle.given)
    queue.lifecycle = request.lifecycle.value ? *lifecycle_named(*request.lifecycle.value) : Lifecycle::none;
  if (request.weight) queue.weight = *request.weight;
  if (request.concurrency.given) queue.concurrency = request.concurrency.value.value_or(0);
  if (request.rate.given && request.rate.value != queue.rate) begin_rate(queue, request.rate.value, now_);
  if (request.groups.given) queue.groups = request.groups.value;
  if (request.defaults.given) queue.defaults = request.defaults.value.value_or(JobDefaults{});
  return queue_reply(queue);
}

Reply Machine::run(QueueGet& request) {
  const Queue* queue = set_.find_queue(request.queue);
  return queue ? queue_reply(*queue) : no_queue(request.queue);
}

Reply Machine::set_paused(const std::string& name, bool paused) {
  const Queue* known = set_.find_queue(name);
  // An unknown name is probably a typing error, except the name of the default queue.
  if (!known && name != JobOrder().queue) return no_queue(name);
  if (known && known->paused == paused) return queue_reply(*known);
  Queue& queue = set_.edit_queue(name);
  queue.paused = paused;
  return queue_reply(queue);
}

Reply Machine::run(QueuePause& request) { return set_paused(request.queue, true); }

Reply Machine::run(QueueResume& request) { return set_paused(request.queue, false); }

Reply Machine::run(QueueList&) {
  Shared<JobReply> job_reply(new JobReply);
  for (QueueRef& queue : set_.queues())
    if (in_scope(queue->name)) job_reply->queues.push_back(std::move(queue));
  Reply reply = ok();
  reply.jobs = std::move(job_reply);
  return reply;
}

Reply Machine::run(JobStats& request) {
  Shared<JobReply> job_reply(new JobReply);
  const auto add = [&](QueueRef queue) {
    JobReply::Statistics statistics;
    statistics.oldest_pending_at = set_.oldest_pending(*queue, now_);
    statistics.queue = std::move(queue);
    job_reply->statistics.push_back(std::move(statistics));
  };
  if (request.queue) {
    const Queue* const queue = set_.find_queue(*request.queue);
    if (!queue) return no_queue(*request.queue);
    add(QueueRef(queue));
  } else {
    for (QueueRef& queue : set_.queues())
      if (in_scope(queue->name)) add(std::move(queue));
  }
  Reply reply = ok();
  reply.jobs = std::move(job_reply);
  return reply;
}

}  // namespace resonate
