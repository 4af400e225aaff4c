// A transaction sees the state that storage shows after its commit: random changes, and the same queries on both.
#include <gtest/gtest.h>

#include <random>

#include "fake_rows.hpp"
#include "machine/working_set.hpp"
#include "storage/memory_storage.hpp"

namespace resonate {
namespace {

using Texts = std::vector<std::string>;

std::string text_of(const Row& row) { return row.id() + "/" + std::to_string(row.acquisitions); }

class Overlay {
 public:
  Overlay(Storage& storage, std::mt19937& random) : storage_(storage), set_(storage), random_(random) {}

  void change() {
    switch (below(9)) {
      case 0:
      case 1: return change_row();
      case 2: return create_row();
      case 3: return change_schedule();
      case 4:
      case 5: return add_edge();
      case 6: return consume_edge();
      case 7: return remove_edge();
      default: return change_messages();
    }
  }

  // The answers to queries that both a working set and a storage support, as texts.
  Texts seen_before() {
    Texts seen;
    for (const RowRange& range : ranges()) {
      seen.emplace_back("scan");
      for (const RowRef& row : set_.scan(range, [](const Row&) { return true; })) seen.push_back(text_of(*row));
    }
    seen.emplace_back("schedules");
    for (const ScheduleRef& each : set_.scan_schedules("s2", 7, [](const Schedule&) { return true; }))
      seen.push_back(each->id + std::to_string(each->next_run_at));
    for (const auto& [kind, owner, other] : pairs()) {
      seen.emplace_back(set_.has_edge(kind, owner, other) ? "edge" : "none");
      const EdgeRef first = set_.first_edge(kind, owner);
      seen.push_back(first ? first->other : "none");
      seen.emplace_back(set_.any_edge(kind, owner, [&](const Edge& edge) { return edge.other == other; }) ? "edge" : "none");
    }
    for (const char* awaiter : kOthers) {
      const EdgeRef first = set_.first_cancelled_with(awaiter);
      seen.push_back(first ? first->owner : "none");
    }
    for (const Instant now : {0, 20, 60}) {
      const auto next = set_.next_due(now);
      seen.push_back(!next ? "idle" : next->schedule ? next->schedule->now->id : next->row->now->id());
    }
    return seen;
  }
  Texts seen_after() {
    storage_.write(set_.finish());
    Texts seen;
    for (const RowRange& range : ranges()) {
      seen.emplace_back("scan");
      for (const RowRef& row : storage_.rows(range)) seen.push_back(text_of(*row));
    }
    seen.emplace_back("schedules");
    for (const ScheduleRef& each : storage_.schedules({.after = "s2", .limit = 7}))
      seen.push_back(each->id + std::to_string(each->next_run_at));
    for (const auto& [kind, owner, other] : pairs()) {
      seen.emplace_back(storage_.load_edge(kind, owner, other) ? "edge" : "none");
      const auto first = storage_.edges({kind, owner, 0, 1});
      seen.push_back(first.empty() ? "none" : first[0]->other);
      seen.emplace_back(storage_.load_edge(kind, owner, other) ? "edge" : "none");
    }
    for (const char* awaiter : kOthers) {
      const auto first = storage_.edges({.of = awaiter, .limit = 1, .by = EdgeRange::By::canceller});
      seen.push_back(first.empty() ? "none" : first[0]->owner);
    }
    for (const Instant now : {0, 20, 60}) {
      const auto next = fake::due(storage_, now, 1);
      seen.push_back(next.empty() ? "idle" : next[0].substr(next[0].find(' ') + 1));
    }
    return seen;
  }

 private:
  static constexpr const char* kOthers[] = {"x0", "x1", "x2"};

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string some_id() { return "p" + std::to_string(10 + below(40)); }

  static std::vector<RowRange> ranges() {
    std::vector<RowRange> all = {{.limit = 1000},
                                 {.after = {.id = "p25"}, .limit = 5},
                                 rows_of_branch("b1"),
                                 tasks_held_by("w1"),
                                 {.index = Index::holder, .text = "w2", .after = {.id = "p20"}, .limit = 2}};
    for (const JobState state : {JobState::scheduled, JobState::retry, JobState::archived}) all.push_back(jobs_in_state(state));
    for (const char* queue : {"q0", "q1"}) {
      all.push_back(jobs_to_claim(queue));
      all.push_back({.index = Index::claim, .queue = queue, .after = {2, 3, "p30"}, .limit = 3});
      for (const char* key : {"k0", "k1"}) all.push_back({.index = Index::unique_key, .queue = queue, .text = key});
      for (const char* batch : {"x0", "x1"}) all.push_back(jobs_of_batch(queue, batch));
      all.push_back({.index = Index::batch, .queue = queue, .text = "g", .type = "work"});
    }
    return all;
  }
  static std::vector<std::tuple<EdgeKind, std::string, std::string>> pairs() {
    std::vector<std::tuple<EdgeKind, std::string, std::string>> all;
    for (const EdgeKind kind : {EdgeKind::listener, EdgeKind::callback})
      for (const char* owner : {"p10", "p11", "p12"})
        for (const char* other : kOthers) all.emplace_back(kind, owner, other);
    return all;
  }

  void scramble(Row& row) {
    row.external = true;
    row.acquisitions = below(1000);
    row.task = below(2) ? TaskState::acquired : TaskState::halted;
    row.expires_at = row.task == TaskState::acquired ? below(50) : kUnset;
    row.pid =
        row.task == TaskState::acquired ? Shared<const SharedString>(new SharedString("w" + std::to_string(below(3)))) : nullptr;
    row.job = below(2) ? some_job() : nullptr;
  }
  Shared<const Job> some_job() {
    Shared<JobSpec> spec(new JobSpec);
    spec->queue = "q" + std::to_string(below(2));
    spec->type = "work";
    spec->priority = below(4);
    spec->group = Shared<const SharedString>(new SharedString("g"));
    if (below(2)) spec->unique_key = "k" + std::to_string(below(2));
    Shared<Job> job(new Job);
    job->spec = std::move(spec);
    job->state = static_cast<JobState>(below(kJobStates));
    job->enqueued_at = below(6);
    if (below(2)) job->batch = Shared<const SharedString>(new SharedString("x" + std::to_string(below(2))));
    job->gathering = below(2);
    if (below(4) == 0) job->group_state = Shared<const GroupState>(new GroupState);
    return job;
  }
  void change_row() {
    WorkingSet::Entry* entry = set_.find(some_id());
    if (!entry) return;
    scramble(set_.edit(*entry));
    set_.touched(*entry);
  }
  void create_row() {
    const std::string id = some_id();
    if (set_.find(id)) return;
    StringMap tags;
    if (below(2)) tags.set("resonate:branch", "b" + std::to_string(below(3)));
    fake::RowMaker maker(id, 100 + below(10), tags);
    scramble(maker.row);
    set_.create(Shared<Row>(new Row(*maker.ref())));
  }
  void change_schedule() {
    const std::string id = "s" + std::to_string(below(20));
    if (auto* entry = set_.find_schedule(id); entry && below(2)) {
      set_.remove_schedule(*entry);
    } else {
      set_.put_schedule(fake::schedule(id, below(20) == 0 ? kNever : below(60)));
    }
  }
  void add_edge() {
    const auto all = pairs();
    const auto& [kind, owner, other] = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    if (!set_.has_edge(kind, owner, other))
      set_.add_edge(kind, owner, other, DialectId::k2026_04_01, kind == EdgeKind::callback && below(2) == 0);
  }
  void remove_edge() {
    if (const EdgeRef first = set_.first_cancelled_with(kOthers[below(3)])) set_.remove_edge(first);
  }
  void consume_edge() {
    const auto all = pairs();
    const auto& [kind, owner, other] = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    if (const EdgeRef first = set_.first_edge(kind, owner)) set_.remove_first_edge(first);
  }
  void change_messages() {
    const bool execute = below(2);
    const auto kind = execute ? MessageKind::execute : MessageKind::unblock;
    set_.add_message(Shared<OutboxMessage>(new OutboxMessage(*fake::message(kind, some_id(), "x", 0, ++queued_at_))));
    if (below(4) == 0) set_.drop_unblocks(queued_at_ - 3);
    if (below(4) == 0) set_.remove_message(1 + below(static_cast<int>(set_.counters().sequence)));
  }

  Storage& storage_;
  WorkingSet set_;
  std::mt19937& random_;
  inline static Instant queued_at_ = 0;  // time advances from one transaction to the next
};

class WorkingSetRandom : public ::testing::TestWithParam<unsigned> {};

TEST_P(WorkingSetRandom, SeesWhatItsCommitWillShow) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  MemoryStorage storage;
  for (int transaction = 0; transaction < 150; ++transaction) {
    Overlay overlay(storage, random);
    const int changes = 1 + static_cast<int>(random() % 25);
    for (int i = 0; i < changes; ++i) {
      overlay.change();
      if (random() % 8 == 0) overlay.seen_before();  // queries between the changes change nothing
    }
    const Texts before = overlay.seen_before();
    const Texts after = overlay.seen_after();
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < after.size(); ++i)
      ASSERT_EQ(before[i], after[i]) << "answer " << i << " of transaction " << transaction;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorkingSetRandom, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace resonate
