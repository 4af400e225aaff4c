// The complete state of a store: visited in pages, or copied at once under the engine's lock and encoded later. Rows are shared, so
// a StateView needs one pointer for each row.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "resonate/options.hpp"
#include "resonate/storage.hpp"

namespace resonate {

struct StateView {
  struct Promise {
    RowRef row;
    std::vector<EdgeRef> callbacks;  // in order of registration
    std::vector<EdgeRef> listeners;
    std::vector<EdgeRef> keepers;
  };
  struct Message {
    MessageRef message;
    RowRef record;  // of an unblock
  };

  Counters counters;
  std::optional<Duration> retry_timeout;  // as in the engine's options
  std::vector<Promise> promises;          // ordered by id
  std::vector<ScheduleRef> schedules;
  std::vector<QueueRef> queues;   // by name
  std::vector<HourRef> hours;     // those that have ended, by queue
  std::vector<Message> messages;  // in order of queueing
};

StateView::Promise with_edges(Storage& storage, const RowRef& row);
StateView view_of(Storage& storage, const Options& options);

// In the orders above.
void each_promise(Storage& storage, const std::function<void(StateView::Promise)>& body);
void each_schedule(Storage& storage, const std::function<void(const ScheduleRef&)>& body);
void each_message(Storage& storage, const std::function<void(const MessageRef&)>& body);
std::vector<HourRef> all_hours(Storage& storage);

// The first edges of a promise, in order of registration. A callback that was drained and stays is a keeper.
std::vector<EdgeRef> callbacks_of(Storage& storage, const Row& row, std::size_t most = SIZE_MAX);
std::vector<EdgeRef> listeners_of(Storage& storage, const Row& row, std::size_t most = SIZE_MAX);
std::vector<EdgeRef> keepers_of(Storage& storage, const Row& row, std::size_t most = SIZE_MAX);

}  // namespace resonate
