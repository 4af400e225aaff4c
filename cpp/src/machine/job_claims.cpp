// job.claim (JOBS 3): selects the jobs that a worker gets. Queues are chosen by weight or in strict order; within a queue the order
// is (priority, enqueued_at, id).
#include <algorithm>
#include <limits>
#include <optional>

#include "machine/derive.hpp"
#include "machine/job_moves.hpp"
#include "machine/machine.hpp"
#include "machine/queue_rate.hpp"

namespace resonate {

namespace {

// A queue that a claim takes jobs from.
struct Source {
  const QueueChoice* choice;
  WorkingSet::Cursor scan;
};

}  // namespace

Reply Machine::run(JobClaim& request) {
  const auto eligible = [this](const Row& row) { return !row.dead_at(now_) && in_scope(row.id()); };
  std::vector<Source> sources;
  sources.reserve(request.queues.size());
  const auto wanted = static_cast<std::size_t>(request.count);
  for (const QueueChoice& choice : request.queues) {
    const Queue* queue = set_.find_queue(choice.name);
    if (queue && !queue->paused) sources.push_back({&choice, set_.claims(choice.name, wanted, eligible)});
  }
  const Shared<const SharedString> worker(new SharedString(request.worker));
  const Duration run_lease = request.run_lease.value_or(request.lease);
  Reply reply = ok();
  Shared<JobReply> job_reply(new JobReply);
  std::vector<Source*> candidates;
  while (reply.rows.size() < wanted) {
    candidates.clear();
    std::int64_t weights = 0;
    Instant next_at = kNever;
    const auto weight_of = [&](const Source& source) {
      return source.choice->weight.value_or(set_.find_queue(source.choice->name)->weight);
    };
    for (Source& source : sources) {
      const Queue& queue = *set_.find_queue(source.choice->name);
      if (queue.concurrency && queue.active() >= queue.concurrency) continue;
      if (!source.scan.peek()) continue;
      if (const Instant at = next_claim_at(queue, now_); at > now_) {
        next_at = std::min(next_at, at);
        continue;
      }
      candidates.push_back(&source);
      if (request.strict) break;
      weights = saturating_add(weights, weight_of(source));
    }
    if (candidates.empty()) {
      if (next_at != kNever) job_reply->next_at = next_at;
      break;
    }
    Source* chosen = candidates.front();
    if (candidates.size() > 1) {
      std::int64_t most = std::numeric_limits<std::int64_t>::min();
      for (Source* candidate : candidates) {
        Queue& queue = set_.edit_queue(candidate->choice->name);
        queue.current = saturating_add(queue.current, weight_of(*candidate));
        if (queue.current > most) {
          most = queue.current;
          chosen = candidate;
        }
      }
      Queue& queue = set_.edit_queue(chosen->choice->name);
      queue.current = saturating_sub(queue.current, weights);
    }
    Entry* const entry = &chosen->scan.entry();
    chosen->scan.pop();
    count_claim(set_.edit_queue(chosen->choice->name), now_);
    const auto claim = [&](Entry& one) {
      const bool start = one.now->job->spec->one_step || reply.rows.size() < static_cast<std::size_t>(request.start);
      claim_job(set_, one, worker, request.lease, run_lease, start, now_);
      reply.rows.push_back(one.now);
    };
    const Shared<const SharedString> batch = entry->now->job->batch;
    claim(*entry);
    if (!batch) continue;
    for (Entry* other : set_.all_of(jobs_of_batch(chosen->choice->name, batch->text)))
      if (eligible(*other->now)) claim(*other);
  }
  reply.jobs = std::move(job_reply);
  return reply;
}

}  // namespace resonate
