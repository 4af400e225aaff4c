// Several threads use engines at once; meant for ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fake_jobs.hpp"
#include "fake_storage.hpp"
#include "fake_store.hpp"
#include "resonate/sqlite.hpp"

namespace resonate {
namespace {

using namespace fake;

constexpr int kRounds = 150;

// Runs each body on its own thread, all at once.
void together(const std::vector<std::function<void()>>& bodies) {
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (const auto& body : bodies)
    threads.emplace_back([&] {
      for (++ready; ready < bodies.size();) std::this_thread::yield();
      body();
    });
  for (std::thread& thread : threads) thread.join();
}

std::string name(int worker, int i) { return "p" + std::to_string(worker) + "." + std::to_string(i); }

// The requests of one worker: tasks that await promises, settlements, heartbeats, searches.
void work(Engine& engine, int worker) {
  const auto run = [&](Operation operation) { return engine.apply(Request{kNew, std::move(operation)}); };
  const std::string pid = "w" + std::to_string(worker);
  for (int i = 0; i < kRounds; ++i) {
    const std::string id = name(worker, i);
    StringMap tagged = target();
    tagged.set("resonate:branch", "shared");
    run(TaskCreate{pid, 50, creation(id, 100'000, i % 10 == 0 ? tagged : target())});
    run(creation(id + ".dep", 100'000));
    run(RegisterListener{id + ".dep", "http://x"});
    run(suspension(id, 1, {id + ".dep"}));
    run(settlement(i % 3 == 0 ? name((worker + 1) % 3, i) + ".dep" : id + ".dep"));
    const Reply seen = run(TaskGet{id});
    if (seen.task) run(TaskAcquire{id, seen.task->acquisitions, pid, 50});
    run(TaskHeartbeat{pid, {}});
    if (i % 20 == 0) run(PromiseSearch{});
    if (i % 4 == 0) run(settlement(id));
  }
}

// Callers that arrive during a commit share the next one; each gets its own replies.
TEST(Threads, CallersShareTheCommitsOfAFile) {
  const Folder folder;
  constexpr int kCallers = 8;
  constexpr int kEach = 40;
  const auto engine = Engine::create(
      open_sqlite_storage(folder.file("app.db"), {.durability = Durability::normal, .read_only = false, .busy_timeout = 5000}),
      std::make_shared<ManualClock>(0), Options{});
  std::atomic<int> wrong{0};
  std::vector<std::function<void()>> bodies;
  for (int caller = 0; caller < kCallers; ++caller)
    bodies.emplace_back([&, caller] {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = name(caller, i);
        const Reply made = engine->apply(Request{kNew, creation(id, 100'000)});
        wrong += !made.promise || made.promise->id() != id;
        const auto batch =
            engine->apply(std::vector<Request>{Request{kNew, creation(id + ".a", 50 + i)}, Request{kNew, settlement(id)}});
        wrong += batch.size() != 2 || batch[0].promise->id() != id + ".a" || batch[1].promise->state != PromiseState::resolved;
      }
    });
  bodies.emplace_back([&] {
    for (int i = 0; i < kEach; ++i) {
      engine->tick(i);
      engine->take_messages(3);
    }
  });
  together(bodies);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(engine->promise_count(), static_cast<std::size_t>(2 * kCallers * kEach));
  EXPECT_TRUE(engine->check().empty());
}

// A storage on which other callers arrive while a transaction begins, as during a wait for another process.
class BusyStorage : public FailingStorage {
 public:
  BusyStorage(std::unique_ptr<Storage> inner, std::function<void()>& arrival, std::atomic<int>& commits)
      : FailingStorage(std::make_shared<int>(-1), std::move(inner)), arrival_(arrival), commits_(commits) {}
  void begin(Access access) override {
    FailingStorage::begin(access);
    if (access == Access::write && arrival_) std::exchange(arrival_, {})();
  }
  void write(const Changes& changes) override {
    ++commits_;
    FailingStorage::write(changes);
  }
  bool remote() const noexcept override { return true; }

 private:
  std::function<void()>& arrival_;
  std::atomic<int>& commits_;
};

// Callers that arrive while a transaction begins share it, with the ids that their jobs get there.
TEST(Threads, CallersThatArriveWhileATransactionBeginsShareIt) {
  const Folder folder;
  std::function<void()> arrival;
  std::atomic<int> commits{0};
  const auto engine = Engine::create(
      std::make_unique<BusyStorage>(
          open_sqlite_storage(folder.file("app.db"), {.durability = Durability::normal, .read_only = false, .busy_timeout = 5000}),
          arrival, commits),
      std::make_shared<ManualClock>(0), Options{});
  const auto enqueue_two = [&](std::vector<std::string>& ids) {
    JobEnqueueMany two;
    two.orders.resize(2);
    for (JobOrder& order : two.orders) order.queue = "default", order.type = "work";
    const Reply reply = engine->apply(Request{kNew, std::move(two)});
    for (const auto& item : reply.jobs->items) ids.push_back(item.row->id());
  };
  bool shared = false;
  std::size_t enqueued = 0;
  // The test cannot see that a caller waits in the queue, so it gives it more time with each attempt.
  for (int patience = 10; !shared && patience < 5000; patience *= 2) {
    std::vector<std::string> first, late;
    std::thread other;
    const int before = commits;
    arrival = [&] {
      other = std::thread([&] { enqueue_two(late); });
      std::this_thread::sleep_for(std::chrono::milliseconds(patience));
    };
    enqueue_two(first);
    other.join();
    shared = commits == before + 1;
    first.insert(first.end(), late.begin(), late.end());
    std::ranges::sort(first);
    EXPECT_EQ(first.size(), 4U);
    EXPECT_EQ(std::ranges::unique(first).size(), 0U);
    enqueued += first.size();
  }
  EXPECT_TRUE(shared);
  EXPECT_EQ(engine->promise_count(), enqueued);
  EXPECT_TRUE(engine->check().empty());
}

// Remembers how many rows each commit has written.
class CountingStorage : public BusyStorage {
 public:
  CountingStorage(std::unique_ptr<Storage> inner, std::function<void()>& arrival, std::atomic<int>& commits,
                  std::vector<std::size_t>& rows)
      : BusyStorage(std::move(inner), arrival, commits), rows_(rows) {}
  void write(const Changes& changes) override {
    rows_.push_back(changes.rows.size());
    BusyStorage::write(changes);
  }

 private:
  std::vector<std::size_t>& rows_;
};

// A tick commits early for a call that waits, and takes longer transactions while none does.
TEST(Threads, ATickMakesRoomForACallThatWaits) {
  const Folder folder;
  std::function<void()> arrival;
  std::atomic<int> commits{0};
  std::vector<std::size_t> rows;
  const auto engine = Engine::create(
      std::make_unique<CountingStorage>(
          open_sqlite_storage(folder.file("app.db"), {.durability = Durability::normal, .read_only = false, .busy_timeout = 5000}),
          arrival, commits, rows),
      std::make_shared<ManualClock>(0), Options{});
  StringMap external;
  external.set("resonate:external", "true");
  Instant now = 0;
  const auto make_due = [&] {
    now += 100;
    std::vector<Request> due;
    for (int i = 0; i < 300; ++i)
      due.push_back(Request{kNew, creation("due-" + std::to_string(now) + "." + std::to_string(i), now, external)});
    engine->apply(std::move(due));
    rows.clear();
  };
  make_due();
  EXPECT_EQ(engine->tick(now).size(), 300U);
  EXPECT_EQ(rows, (std::vector<std::size_t>{256, 44}));

  bool shortened = false;
  // The test cannot see that a caller waits, so it gives it more time with each attempt.
  for (int patience = 10; !shortened && patience < 5000; patience *= 2) {
    std::thread other;
    make_due();
    arrival = [&] {
      other = std::thread([&] { engine->apply(Request{kNew, creation("other-" + std::to_string(now))}); });
      std::this_thread::sleep_for(std::chrono::milliseconds(patience));
    };
    EXPECT_LE(engine->tick(now).size(), 300U);  // the other call takes a part of the steps
    other.join();
    shortened = rows.front() == 64;
  }
  EXPECT_TRUE(shortened);
  EXPECT_TRUE(engine->check().empty());
}

// The thread that has waited longest gets the mutex, even if its last holder locks it again at once.
TEST(Threads, AFairMutexGoesToTheLongestWaiter) {
  FairMutex mutex;
  int guarded = 0;
  std::atomic<bool> over{false};
  std::atomic<int> rounds{0};
  const auto relocking = [&] {
    while (!over) {
      std::lock_guard lock(mutex);
      ++guarded;
      ++rounds;
    }
  };
  const auto bounded = [&] {
    for (int turn = 0; turn < 200; ++turn) {
      std::lock_guard lock(mutex);
      ++guarded;
      ++rounds;
    }
    over = true;
  };
  const auto trying = [&] {
    while (!over) {
      if (!mutex.try_lock()) continue;
      ++guarded;
      ++rounds;
      mutex.unlock();
    }
  };
  together({relocking, relocking, bounded, trying});
  EXPECT_EQ(guarded, rounds);

  // A waiting thread gets the mutex before the thread that unlocks it and locks it again.
  mutex.lock();
  std::atomic<bool> had{false};
  std::thread waiting([&] {
    std::lock_guard lock(mutex);
    had = true;
  });
  for (bool yielded = false; !yielded;) {  // until the thread waits; from then on, each unlock passes the mutex to it
    mutex.unlock();
    mutex.lock();
    yielded = had;
  }
  mutex.unlock();
  waiting.join();
}

// Long searches and checks read snapshots while others write, in memory and in a file.
TEST(Threads, LongReadsBesideWriters) {
  const Folder folder;
  for (const bool file : {false, true}) {
    const auto engine =
        Engine::create(file ? open_sqlite_storage(folder.file("app.db"),
                                                  {.durability = Durability::normal, .read_only = false, .busy_timeout = 5000})
                            : make_memory_storage(),
                       std::make_shared<ManualClock>(0), Options{});
    constexpr int kThere = 2000;
    std::vector<Request> there;
    for (int i = 0; i < kThere; ++i) there.push_back({kNew, creation("a" + std::to_string(i), kNever)});
    (void)engine->apply(std::move(there));
    std::atomic<int> writers{2};
    std::atomic<int> wrong{0};
    const auto write = [&](int worker) {
      return [&, worker] {
        for (int i = 0; i < 300; ++i) {
          engine->apply(Request{kNew, creation(name(worker, i), kNever, target())});
          engine->apply(Request{kNew, settlement(name(worker, i))});
        }
        --writers;
      };
    };
    const auto search = [&] {
      while (writers > 0) {
        PromiseSearch none;
        none.query.filter.id = "a1999";
        wrong += engine->apply(Request{kNew, none}).rows.size() != 1;
      }
    };
    const auto check = [&] {
      while (writers > 0) {
        wrong += !engine->check().empty();
        wrong += engine->with_snapshot([](Storage& storage) { return storage.count(Table::rows); }) < kThere;
      }
    };
    const auto purge = [&] {
      while (writers > 0) {
        engine->tick();
        engine->take_messages(50);
      }
    };
    together({write(0), write(1), search, search, check, purge});
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Threads, EverythingAtOnceOnOneEngine) {
  Store store{Options{}};
  std::atomic<bool> over{false};
  std::atomic<int> workers{3};
  const auto until_over = [&](auto body) {
    return [&, body] {
      while (!over) body();
    };
  };
  std::vector<std::function<void()>> bodies;
  for (int worker = 0; worker < 3; ++worker)
    bodies.emplace_back([&, worker] {
      work(*store.engine, worker);
      if (--workers == 0) over = true;
    });
  bodies.emplace_back(until_over([&] { store.clock->advance(7); }));
  bodies.emplace_back(until_over([&] { store.clock->advance_to_next(); }));
  bodies.emplace_back(until_over([&] { store.engine->tick(); }));
  bodies.emplace_back(until_over([&] {
    store.engine->take_messages(10);
    store.engine->messages_with_records(5);
    store.engine->next_due();
  }));
  bodies.emplace_back(until_over([&] {
    store.digest();
    EXPECT_TRUE(store.engine->check().empty());
  }));
  bodies.emplace_back(until_over([&] {
    const auto fork = store.engine->fork(std::make_shared<ManualClock>(store.clock->now()));
    fork->apply(Request{kNew, creation("only in the fork", kNever, target())});
    fork->tick();
    EXPECT_TRUE(fork->check().empty());
  }));
  bodies.emplace_back(until_over([&] {
    store.run(PromiseGet{"p0.0"}, kNew, store.clock->now() + 1);  // status 400 if the clock has already moved further
    store.engine->set_paused(!store.engine->paused());
  }));
  together(bodies);
  EXPECT_GE(store.engine->promise_count(), static_cast<std::size_t>(3 * 2 * kRounds));
  EXPECT_TRUE(store.engine->check().empty());
}

// Forks share rows and nodes of trees. Each fork is changed on its own thread, while the original is read.
TEST(Threads, ForksOnOtherThreadsShareStructure) {
  Store store{Options{}};
  for (int i = 0; i < 1000; ++i) store.create(name(0, i), 50'000 + i, target());
  const std::string before = store.digest();
  std::vector<std::function<void()>> bodies;
  std::vector<std::string> digests(4);
  for (std::size_t fork_at = 0; fork_at < digests.size(); ++fork_at) {
    const auto clock = std::make_shared<ManualClock>(0);
    bodies.emplace_back([&, fork_at, clock, fork = store.engine->fork(clock)]() mutable {
      for (int i = 0; i < 1000; i += 3) fork->apply(Request{kNew, settlement(name(0, i))});
      clock->advance_to(50'500);
      fork->take_messages();
      const auto second = fork->fork(std::make_shared<ManualClock>(50'500));
      fork->reset();
      digests[fork_at] = second->with_storage([](Storage& storage) { return digest(storage, {}); });
      fork = nullptr;
    });
  }
  bodies.emplace_back([&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(store.digest(), before);
  });
  together(bodies);
  for (const std::string& each : digests) EXPECT_EQ(each, digests[0]);
  EXPECT_EQ(store.digest(), before);
}

// Replies keep their rows after the lock is released, while other threads change these rows.
TEST(Threads, RepliesOutliveTheLock) {
  Store store{Options{}};
  for (int i = 0; i < 50; ++i) store.create(name(0, i), kFar, target());
  std::vector<std::function<void()>> bodies;
  for (int reader = 0; reader < 2; ++reader)
    bodies.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const Reply reply = store.run(PromiseSearch{});
        std::size_t bytes = 0;
        for (const RowRef& row : reply.rows)
          bytes += row->id().size() + static_cast<std::size_t>(row->acquisitions) + (row->pid ? row->pid->text.size() : 0);
        EXPECT_GT(bytes, 0u);
      }
    });
  bodies.emplace_back([&] {
    for (int round = 0; round < 20; ++round)
      for (int i = 0; i < 50; ++i) {
        store.run(TaskAcquire{name(0, i), round, "w", 10});
        store.run(TaskRelease{name(0, i), round + 1});
      }
  });
  together(bodies);
  EXPECT_TRUE(store.engine->check().empty());
}

// Several threads create and destroy engines on one clock.
TEST(Threads, EnginesComeAndGoOnOneClock) {
  const auto clock = std::make_shared<ManualClock>(0);
  std::atomic<bool> over{false};
  std::vector<std::function<void()>> bodies;
  for (int maker = 0; maker < 2; ++maker)
    bodies.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto engine = Engine::create(make_memory_storage(), clock, Options{});
        engine->apply(Request{kNew, creation("a", clock->now() + 20, target())});
        engine->apply(Request{kNew, settlement("a")});
      }
      over = true;
    });
  bodies.emplace_back([&] {
    while (!over) clock->advance(3);
  });
  bodies.emplace_back([&] {
    Instant last = 0;
    while (!over) {
      const Instant now = clock->now();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  together(bodies);
}

// Regression: an advance read the clock before it held the lock, and failed if another advance had moved the clock meanwhile.
TEST(ThreadsRegression, AdvancesOnSeveralThreadsAddUp) {
  Store store{Options{}};
  store.create("a", kNever, target());
  const auto body = [&] {
    for (int i = 0; i < 300; ++i) store.clock->advance(5);
  };
  together({body, body, body});
  EXPECT_EQ(store.clock->now(), 3 * 300 * 5);
}

TEST(Threads, ASystemClockNeverGoesBackForAnybody) {
  SystemClock clock;
  std::atomic<Instant> seen{0};
  const auto body = [&] {
    for (int i = 0; i < 2000; ++i) {
      const Instant before = seen.load();
      const Instant now = clock.now();
      EXPECT_GE(now, before);
      seen.store(now);
    }
  };
  together({body, body, body});
}

}  // namespace
}  // namespace resonate
