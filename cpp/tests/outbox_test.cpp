// Undelivered messages: their tasks have no timer, and a receiver reads only the messages to its addresses (PROTOCOL 4 and 5).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fake_backends.hpp"
#include "fake_storage.hpp"
#include "machine/derive.hpp"

namespace resonate {
namespace {

using namespace fake;

// Counts the messages that are read.
class CountingStorage final : public FailingStorage {
 public:
  CountingStorage(std::unique_ptr<Storage> inner, std::size_t& read)
      : FailingStorage(std::make_shared<int>(-1), std::move(inner)), read_(read) {}
  std::vector<MessageRef> messages(const MessageRange& range) override { return counted(FailingStorage::messages(range)); }

 private:
  std::vector<MessageRef> counted(std::vector<MessageRef> found) {
    read_ += found.size();
    return found;
  }
  std::size_t& read_;
};

class Outbox : public ::testing::TestWithParam<Backend> {
 protected:
  // Queues one message for each address, in order: the addresses listen to one promise.
  void queue(Store& store, const std::vector<std::string>& addresses) {
    const std::string id = "p" + std::to_string(promises_++);
    store.create(id, kFar, tags({{"resonate:external", "true"}}));
    for (const std::string& address : addresses) store.must(RegisterListener{id, address});
    store.settle(id);
    store.engine->tick();
  }
  static std::vector<std::string> addresses(const std::vector<std::pair<MessageRef, RowRef>>& found) {
    std::vector<std::string> those;
    for (const auto& [message, row] : found) those.push_back(message->address);
    return those;
  }

  static std::vector<std::int64_t> numbers(const std::vector<std::pair<MessageRef, RowRef>>& found) {
    std::vector<std::int64_t> those;
    for (const auto& [message, row] : found) those.push_back(message->seq);
    return those;
  }

  Backends backends;
  std::size_t read = 0;
  int promises_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Backends, Outbox, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST_P(Outbox, WhoLooksForAnAddressReadsWhatWaitsForIt) {
  Options options;
  Store store(std::make_unique<CountingStorage>(backends.storage(GetParam()), read), options);
  std::vector<std::string> others;
  for (int i = 0; i < 5000; ++i) others.push_back("poll://uni@theirs/" + std::to_string(i));
  queue(store, others);
  queue(store, {"poll://any@ours", "poll://any@ours/w", "poll://uni@ours/w"});
  const std::vector<AddressPattern> ours = {{"poll://any@ours", false}, {"poll://any@ours/", true}, {"poll://uni@ours/w", false}};
  read = 0;
  EXPECT_EQ(addresses(store.engine->messages_to(ours, 0, 100)),
            (Texts{"poll://any@ours", "poll://any@ours/w", "poll://uni@ours/w"}));
  EXPECT_EQ(read, 3u);
  read = 0;
  EXPECT_TRUE(
      store.engine->messages_to(std::vector<AddressPattern>{{"poll://any@nobody", false}, {"poll://any@nobody/", true}}, 0, 100)
          .empty());
  EXPECT_EQ(read, 0u);
  read = 0;
  EXPECT_EQ(store.engine->take_messages_to(ours, 100).size(), 3u);
  EXPECT_LE(read, 6u);
  read = 0;  // a pattern for all messages does not read them again for each page
  EXPECT_EQ(store.engine->messages_to(std::vector<AddressPattern>{{"poll://", true}}, 0, 100).size(), 100u);
  EXPECT_LE(read, 1024u);
}

TEST_P(Outbox, WhatIsFoundByAddressIsWhatAWalkFinds) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&random](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  Options options;
  Store store(backends.storage(GetParam()), options);
  const std::vector<std::string> names = {"a", "a/", "a/b", "a0", "b", "\xc3\xa9", "x://a/b"};
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> some;
    for (std::size_t i = 0, n = 1 + pick(12); i < n; ++i)
      some.push_back("s:" + names[pick(names.size())] + std::to_string(pick(3)));
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    queue(store, some);
  }
  for (int round = 0; round < 200; ++round) {
    std::vector<AddressPattern> wanted;
    for (std::size_t i = 0, n = 1 + pick(4); i < n; ++i) {
      std::string text = "s:" + names[pick(names.size())] + std::to_string(pick(3));
      const bool prefix = pick(2) == 0;
      if (prefix) text.resize(pick(text.size() + 1));
      wanted.push_back({std::move(text), prefix});
    }
    const auto fits = [&](const OutboxMessage& message) {
      return std::any_of(wanted.begin(), wanted.end(), [&](const AddressPattern& one) { return one.matches(message.address); });
    };
    const auto after = static_cast<std::int64_t>(pick(400));
    const std::size_t limit = pick(40);
    EXPECT_EQ(numbers(store.engine->messages_to(wanted, after, limit)),
              numbers(store.engine->messages_with_records_if(fits, after, limit)));
    if (round % 10 == 0) store.engine->take_messages_to(wanted, 3);
  }
}

TEST_P(Outbox, AMessageIsLeasedToOneHolder) {
  Store store(backends.storage(GetParam()));
  queue(store, {"poll://any@a", "poll://any@b"});
  const auto leased = [&](const std::string& holder, Duration lease, std::vector<std::int64_t> those) {
    return store.engine->lease_messages(those, holder, lease);
  };
  const std::vector<std::int64_t> both = numbers(store.engine->messages_with_records());
  const std::int64_t first = both.front();
  EXPECT_EQ(leased("one", 1000, {first, first, 0, -1, INT64_MIN, 999}), std::vector{first});
  EXPECT_EQ(leased("other", 1000, both), std::vector{both.back()});
  EXPECT_EQ(leased("one", 2000, {first}), std::vector{first});  // renewed
  const MessageRef shown = store.engine->messages_with_records().front().first;
  EXPECT_EQ(shown->holder, "one");
  EXPECT_EQ(shown->leased_until, store.clock->now() + 2000);
  const MessageRange unblocks{.by = MessageRange::By::unblock};  // a file keeps them in memory
  EXPECT_EQ(store.engine->with_storage([&](Storage& storage) { return storage.messages(unblocks).front()->holder; }), "one");
  store.clock->advance(1999);
  EXPECT_TRUE(leased("other", 1000, {first}).empty());
  store.clock->advance(1);
  EXPECT_EQ(leased("other", 1000, {first}), std::vector{first});
  EXPECT_EQ(leased("other", 0, {first}), std::vector{first});  // given up
  EXPECT_EQ(store.engine->messages_with_records().front().first->holder, "");
  EXPECT_EQ(leased("one", 1000, {first}), std::vector{first});
  EXPECT_EQ(store.engine->acknowledge(both), both);  // any process that has delivered it may acknowledge it
  EXPECT_TRUE(leased("one", 1000, both).empty());
}

TEST_P(Outbox, ALeaseBelongsToNoSnapshotAndNoCopy) {
  Store store(backends.storage(GetParam()));
  queue(store, {"poll://any@a"});
  const std::string before = store.snapshot();
  const std::vector<std::int64_t> all = numbers(store.engine->messages_with_records());
  EXPECT_EQ(store.engine->lease_messages(all, "one", 1000), all);
  EXPECT_EQ(store.snapshot(), before);
  const std::unique_ptr<Storage> copied = make_memory_storage();
  store.engine->with_snapshot([&](Storage& storage) { copy_state(storage, *copied); });
  EXPECT_EQ(copied->messages({}).front()->holder, "");
}

TEST_P(Outbox, ALeaseThatBreaksARuleIsRefused) {
  Store store(backends.storage(GetParam()));
  queue(store, {"poll://any@a"});
  const std::vector<std::int64_t> all = numbers(store.engine->messages_with_records());
  EXPECT_THROW((void)store.engine->lease_messages(all, "", 1000), Error);
  EXPECT_THROW((void)store.engine->lease_messages(all, "one", -1), Error);
  EXPECT_EQ(store.engine->lease_messages(all, "one", kNever), all);
  EXPECT_EQ(store.engine->messages_with_records().front().first->leased_until, kNever);
}

TEST_P(Outbox, MessagesAreCounted) {
  Store counted(backends.storage(GetParam()));
  const auto count = [&] { return counted.engine->with_storage([](Storage& storage) { return storage.count(Table::messages); }); };
  EXPECT_EQ(count(), 0u);
  counted.create("a", kFar, target());
  counted.create("b", kFar, target());
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(counted.engine->acknowledge(std::vector<std::int64_t>{counted.row("a")->execute_seq, 999}).size(), 1u);
  EXPECT_EQ(count(), 1u);
  counted.engine->tick(20'000);  // "a" is dispatched again, the message of "b" is still undelivered
  EXPECT_EQ(count(), 2u);
  counted.must(TaskAcquire{"b", 0, "w", 5});
  counted.must(TaskRelease{"b", 1});  // replaces the undelivered message
  EXPECT_EQ(count(), 2u);
  counted.engine->reset();
  EXPECT_EQ(count(), 0u);
}

TEST_P(Outbox, ATaskWhoseExecuteWaitsHasNoTimer) {
  Store store(backends.storage(GetParam()));
  store.create("a", kFar, target());
  EXPECT_EQ(store.engine->next_due(), kFar);
  EXPECT_TRUE(store.row("a")->execute_waits);
  EXPECT_TRUE(store.clock->advance_to(kFar - 1).empty());
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
  EXPECT_FALSE(store.row("a")->execute_waits);
  EXPECT_EQ(store.row("a")->retry_at, kFar);  // the next multiple of 5000 after 999999
  EXPECT_TRUE(store.engine->check().empty());
}

TEST_P(Outbox, ATaskThatIsToRestWithoutItsMessageIsNoticed) {
  Store store(backends.storage(GetParam()));
  store.create("a", kFar, target());
  store.engine->with_storage(
      [](Storage& storage) {
        Changes changes;
        changes.counters = storage.counters();
        changes.messages_removed.push_back(storage.load("a")->execute_seq);
        storage.write(changes);
      },
      Access::write);
  const std::vector<Violation> found = store.engine->check();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "pending_task_no_ttimeout");
}

TEST(ShownRetryAt, IsTheNextMultipleAfterNow) {
  Row row;
  row.retry_at = 10;
  EXPECT_EQ(shown_retry_at(row, 500, 7), 10);  // its timer is set
  row.execute_waits = true;
  const std::vector<std::pair<Instant, Instant>> cases = {{0, 10}, {9, 10}, {10, 17}, {11, 17}, {16, 17}, {17, 24}, {1000, 1004}};
  for (const auto& [now, shown] : cases) EXPECT_EQ(shown_retry_at(row, now, 7), shown) << now;
  EXPECT_EQ(shown_retry_at(row, 10, {}), 5010);  // the default interval of a task that was never acquired
  row.ttl = 33;
  EXPECT_EQ(shown_retry_at(row, 43, {}), 76);
  EXPECT_EQ(shown_retry_at(row, kNever - 1, kNever), kNever);
  row.retry_at = kUnset + 1;
  EXPECT_EQ(shown_retry_at(row, kNever, 1), kNever);
  EXPECT_EQ(shown_retry_at(row, 0, 1), 1);
}

}  // namespace
}  // namespace resonate
