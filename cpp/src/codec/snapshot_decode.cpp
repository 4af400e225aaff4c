#include "codec/snapshot_decode.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codec/job_records_read.hpp"
#include "codec/json_node.hpp"
#include "codec/kinds.hpp"
#include "codec/messages.hpp"
#include "codec/reader.hpp"
#include "codec/record_members_read.hpp"
#include "codec/snapshot_encode.hpp"
#include "machine/derive.hpp"
#include "machine/job_cancellation.hpp"

namespace resonate {
namespace detail {
namespace {

[[noreturn]] void refuse_member(const Path& path, const std::string& rule) { throw Malformed{to_text(path) + " " + rule}; }

// Decodes a snapshot into one change of an empty store.
class SnapshotReader {
  using Node = JsonNode;

 public:
  // `at`: the place of the snapshot in its document; an empty `at` means the document itself.
  Changes read(const Node& snapshot, const Path* at) {
    const Members<Node, Field::format, Field::now, Field::dropped, Field::generated_jobs, Field::promises, Field::schedules,
                  Field::queues, Field::hours, Field::messages>
        members(snapshot, at);
    if (const std::string format = members.text<Field::format>(); format != kSnapshotFormat) {
      refuse_member(members.path(Field::format), "must be " + in_quotes(kSnapshotFormat) + ", got " + in_quotes(format));
    }
    changes_.counters.now = members.integer<Field::now>();
    changes_.counters.dropped = read_count(members.integer<Field::dropped>(), members.path(Field::dropped));
    changes_.counters.jobs =
        read_count(members.optional_integer<Field::generated_jobs>().value_or(0), members.path(Field::generated_jobs));
    members.each<Field::promises>([this](const Node& node, const Path& path) { read_promise(node, path); });
    members.each<Field::schedules>([this](const Node& node, const Path& path) { read_schedule(node, path); });
    if (members.find<Field::queues>())
      members.each<Field::queues>([this](const Node& node, const Path& path) {
        QueueRef queue = read_queue(node, &path);
        if (!queue_names_.insert(queue->name).second) refuse_member(path, "comes twice: " + in_quotes(queue->name));
        changes_.queues.push_back({QueueRef(), std::move(queue)});
      });
    if (members.find<Field::hours>())
      members.each<Field::hours>([this](const Node& node, const Path& path) { read_hour(node, path); });
    members.each<Field::messages>([this](const Node& node, const Path& path) { read_message(node, path); });
    for (EdgeRef& edge : changes_.edges_added) follow_cancellation(edge);
    for (Shared<Row>& row : rows_) {
      if (row->job && !queue_names_.contains(row->job->spec->queue))
        throw Malformed{"the queue " + in_quotes(row->job->spec->queue) + " of job " + in_quotes(row->id()) + " is missing"};
      // The dispatch that is due has not run yet, so an execute that waits comes from an earlier dispatch.
      row->execute_waits = row->execute_seq != 0 && row->task == TaskState::pending && !row->job &&
                           dispatchable(*row->promise_spec) && row->retry_at > changes_.counters.now;
      row->due = next_due(*row);
      changes_.rows.push_back({RowRef(), RowRef(std::move(row))});
    }
    return std::move(changes_);
  }

 private:
  void read_hour(const Node& node, const Path& path) {
    const Members<Node, Field::queue> members(node, &path);
    Shared<EndedHour> ended(new EndedHour);
    ended->queue = members.text<Field::queue>();
    DescribedReader<Node>().read(ended->counted, node, &path);
    if (!queue_names_.contains(ended->queue))
      refuse_member(path, "must be of a queue of the snapshot, got " + in_quotes(ended->queue));
    changes_.hours.push_back({std::move(ended), kFirstPlace});
  }

  template <class MembersOfObject>
  static DialectId read_dialect(const MembersOfObject& members) {
    const std::string version = members.template text<Field::dialect>();
    const std::optional<DialectId> id = dialect_named(version);
    if (!id) refuse_member(members.path(Field::dialect), "must be a known version, got " + in_quotes(version));
    return *id;
  }
  // Reads a counter. It must leave room to count upwards.
  static std::int64_t read_count(std::int64_t count, const Path& path) {
    if (count < 0 || count > kMostCounted)
      refuse_member(path, "must be from 0 to " + std::to_string(kMostCounted) + ", got " + std::to_string(count));
    return count;
  }
  // Reads a place in the order of edges and messages.
  std::int64_t next_seq() { return ++changes_.counters.sequence; }

  void read_promise(const Node& node, const Path& at) {
    const Members<Node, Field::id, Field::state, Field::param, Field::value, Field::tags, Field::timeout_at, Field::created_at,
                  Field::settled_at, Field::ikc, Field::iku, Field::dialect, Field::external, Field::callbacks, Field::listeners,
                  Field::task, Field::job, Field::kept_by, Field::child>
        members(node, &at);
    auto promise_spec = make_shared_value<PromiseSpec>();
    read_promise_spec(members, *promise_spec);
    if (auto key = members.optional_text<Field::ikc>()) promise_spec->ikc = make_shared_value<const SharedString>(*std::move(key));
    promise_spec->dialect = read_dialect(members);
    derive_promise_spec(*promise_spec);

    auto row = make_shared_value<Row>();
    if (const Node* child = members.find<Field::child>())
      row->unread = read_child(*child, members.path(Field::child), *promise_spec);
    row->promise_spec = promise_spec;
    row->state = read_promise_state(members);
    row->external = read_boolean(members.need<Field::external>(), members.path(Field::external));
    row->settled_at = members.optional_integer<Field::settled_at>().value_or(kUnset);
    if (Value value = members.value<Field::value>(); !value.empty()) row->value = make_shared_value<SharedValue>(std::move(value));
    row->iku = shared_text(members.optional_text<Field::iku>());
    if (const Node* task = members.find<Field::task>()) read_task(*task, members.path(Field::task), *row);
    if (const Node* job = members.find<Field::job>()) {
      const Path path = members.path(Field::job);
      Shared<Job> found = read_job(*job, &path);
      if (members.find<Field::kept_by>()) found->keepers = read_keepers(members, promise_spec->id, promise_spec->dialect);
      row->job = std::move(found);
      if (!row->has_task()) refuse_member(path, "needs a task");
      if (is_held(row->job->state) && !row->pid) refuse_member(path, "is held, and its task has no pid");
    }
    if (members.find<Field::kept_by>() && !row->job) {
      if (!promise_spec->child) refuse_member(members.path(Field::kept_by), "needs a job, or a child of one");
      (void)read_keepers(members, promise_spec->id, promise_spec->dialect);
    }
    read_edges(members, promise_spec->id, *row);
    if (!places_.emplace(promise_spec->id, rows_.size()).second)
      refuse_member(members.path(Field::id), "comes twice: " + in_quotes(promise_spec->id));
    rows_.push_back(std::move(row));
  }

  template <class MembersOfPromise>
  void read_edges(const MembersOfPromise& members, const std::string& owner, Row& row) {
    std::unordered_set<std::string> callbacks;
    members.template each<Field::callbacks>([&](const Node& node, const Path& path) {
      add_edge(EdgeKind::callback, owner, std::string(read_text(node, path)), row.promise_spec->dialect, callbacks, path);
      ++row.callbacks;
    });
    std::unordered_set<std::string> listeners;
    members.template each<Field::listeners>([&](const Node& node, const Path& path) {
      const Members<Node, Field::address, Field::dialect> listener(node, &path);
      add_edge(EdgeKind::listener, owner, listener.text<Field::address>(), read_dialect(listener), listeners, path);
      ++row.listeners;
    });
  }
  template <class MembersOfPromise>
  std::int64_t read_keepers(const MembersOfPromise& members, const std::string& owner, DialectId dialect) {
    std::unordered_set<std::string> keepers;
    members.template each<Field::kept_by>([&](const Node& node, const Path& path) {
      add_edge(EdgeKind::keeper, owner, std::string(read_text(node, path)), dialect, keepers, path);
    });
    return static_cast<std::int64_t>(keepers.size());
  }

  // Returns whether it is an unread message.
  static bool read_child(const Node& node, const Path& at, PromiseSpec& promise_spec) {
    const Members<Node, Field::parent, Field::kind, Field::number, Field::unread> members(node, &at);
    const std::optional<ChildKind> kind = child_kind_named(members.text<Field::kind>());
    if (!kind) refuse_type(members.need<Field::kind>(), members.path(Field::kind), "the kind of a child");
    promise_spec.child =
        child_of(members.text<Field::parent>(), *kind, members.integer<Field::number>(), promise_spec.id, promise_spec.tags);
    const Node* unread = members.find<Field::unread>();
    return unread && read_boolean(*unread, members.path(Field::unread)) && *kind == ChildKind::message;
  }

  void add_edge(EdgeKind kind, const std::string& owner, std::string other, DialectId dialect,
                std::unordered_set<std::string>& seen, const Path& path) {
    if (!seen.insert(other).second) refuse_member(path, "comes twice: " + in_quotes(other));
    auto edge = make_shared_value<Edge>();
    edge->kind = kind;
    edge->owner = owner;
    edge->other = std::move(other);
    edge->seq = next_seq();
    edge->dialect = dialect;
    changes_.edges_added.emplace_back(std::move(edge));
  }

  // Whether an awaiter cancels the job, and whether it still has to, follow from the rows.
  void follow_cancellation(EdgeRef& edge) {
    const Row& awaited = *rows_[places_.at(edge->owner)];
    const auto place = places_.find(edge->other);
    if (edge->kind != EdgeKind::callback || place == places_.end()) return;
    Row& awaiter = *rows_[place->second];
    if (!cancels(awaited, awaiter)) return;
    const_cast<Edge&>(*edge).cancels = true;  // this reader has made it
    if (awaiter.state == PromiseState::rejected_canceled) awaiter.cancels_jobs = true;
  }

  static void read_task(const Node& node, const Path& at, Row& row) {
    const Members<Node, Field::state, Field::acquisitions, Field::pid, Field::ttl, Field::expires_at, Field::last_ttl,
                  Field::retry_at, Field::resumes, Field::current>
        members(node, &at);
    row.task = read_task_state(members);
    row.acquisitions = members.integer<Field::acquisitions>();
    row.pid = shared_text(members.optional_text<Field::pid>());
    if (row.task == TaskState::acquired && !row.pid) refuse_member(members.path(Field::pid), "is missing; the task is acquired");
    const std::optional<Duration> ttl = members.optional_integer<Field::ttl>();
    const std::optional<Duration> last_ttl = members.optional_integer<Field::last_ttl>();
    if (ttl && last_ttl && *ttl != *last_ttl) {
      refuse_member(members.path(Field::ttl), "must be lastTtl (" + std::to_string(*last_ttl) + "), got " + std::to_string(*ttl));
    }
    row.ttl = last_ttl.value_or(ttl.value_or(0));
    row.expires_at = members.optional_integer<Field::expires_at>().value_or(kUnset);
    row.retry_at = members.optional_integer<Field::retry_at>().value_or(kUnset);
    std::vector<std::string> resumes;
    members.each<Field::resumes>([&](const Node& element, const Path& path) { resumes.emplace_back(read_text(element, path)); });
    if (!resumes.empty()) row.resumes = make_shared_value<SharedStrings>(std::move(resumes));
    row.current = shared_text(members.optional_text<Field::current>());
  }

  void read_schedule(const Node& node, const Path& at) {
    const ScheduleMembers<Node> members(node, &at);
    auto schedule = make_shared_value<Schedule>();
    read_schedule_members(members, *schedule);
    if (const Node* job = members.find_given<Field::job>()) {
      if (job->type() == NodeType::string) {  // one that the store which wrote it could not read either
        auto unread = make_shared_value<JobTemplate>();
        unread->unread = job->text();
        unread->problem = "the snapshot has it as a text";
        schedule->job = std::move(unread);
      } else {
        schedule->job = read_template(*job, members.path(Field::job));
      }
    }
    schedule->dialect = read_dialect(members);
    if (!schedule_ids_.insert(schedule->id).second)
      refuse_member(members.path(Field::id), "comes twice: " + in_quotes(schedule->id));
    changes_.schedules.push_back({ScheduleRef(), ScheduleRef(std::move(schedule))});
  }

  void read_message(const Node& node, const Path& at) {
    const Members<Node, Field::kind, Field::id, Field::version, Field::address, Field::attempts, Field::queued_at> members(node,
                                                                                                                           &at);
    auto message = make_shared_value<OutboxMessage>();
    if (!set_kind(*message, members.text<Field::kind>()))
      refuse_type(members.need<Field::kind>(), members.path(Field::kind), "the kind of a message");
    message->id = members.text<Field::id>();
    message->address = members.text<Field::address>();
    message->attempts = members.integer<Field::attempts>();
    message->queued_at = members.integer<Field::queued_at>();
    message->seq = next_seq();
    const auto place = places_.find(message->id);
    if (place == places_.end())
      refuse_member(members.path(Field::id), "must name a promise of the snapshot, got " + in_quotes(message->id));
    if (message->kind == MessageKind::execute) {
      message->version = members.integer<Field::version>();
      Row& row = *rows_[place->second];
      if (!row.has_task()) refuse_member(members.path(Field::id), "must name a task, got " + in_quotes(message->id));
      row.execute_seq = message->seq;
    }
    if (!keys_.insert(key_of(*message)).second) refuse_member(at, "comes twice: " + in_quotes(key_of(*message)));
    changes_.messages_added.emplace_back(std::move(message));
  }
  static constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;

  Changes changes_;
  std::vector<Shared<Row>> rows_;
  std::unordered_map<std::string, std::size_t> places_;  // of rows_, by id
  std::unordered_set<std::string> schedule_ids_;
  std::unordered_set<std::string> queue_names_;
  std::unordered_set<std::string> keys_;
};

}  // namespace
}  // namespace detail

std::unique_ptr<Storage> decode_snapshot(const JsonNode& snapshot, const Path* at) {
  std::unique_ptr<Storage> storage = make_memory_storage();
  storage->write(detail::SnapshotReader().read(snapshot, at));
  return storage;
}

}  // namespace resonate
