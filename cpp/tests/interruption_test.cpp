// Calls that are interrupted from outside, and calls that would wait for themselves.
#include "resonate/interruption.hpp"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fake_backends.hpp"
#include "interrupting.hpp"
#include "resonate/errors.hpp"

namespace resonate {
namespace {

using namespace fake;

TEST(Interruption, SaysWhatTheHookThrew) {
  const Interrupting at_once([](int) { throw std::runtime_error("enough"); });
  try {
    allow_interrupt(Pause::working);
    FAIL() << "it was not interrupted";
  } catch (const Interrupted& interrupted) {
    EXPECT_THROW(std::rethrow_exception(interrupted.cause()), std::runtime_error);
  }
}

TEST(Interruption, NotWithinAnUninterruptedStep) {
  const Interrupting at_once([](int) { throw Stop(); });
  {
    const Uninterrupted outer;
    const Uninterrupted inner;
    EXPECT_NO_THROW(allow_interrupt(Pause::waiting));
  }
  EXPECT_THROW(allow_interrupt(Pause::waiting), Interrupted);
}

class OnEveryBackend : public testing::TestWithParam<Backend> {
 protected:
  Backends backends;
  Store store{backends.storage(GetParam()), Options{}};
};
INSTANTIATE_TEST_SUITE_P(Backends, OnEveryBackend, testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST_P(OnEveryBackend, ACallOfItsOwnSinkIsRefused) {
  int refused = 0;
  store.engine->start_trace([&](const TraceEvent& event) {
    if (!event.request) return;
    const auto refuses = [&](auto call) {
      try {
        call();
        ADD_FAILURE() << "it was not refused";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid);
        ++refused;
      }
    };
    refuses([&] { store.run(PromiseGet{"a"}); });
    refuses([&] { store.run(creation("b")); });
    refuses([&] { (void)store.engine->tick(); });
    refuses([&] { (void)store.engine->check(); });
    refuses([&] { store.engine->stop_trace(); });
  });
  store.create("a");
  store.engine->stop_trace();
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(store.engine->promise_count(), 1u);
}

TEST_P(OnEveryBackend, AnInterruptedCheckLeavesTheStoreAsItWas) {
  store.create("a");
  {
    const Interrupting at_once([](int) { throw Stop(); });
    EXPECT_THROW((void)store.engine->check(), Interrupted);
  }
  EXPECT_TRUE(store.engine->check().empty());
  store.create("b");
}

TEST(InterruptedWait, GivesUpAndHasDoneNothing) {
  const Folder folder;
  const std::string path = folder.file("app.db");
  Store store{open_sqlite_storage(path, {.busy_timeout = 3'600'000}), Options{}};
  const std::unique_ptr<Storage> other = open_sqlite_storage(path, {});
  {
    const StorageTransaction writing(*other, Access::write);
    const Interrupting third([](int calls) {
      if (calls >= 3) throw Stop();
    });
    EXPECT_THROW(store.run(creation("a")), Interrupted);
  }
  EXPECT_EQ(store.engine->promise_count(), 0u);
  store.create("a");
}

// If callers share a commit, an interrupt stops only the interrupted caller.
TEST(InterruptedWait, IsNotThatOfTheOthers) {
  const Folder folder;
  const std::string path = folder.file("app.db");
  Store store{open_sqlite_storage(path, {.busy_timeout = 3'600'000}), Options{}};
  const std::unique_ptr<Storage> other = open_sqlite_storage(path, {});
  std::vector<std::future<Reply>> others;
  {
    const std::thread::id mine = std::this_thread::get_id();
    const Interrupting mine_only([&](int) {
      if (std::this_thread::get_id() != mine) return;
      for (int i = 0; i < 3; ++i)  // they arrive while this caller leads the commit and waits
        others.push_back(std::async(std::launch::async, [&store, i] { return store.run(creation(std::to_string(i))); }));
      throw Stop();
    });
    auto writing = std::make_unique<StorageTransaction>(*other, Access::write);
    EXPECT_THROW(store.run(creation("mine")), Interrupted);
    writing.reset();
    for (std::future<Reply>& one : others) EXPECT_EQ(one.get().status, status::kOk);
  }
  EXPECT_EQ(others.size(), 3u);
  EXPECT_EQ(store.engine->promise_count(), 3u);
}

}  // namespace
}  // namespace resonate
