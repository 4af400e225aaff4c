// A storage whose writes fail when a test asks for it; all other calls go to the inner storage.
#pragma once

#include <memory>
#include <utility>

#include "resonate/errors.hpp"
#include "resonate/storage.hpp"

namespace resonate::fake {

class FailingStorage : public Storage {
 public:
  // Writes succeed until `writes_left` is 0, and always if it is -1. The counter is shared, so that a test can change it later.
  explicit FailingStorage(std::shared_ptr<int> writes_left, std::unique_ptr<Storage> inner = make_memory_storage())
      : Storage(inner->location()), writes_left_(std::move(writes_left)), inner_(std::move(inner)) {}

  void begin(Access access) override { inner_->begin(access); }
  void end() noexcept override { inner_->end(); }
  Counters counters() override { return inner_->counters(); }
  void load_many(const Lookups& records) override { inner_->load_many(records); }
  Instant first_due() override { return inner_->first_due(); }
  std::vector<RowRef> rows(const RowRange& range) override { return inner_->rows(range); }
  std::vector<ScheduleRef> schedules(const ScheduleRange& range) override { return inner_->schedules(range); }
  std::vector<QueueRef> queues(std::size_t most) override { return inner_->queues(most); }
  std::vector<HourRef> hours(std::string_view queue, std::int64_t since) override { return inner_->hours(queue, since); }
  std::vector<std::string> holders(std::string_view after, std::size_t limit) override { return inner_->holders(after, limit); }
  std::vector<EdgeRef> edges(const EdgeRange& range) override { return inner_->edges(range); }
  std::vector<MessageRef> messages(const MessageRange& range) override { return inner_->messages(range); }
  void write(const Changes& changes) override {
    if (*writes_left_ == 0) throw Error(ErrorCode::storage, "the disk is full");
    if (*writes_left_ > 0) --*writes_left_;
    inner_->write(changes);
  }
  std::size_t count(Table table) override { return inner_->count(table); }
  std::unique_ptr<Storage> fork() override { return std::make_unique<FailingStorage>(writes_left_, inner_->fork()); }

 private:
  std::shared_ptr<int> writes_left_;
  std::unique_ptr<Storage> inner_;
};

}  // namespace resonate::fake
