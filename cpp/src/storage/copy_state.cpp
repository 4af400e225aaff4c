#include "codec/state_view.hpp"
#include "machine/job_moves.hpp"

namespace resonate {

namespace {

// A copy of the edge or message whose number is greater by `by`.
template <class Numbered>
Shared<const Numbered> renumbered(const Shared<const Numbered>& one, std::int64_t by) {
  if (by == 0) return one;
  auto* moved = new Numbered(*one);
  Shared<const Numbered> held(moved);
  moved->seq += by;
  return held;
}

// The processes that deliver the messages of a store deliver none of its copy.
MessageRef unleased(const MessageRef& message) {
  if (message->holder.empty()) return message;
  auto* made = new OutboxMessage(*message);
  MessageRef held(made);
  made->holder.clear();
  made->leased_until = 0;
  return held;
}

RowRef renumbered(const RowRef& row, std::int64_t by) {
  if (by == 0 || (row->execute_seq == 0 && row->drained_through() == 0)) return row;
  auto* moved = new Row(*row);
  RowRef held(moved);
  if (moved->execute_seq) moved->execute_seq += by;
  if (moved->drained_through()) edit_job(*moved).drained_through += by;
  return held;
}

}  // namespace

std::unique_ptr<Storage> Storage::fork() {
  std::unique_ptr<Storage> copy = make_memory_storage();
  copy_state(*this, *copy);
  return copy;
}

void copy_state(Storage& from, Storage& to, std::int64_t numbers_after) {
  Changes all;
  all.replaces_all = true;
  all.counters = from.counters();
  all.counters.sequence += numbers_after;
  each_promise(from, [&](StateView::Promise promise) {
    all.rows.push_back({RowRef(), renumbered(promise.row, numbers_after)});
    for (auto* edges : {&promise.callbacks, &promise.listeners, &promise.keepers})
      for (const EdgeRef& edge : *edges) all.edges_added.push_back(renumbered(edge, numbers_after));
  });
  each_schedule(from, [&](const ScheduleRef& schedule) { all.schedules.push_back({ScheduleRef(), schedule}); });
  for (const QueueRef& queue : from.queues()) {
    all.queues.push_back({QueueRef(), queue});
    for (HourRef& hour : from.hours(queue->name, kFirstPlace)) all.hours.push_back({std::move(hour), kFirstPlace});
  }
  each_message(from,
               [&](const MessageRef& message) { all.messages_added.push_back(renumbered(unleased(message), numbers_after)); });
  to.write(all);
}

}  // namespace resonate
