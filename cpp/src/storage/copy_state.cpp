#include "state_view.hpp"

namespace resonate {

void copy_state(Storage& from, Storage& to) {
  Changes all;
  all.counters = from.counters();
  each_promise(from, [&all](StateView::Promise promise) {
    all.rows.push_back({RowRef(), std::move(promise.row)});
    for (auto* edges : {&promise.callbacks, &promise.listeners})
      all.edges_added.insert(all.edges_added.end(), edges->begin(), edges->end());
  });
  each_schedule(from, [&all](const ScheduleRef& schedule) { all.schedules.push_back({ScheduleRef(), schedule}); });
  each_message(from, [&all](const MessageRef& message) { all.messages_added.push_back(message); });
  to.write(all);
}

}  // namespace resonate
